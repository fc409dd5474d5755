"""Faults in loops: their derivatives, what is taken out of them, and how their steps run."""

from __future__ import annotations

from tests.mutants.rows import Family

_scan = Family("scan")
_while = Family("while")
_checkpoints = Family("checkpoints")
FAMILIES = (_scan, _while, _checkpoints)

_scan(
    "symbols-of-bodies-are-not-renamed",
    "fresh = {s: named_dummy(s.name, s.shape, s.dtype) for s in self.symbols}\n        (",
    "fresh = {s: s for s in self.symbols}\n        (",
    "test_bound_symbols_are_not_those_of_a_loop_outside",
    "test_scan.py::test_gradients[nested]",
)
_scan(
    "parts-of-the-carry-are-taken-out-of-the-loop",
    "levels[node] = max([levels[x] for x in node.args], default=_FREE)",
    "levels[node] = min([levels[x] for x in node.args], default=_FREE)",
    "test_scan.py::test_values[rnn]",
)
_scan(
    "cotangents-times-the-untransposed-jacobian",
    "inside = left_out(init)\n"
    "        inner = pullback([o.body], [o.carry], [Flow(cotangent, inside)])[0]",
    "inside = left_out(init)\n"
    "        inner = pushforward(\n"
    "            topological([o.body]), [o.body], {o.carry: Flow(cotangent, inside)}\n"
    "        )[0]",
    "test_scan.py::test_gradients[rnn]",
)
_scan(
    "steps-begin-with-what-they-give",
    "before, after = (last, first) if op.reverse else (first, last)",
    "before, after = (first, last) if op.reverse else (last, first)",
    "test_scan.py::test_gradients[rnn]",
    "test_scan.py::test_gradients[continued_fraction]",
)
_scan(
    "cotangents-in-the-loop-run-forward",
    "path = self._scan_linearised(inner, cotangent, init.expr, each, not op.reverse, rows)",
    "path = self._scan_linearised(inner, cotangent, init.expr, each, op.reverse, rows)",
    "test_scan.py::test_gradients[square]",
)
_scan(
    "cotangents-of-states-that-nothing-reads-are-unmarked",
    "return DEEP if flow.mark or is_zero(flow.expr) else NONE",
    "return NONE",
    "test_steps_that_are_not_read_do_no_harm",
)
_scan(
    "what-a-mask-discards-in-a-later-step-is-unmarked",
    "if inner is not None and inner.mark and not inside and not reached:",
    "if False:",
    "test_a_reset_discards_what_was_before",
)
_scan(
    "tangents-of-a-start-that-has-none-are-unmarked",
    "start = tangents.get(0, Flow(full(shape, 0), DEEP))",
    "start = tangents.get(0, Flow(full(shape, 0), NONE))",
    "test_a_start_without_a_tangent_at_a_length_by_name",
)
_scan(
    "tangents-of-xs-are-those-of-the-first-alone",
    "seeds = {wanted[k - 1]: t for k, t in tangents.items() if k}",
    "seeds = {wanted[k - 1]: t for k, t in tangents.items() if k == 1}",
    "test_scan.py::test_derivatives_of_the_second_order_in_each_way[rnn]",
)
_scan(
    "wide-parts-are-taken-out-of-the-loop",
    "and widest[node] <= _WIDER * budget:",
    "and widest[node] >= 0:",
    "test_what_is_wide_stays_in_the_loop",
)
_scan(
    "batches-of-xs-keep-their-axes",
    "x = moveaxis(x, 0, 1) if k < len(o.xs) else x",
    "x = moveaxis(x, 0, 1) if k < 0 else x",
    "test_a_batch_of_loops_is_one_loop",
)
_scan(
    "kinks-inside-are-not-asked-for",
    "if not decisions:\n        return inside\n",
    "if not decisions:\n        return []\n",
    "test_scan.py::test_kinks_raise_inside",
)
_scan(
    "loops-in-reverse-read-xs-forward",
    "xs = [x[::-1] for x in xs]",
    "xs = list(xs)",
    "test_scan.py::test_values[continued_fraction]",
)
_scan(
    "chunks-of-steps-read-the-first-rows",
    "rows = _rows([x[done:stop] for x in xs], stop - done)",
    "rows = _rows([x[: stop - done] for x in xs], stop - done)",
    "test_long_loops_take_each_row_once",
)
_scan(
    "steps-by-numpy-read-the-first-row",
    "self.step(before, *[x[done] for x in xs], *params, sizes)",
    "self.step(before, *[x[0] for x in xs], *params, sizes)",
    "test_steps_that_math_refuses_are_numpys",
)
_scan(
    "cotangents-of-operands-change-places",
    "[wanted[k - 1] for k in outer], [each]",
    "[wanted[k - 1] for k in outer[::-1]], [each]",
    "test_scan.py::test_gradients[garch]",
    "test_scan.py::test_gradients[rnn]",
)
_scan(
    "the-step-by-itself-is-not-the-last",
    "t = 0 if op.reverse else n - 1",
    "t = n - 1 if op.reverse else 0",
    "test_scan.py::test_gradients[lstm]",
)
_scan(
    "the-loop-does-the-last-step-again",
    "rows, init = ((1, n) if op.reverse else (0, n - 1)), met",
    "init = met",
    "test_scan.py::test_gradients[lstm]",
)
_scan(
    "batches-of-tangents-lie-behind-the-steps",
    "else Flow(moveaxis(share.expr, lead, 0), share.mark)",
    "else share",
    "test_jacobians_are_those_of_all_elements[forward-rnn]",
)
_scan(
    "early-factors-lose-their-number",
    "coef = number.times(coef, x.op.coefs[0])\n            stack.append",
    "stack.append",
    "test_parts_that_are_early[product with numbers]",
    "test_regrouping.py::test_values_are_the_same",
)
_scan(
    "early-terms-lose-their-number",
    'one = combine("add", [*some_terms, (1, number_node(op.const))])',
    'one = combine("add", some_terms)',
    "test_parts_that_are_early[sum with numbers]",
    "test_regrouping.py::test_values_are_the_same",
)
_scan(
    "products-that-others-read-are-taken-apart",
    "if x in is_early or (reads[x] > 1 and x is not node):",
    "if x in is_early:",
    "test_parts_that_are_early[products that are read elsewhere]",
)
_scan(
    "early-terms-stay-in-the-loop",
    "body, parts = (body, {}) if boxes else regrouped(body, {*each_step, *fixed})",
    "parts: dict[Expr, Expr] = {}",
    "test_a_step_back_through_gates_is_one_product_for_each",
    "test_biases_are_added_before_the_loop",
)
_scan(
    "early-columns-are-read-once",
    "if not each_step.keys().isdisjoint(topological([formula])):",
    "if each_step.keys() >= set(topological([formula])):",
    "test_biases_are_added_before_the_loop",
)

_scan(
    "black-boxes-of-xs-are-taken-out-of-the-loop",
    "boxes = _unbatchable_nodes(body, levels)",
    "boxes: dict[Expr, int] = {}",
    "test_black_boxes_of_xs_are_called_in_each_step",
)

# While loops --------------------------------------------------------------------------------------

_while(
    "a-body-is-run-where-the-condition-fails",
    "while self.holds(carry, *params, sizes)[0]:",
    "while (last := self.step(carry, *params, sizes)) and self.holds(carry, *params, sizes)[0]:",
    "test_bodies_are_not_run_where_the_condition_fails",
)
_while(
    "a-limit-is-reached-one-step-early",
    "if count == self.most:\n                raise self._error()\n            (carry,)",
    "if count == self.most - 1:\n                raise self._error()\n            (carry,)",
    "test_a_limit_that_is_reached_raises",
)
_while(
    "a-limit-of-many-loops-is-reached-one-step-early",
    "if count == self.most:\n                raise self._error()\n            (found,)",
    "if count == self.most - 1:\n                raise self._error()\n            (found,)",
    "test_a_limit_holds_for_each_loop",
)
_while(
    "loops-that-ended-are-taken-for-others",
    "if has else x for x, has in zip(params, many[1:], strict=True)",
    "if False else x for x, has in zip(params, many[1:], strict=True)",
    "test_random_batches_are_their_loops",
    "test_derivatives_of_each_order_and_mode",
)
_while(
    "loops-that-have-ended-go-on",
    "held = where(runs, stepped, carry)",
    "held = stepped",
    "test_random_batches_are_their_loops",
    "test_derivatives_of_each_order_and_mode[forward-1-4]",
)
_while(
    "loops-end-one-step-late",
    "runs = t < count",
    "runs = t <= count",
    "test_random_batches_are_their_loops",
)
_while(
    "bodies-are-computed-of-what-a-loop-ended-with",
    "at = {carry: where(runs, carry, detach(first)),",
    "at = {carry: carry,",
    "test_loops_that_have_ended_compute_nothing_that_fails",
    "test_loops_inside_of_loops",
)
_while(
    "loops-without-steps-are-computed-of-what-they-have",
    "first, *safe = (where(count > 0, x, other) for x, other in stand_ins.items())",
    "first, *safe = stand_ins",
    "test_loops_that_have_ended_compute_nothing_that_fails[counts1]",
)
_while(
    "loops-without-steps-take-after-the-first-one",
    "longest = argmax(counts)",
    "longest = 0 * argmax(counts)",
    "test_loops_that_have_ended_compute_nothing_that_fails[counts2]",
)
_while(
    "batches-are-as-long-as-their-loops-together",
    "greatest(counts), lambda",
    "summed(counts), lambda",
    "test_one_loop_serves_the_batch",
)
_while(
    "derivatives-are-batched-one-by-one",
    "return of.of(packed([full(shape, 0) if x is None else x.expr for x, shape in pairs]))",
    "return None",
    "test_one_loop_serves_the_batch",
)
_while(
    "pickles-forget-what-batches-are-made-of",
    "held = [] if of is None else [of.inner, *of.others, *of.others.values()]",
    "held = [] if of is not None else [of.inner, *of.others, *of.others.values()]",
    "test_a_pickle_from_elsewhere_knows_its_batches",
)
_while(
    "the-length-of-the-last-loop-is-that-of-all",
    "self.own: int(count[place])})",
    "self.own: int(np.max(count))})",
    "test_functions_of_the_users_take_one_loop_after_the_other",
)
_while(
    "batches-count-the-first-loop-alone",
    "counts[place] = self._count(",
    "counts[...] = self._count(",
    "test_functions_of_the_users_take_one_loop_after_the_other",
)
_while(
    "cotangents-of-what-loops-share-are-those-of-the-first",
    "return contract([(path, word)], word[ndim:])",
    "return path[0]",
    "test_a_batch_has_a_mesh_for_each",
)
_while(
    "a-length-of-its-own-takes-the-name-of-another",
    "if self.own not in taken:",
    "if self.own in self.own:",
    "test_carries_of_a_length_by_name[steps",
)
_while(
    "cotangents-of-all-operands-are-the-first-one",
    "parts = zip(met, unpacked(path, shapes), strict=True)",
    "parts = zip(met, [unpacked(path, shapes)[0]] * len(met), strict=True)",
    "test_derivatives_are_those_of_the_steps_written_out[1-several_carries]",
    "test_derivatives_are_those_of_the_steps_written_out",
)
_while(
    "axes-of-a-batch-of-tangents-stay-in-front",
    "operands[symbol] = exchanged(t.expr, lead, rule._count_axes(k))",
    "operands[symbol] = t.expr",
    "test_a_batch_has_a_mesh_for_each",
)
_while(
    "zeros-of-masks-inside-are-forgotten",
    "mark = DEEP if g.mark or any(flow.mark for flow in met.values()) else NONE",
    "mark = NONE",
    "test_while_loop.py::test_zeros_of_a_mask_meet_no_infinite_slope_outside",
)
_while(
    "kinks-inside-are-not-those-of-the-first-place",
    "hit > 0, cumsum(hit, axis=0) == 1)",
    "hit > 0, cumsum(hit, axis=0) == 2)",
    "test_while_loop.py::test_kinks_raise_inside",
)
_scan(
    "gates-of-two-arrays-are-taken-from-the-first",
    "groups.setdefault((step.op, sliced.operands[0]), []).append(step)",
    "groups.setdefault((step.op, 0), []).append(step)",
    "test_passes_parts.py::test_functions_of_slices[two arrays]",
)
_scan(
    "functions-of-slices-leave-their-domain",
    "if isinstance(step.kind, kinds.Pointwise) and step.op.name in _TOTAL and not step.weak:",
    "if isinstance(step.kind, kinds.Pointwise) and not step.weak:",
    "test_passes_parts.py::test_functions_of_slices[what may leave",
)
_scan(
    "long-arrays-are-computed-for-their-slices",
    "every <= costs.CALL and",
    "every > 0 and",
    "test_passes_parts.py::test_long_arrays_are_left_alone",
)
_scan(
    "loops-of-arrays-write-each-step-a-row-early",
    "in enumerate(_rows, 1):",
    "in enumerate(_rows):",
    "test_scan.py::test_values[rnn]",
    "test_passes_parts.py::test_loops_compute_the_same[gates]",
)

# Checkpoints --------------------------------------------------------------------------------------

_checkpoints(
    "cotangents-of-segments-run-forward",
    "result = fold(steps, rows, carried, inits, xs, n, not op.reverse)",
    "result = fold(steps, rows, carried, inits, xs, n, op.reverse)",
    "test_checkpoints.py::test_values_and_gradients",
)
_checkpoints(
    "cotangents-of-params-are-those-of-one-step",
    "steps.append(total + flow.expr)",
    "steps.append(flow.expr)",
    "test_checkpoints.py::test_values_and_gradients",
)
_checkpoints(
    "rows-of-several-xs-begin-at-one-place",
    "width += product(flow.expr.shape)",
    "width += 0 * product(flow.expr.shape)",
    "test_checkpoints.py::test_values_and_gradients",
)
_checkpoints(
    "cotangents-of-states-in-between-are-left-out",
    "after = after + row",
    "after = after + 0 * row",
    "test_checkpoints.py::test_values_and_gradients",
)
_checkpoints(
    "folds-in-reverse-give-their-rows-forward",
    "xs, given = [x[::-1] for x in xs], given[::-1]",
    "xs = [x[::-1] for x in xs]",
    "test_checkpoints.py::test_values_and_gradients",
    "test_folds_of_numbers_are_exact",
)
_checkpoints(
    "folds-go-on-from-a-carry-of-another-step",
    "carry = np.array(found[-1][:size])",
    "carry = np.array(found[0][:size])",
    "test_folds_of_numbers_are_exact",
)
_checkpoints(
    "carries-of-folds-are-their-first-ones",
    "carry[:] = block[-1, :size]",
    "carry[:] = block[0, :size]",
    "test_folds_of_numbers_are_exact",
)
_checkpoints(
    "zeros-that-a-mask-leaves-at-the-end-are-forgotten",
    "mark = left_out(start)  # the last state",
    "mark = NONE  # the last state",
    "test_steps_that_are_not_read_do_no_harm_to_segments",
)
_checkpoints(
    "steps-that-are-left-come-first",
    "first, second = (rest, segments) if reverse else (segments, rest)",
    "first, second = (segments, rest) if reverse else (rest, segments)",
    "test_segments_of_all_lengths",
)
_checkpoints(
    "segments-are-plain-scans",
    'f, carry, _check_first_carry("scan", carry), x, leaves_of(x), steps, reverse, True',
    'f, carry, _check_first_carry("scan", carry), x, leaves_of(x), steps, reverse',
    "test_a_gradient_takes_the_memory_of_some_carries",
)
_checkpoints(
    "segments-begin-where-the-last-one-did",
    "self.step(path[t], *row, *params, sizes)",
    "self.step(path[0], *row, *params, sizes)",
    "test_arrays_that_are_no_floats_of_python",
)
_checkpoints(
    "zeros-of-masks-in-segments-are-forgotten",
    "return result, _Layout(places, size, width, mark)",
    "return result, _Layout(places, size, width, NONE)",
    "test_checkpoints.py::test_zeros_of_a_mask_meet_no_infinite_slope_outside",
)
