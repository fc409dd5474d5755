"""Faults in lowering: schedules, source, contractions, kernels, memory, and Functions."""

from __future__ import annotations

from tests.mutants.rows import Family

_schedule = Family("schedule")
_residuals = Family("residuals")
_source = Family("source")
_contraction = Family("contraction")
_kernels = Family("kernels")
_memory = Family("memory")
_function = Family("function")
_rows = Family("rows")
_exponentials = Family("exponentials")
_powers = Family("powers")
_machine = Family("machine code")
FAMILIES = (
    _schedule,
    _residuals,
    _source,
    _contraction,
    _kernels,
    _memory,
    _function,
    _rows,
    _exponentials,
    _powers,
    _machine,
)

# What is computed, and in which order -------------------------------------------------------------

_schedule(
    "answers-are-given-to-other-questions",
    "        key = (find, args)\n",
    "        key = find\n",
    "test_what_is_asked_of_a_schedule_is_found_once",
)
_source(
    "integers-stand-beside-floats",
    "    def real(value: Number) -> float:\n",
    "    def real(value: Number) -> float:\n        return weak(value)\n",
    "test_numbers_beside_real_values_are_real",
)
_source(
    "stretched-numbers-keep-an-axis",
    "        if y is not None and y not in weak\n",
    "        if y is not None\n",
    "test_no_shape_is_lost[itself]",
)
_schedule(
    "the-place-of-one-element-is-the-next",
    "sides.append(low if inner[0] == low + 1 else",
    "sides.append(inner[0] if inner[0] == low + 1 else",
    "test_one_element_is_asked_for_by_its_place",
)
_schedule(
    "partial-sums-overlap",
    "operands, coefs = (partial, *operands[TERMS:]), (1, *coefs[TERMS:])",
    "operands, coefs = (partial, *operands[TERMS - 1 :]), (1, *coefs[TERMS - 1 :])",
    "test_long_sums_are_chunked_from_left_to_right",
)
_schedule(
    "partial-sums-forget-the-constant",
    "steps.append(step._replace(ops=(ops.sum_op(op.const, coefs),), operands=operands))",
    "steps.append(step._replace(ops=(ops.sum_op(0, coefs),), operands=operands))",
    "test_long_sums_are_chunked_from_left_to_right",
)
_schedule(
    "products-begin-with-what-comes-later",
    "                place(before)  # what it needs is there: it is among the operands\n",
    "",
    "test_products_go_on_from_the_longest_one_that_they_begin_with",
)
_schedule(
    "sums-that-are-read-are-turned",
    "if other is not None and v not in read and other.results[0] not in others:",
    "if other is not None and other.results[0] not in others:",
    "test_other_sums_stay_as_they_are",
)
_schedule(
    "constants-are-not-turned",
    "return (step.operands, step.shapes, sign * op.const, *coefs)",
    "return (step.operands, step.shapes, *coefs)",
    "test_sums_of_other_constants_are_not_turned",
)
_schedule(
    "sums-of-scattered-elements-lose-terms",
    "        return self._summed(terms) if terms else self.number(0)\n",
    "        return self._summed(terms[:1]) if terms else self.number(0)\n",
    "test_a_determinant_of_gathered_minors_is_one_of_floats",
)
_schedule(
    "powers-are-spelled-upside-down",
    "    if p < 0:\n        return Spelling(_product_of((-1,)), (_power(x, -p),))",
    "    if p < 0:\n        return Spelling(_product_of((1,)), (_power(x, -p),))",
    "test_kernels.py::test_powers",
    "test_a_program_computes_the_same_bits_as_interpret",
)
_schedule(
    "integers-stay-integers-in-real-values",
    "number_of(x) is not None else _cast(x) for x in operands)",
    "number_of(x) is not None else x for x in operands)",
    "test_integers_of_real_values_are_made_real_before_they_meet",
)
_schedule(
    "low-powers-are-taken-at-once",
    "order = stepwise(op.exponents) if node.dtype is float else None\n        if order",
    "order = None\n        if order",
    "test_low_powers_are_taken_one_after_the_other",
)
_schedule(
    "results-of-one-decomposition-are-computed-apart",
    "key = (node.op.whole, *[behind(x) for x in node.args])",
    "key = (node.op.whole, node.op.part, *[behind(x) for x in node.args])",
    "test_interleaved_results_of_two_matrices_cost_two_calls",
)

_schedule(
    "gathers-pass-what-others-read-otherwise",
    "rows = wanted.pop() if len(wanted) == 1 else None",
    "rows = next((w for w in wanted if w is not None), None)",
    "test_other_gathers_stay",
)
_schedule(
    "gathers-take-rows-of-a-slice-for-rows-of-the-whole",
    "tuple([line[i] for i in rows.places])",
    "rows.places",
    "test_rows_are_those_of_the_whole",
)
_schedule(
    "gathers-hide-kinks",
    "if gathers and not self.strict and not options.exact_order:  # kinks",
    "if gathers and not options.exact_order:  # kinks",
    "test_kinks_are_asked_of_all_rows",
)
_schedule(
    "columns-are-added-to-rows",
    "left[-1], right[-1] = 1, column",
    "left[-1], right[-1] = column[0], 1",
    "test_values_are_within_the_bound_of_any_order",
)
_schedule(
    "products-that-others-read-are-joined",
    "elif product is None and found == shape and reads[v] == 1:",
    "elif product is None and found == shape:",
    "test_other_sums_are_not_joined",
)
_schedule(
    "scaled-factors-leave-the-floats",
    "    if not np.isfinite(scaled).all():\n        return None\n",
    "",
    "test_what_would_leave_the_floats_is_scaled_last",
)
_schedule(
    "ties-are-not-looked-for",
    "if np.count_nonzero(x[rows] == values[rows, None]) != len(found[rows]):",
    "if False:",
    "test_the_matrix_is_read_as_an_array",
)
_schedule(
    "rows-of-nan-have-a-place",
    "if not x.size or np.isnan(values).any():",
    "if not x.size:",
    "test_a_nan_does_not_make_up_for_a_tie",
)
_schedule(
    "zeros-at-no-extreme-lose",
    "found[w != 0] += np.multiply.outer(w[w != 0], b[i])",
    "found += np.multiply.outer(w, b[i])",
    "test_zeros_win_where_they_are_strong",
)
_schedule(
    "results-that-are-matrices-at-extremes-are-lost",
    "        if v in self._results:\n            return None\n        found = [self._reading",
    "        found = [self._reading",
    "test_passes_extremes.py::test_other_derivatives_stay",
)
_schedule(
    "squares-that-cancel-are-dotted",
    "if op.const != 0 or any(coef < 0 for coef in op.coefs):",
    "if op.const != 0:",
    "test_other_sums_stay",
)
_schedule(
    "sums-of-squares-are-dotted-in-exact-order",
    "    _of_arrays(dot_squares),\n",
    "    _of_arrays(dot_squares, reorders=False),\n",
    "test_exact_order_adds_the_squares_as_interpret_does",
)
_source(
    "what-is-subtracted-from-is-left-out",
    "        order[:2] = 1, 0\n",
    "        order[:2] = [1]\n",
    "test_a_sum_begins_with_what_is_positive",
)
_schedule(
    "zeros-that-are-left-out-keep-the-sign",
    "        found += [(*whole[:axis], side, *whole[axis + 1 :]) for side in sides]",
    "        found += [(*whole[:axis], side, *whole[axis + 1 :]) for side in sides[:0]]",
    "test_a_zero_is_negative_where_all_operands_are",
)
_schedule(
    "unslices-that-others-read-are-gone",
    "isinstance(coef, float) or reads[v] > 1 or",
    "isinstance(coef, float) or",
    "test_an_unslice_that_others_read_is_whole",
)
_schedule(
    "the-ends-of-blocks-are-shifted",
    "                skipped = shared + self._first - low",
    "                skipped = shared - self._first + low",
    "test_the_sum_in_blocks_is_that_of_whole_arrays",
)

# What the backward pass is given ------------------------------------------------------------------

_residuals(
    "cheap-values-are-kept",
    "    few = len(targets) < LEAST and all(not steps[v].layout(v)[0] for v in targets)",
    "    few = True",
    "test_cheap_values_are_recomputed_from_one_that_is_kept",
)
_residuals(
    "inputs-are-never-kept-for-many-scalars",
    "for first in ({*targets} & sources, sources)]",
    "for first in ({*targets} & sources,)]",
    "test_backward_of_many_terms_has_few_steps_too",
)
_residuals(
    "long-runs-are-recomputed",
    "            if cheap(steps[v]) and run[v] <= _RUN:",
    "            if cheap(steps[v]):",
    "test_what_follows_by_many_cheap_steps_is_kept",
)
_residuals(
    "bytes-of-shapes-do-not-count",
    "    return max(elements(shape), 1) * (1 if dtype is bool else 8) if shape else NUMBER",
    "    return 8",
    "test_two_vectors_are_kept_rather_than_a_table_of_them",
)

# Source -------------------------------------------------------------------------------------------

_source(
    "a-subtracted-number-is-added",
    'parts.append(f" - {size}" if op.const < 0 else f" + {size}")',
    'parts.append(f" + {size}")',
    "test_a_number_is_subtracted",
)
_source(
    "terms-lose-their-brackets",
    "SUM if first and not negative and not alone else MATRIX_PRODUCT",
    "SUM",
    "test_a_program_computes_the_same_bits_as_interpret",
)
_source(
    "a-power-may-turn-complex",
    'return f"{power}({self._print(expr.base)}, {self._print(expr.exp)})"',
    'return f"(({self._print(expr.base)})**({self._print(expr.exp)}))"',
    "test_powers_of_negative_numbers_are_never_complex",
)

# Contractions -------------------------------------------------------------------------------------

_contraction(
    "sums-of-one-operand-take-letters-of-others",
    "others = {*op.out, *[x for j, w in enumerate(words) if j != k for x in w]}",
    "others = {*op.out}",
    "test_contractions_of_sums_have_the_same_value",
)
_contraction(
    "sums-of-one-operand-take-letters-of-the-result",
    "others = {*op.out, *[x for j, w in enumerate(words) if j != k for x in w]}",
    "others = {x for j, w in enumerate(words) if j != k for x in w}",
    "test_contractions_of_sums_have_the_same_value",
)
_contraction(
    "diagonals-are-summed-before",
    "if read.weak or dtype is not float or len({*word}) < len(word):",
    "if read.weak or dtype is not float:",
    "test_letters_of_one_operand_alone_are_summed_before",
)
_contraction(
    "numbers-are-summed-as-if-they-were-arrays",
    "if read.weak or dtype is not float or len({*word}) < len(word):",
    "if dtype is not float or len({*word}) < len(word):",
    "test_numbers_masks_and_what_has_kills_are_left",
)
_contraction(
    "sums-of-masks-are-summed-before",
    "if read.weak or dtype is not float or len({*word}) < len(word):",
    "if read.weak or len({*word}) < len(word):",
    "test_numbers_masks_and_what_has_kills_are_left",
)
_contraction(
    "kills-are-summed-before",
    "if op is None or any(op.kills):\n            steps.append(step)",
    "if op is None:\n            steps.append(step)",
    "test_numbers_masks_and_what_has_kills_are_left",
)
_contraction(
    "sums-of-one-operand-have-the-first-lengths",
    "kept = tuple([dim for dim, x in zip(shape, word, strict=True) if x in others])",
    "kept = shape[: len(left)]",
    "test_contractions_of_sums_have_the_same_value",
)
_contraction(
    "contractions-of-sums-read-the-arrays",
    "words[k], operands[k] = left, length\n",
    "words[k] = left\n",
    "test_letters_of_one_operand_alone_are_summed_before",
)
_contraction(
    "a-diagonal-is-a-view",
    "letters = tuple(dict.fromkeys(out))\n    if len(letters) == len(kept):",
    "letters = tuple(dict.fromkeys(out))\n    if len(letters) != len(kept):",
    "test_rearrangements_follow_the_definition",
)
_contraction(
    "a-transposed-matrix-stands-as-it-is",
    "    y = _turned(d, y, p.b, p.batch + p.summed + p.right)",
    "    y = _turned(d, y, p.b, p.batch + p.right + p.summed)",
    "test_sums_are_those_of_einsum",
)
_contraction(
    "einsum-takes-what-blas-could",
    '    ("einsum", lambda p: not (p.left or p.right)),',
    '    ("einsum", lambda p: True),',
    "test_each_contraction_has_its_class",
)
_contraction(
    "the-dearest-pair-goes-first",
    "    return min(combinations(range(len(words)), 2), key=cost)",
    "    return max(combinations(range(len(words)), 2), key=cost)",
    "test_the_path_multiplies_a_chain_from_its_thin_end",
)
_contraction(
    "masked-zeros-do-not-count",
    "            killed = killed | (factor == 0)",
    "            killed = killed & (factor == 0)",
    "test_a_zero_of_a_masked_operand_wins_over_inf_and_nan",
)
_contraction(
    "every-operand-is-masked",
    "        if kill:\n            killed = killed | (factor == 0)",
    "        if True:\n            killed = killed | (factor == 0)",
    "test_a_zero_of_a_masked_operand_wins_over_inf_and_nan",
)
_contraction(
    "masked-contractions-are-plain",
    "return masked(of.words, of.out, of.kills, call) if any(of.kills) else call",
    "return call",
    "test_a_zero_of_a_masked_operand_wins_over_inf_and_nan",
)

_contraction(
    "what-others-read-is-taken-in",
    "inner = self._term(self.steps[v]) if self.reads[v] == 1 else None",
    "inner = self._term(self.steps[v])",
    "test_what_others_read_stays",
)
_contraction(
    "lengths-of-letters-that-vanish-are-forgotten",
    "if any(self.length[k] != 1 for k in word if k not in there):",
    "if False:",
    "test_a_sum_over_what_is_stretched_stays_a_sum",
)
_contraction(
    "what-saves-nothing-is-taken-in",
    "        if saved > costs.CALLS or turned:",
    "        if taken:",
    "test_exact_order_and_small_arrays_keep_the_order",
)
_contraction(
    "coefficients-stay-behind-contractions",
    "        least, depth, v = min(ways)\n",
    "        least, depth, v = max(ways)\n",
    "test_a_factorisation_multiplies_its_small_factors_first",
)
_contraction(
    "exact-order-is-not-asked",
    "    if not given.exact_order:\n        return pipeline\n",
    "    if True:\n        return pipeline\n",
    "test_exact_order_and_small_arrays_keep_the_order",
)

# Kernels ------------------------------------------------------------------------------------------

_kernels(
    "places-of-extremes-are-those-of-the-first-row",
    "place(x).reshape(-1) + starts]",
    "place(x).reshape(-1) + 0 * starts]",
    "test_extremes_are_those_of_numpy_in_every_order_of_memory",
)
_kernels(
    "weights-of-both-signs-have-roots",
    "    if weights.min(initial=0) >= 0:\n",
    "    if weights.max(initial=0) >= 0:\n",
    "test_gram_is_the_sum_over_rows[mixed",
)
_kernels(
    "negative-weights-give-positive-matrices",
    "        found *= -1\n        return found",
    "        return found",
    "test_gram_is_the_sum_over_rows[negative",
    "test_the_hessian_of_a_concave_function_is_as_symmetric",
)
_source(
    "results-have-a-layout-of-their-own",
    "size >= costs.CALLS and step.results[0] not in schedule.results",
    "size >= costs.CALLS",
    "test_others_stay",
)
_source(
    "what-is-as-large-as-the-result-is-copied",
    "if own is None or own * _THIN > size:",
    "if own is None:",
    "test_others_stay",
)
_kernels(
    "the-last-axis-comes-back-first",
    "return turned.transpose(*[k + 1 for k in others], 0)",
    "return turned.transpose(*reversed([k + 1 for k in others]), 0)",
    "test_apart_is_the_same_array",
)
_kernels(
    "places-without-elements-have-the-first-one",
    "            result[..., self.empty] = 0\n",
    "            pass\n",
    "test_scattered_elements_are_added_one_by_one",
    "test_scattered_elements_keep_their_bits_and_others_are_zero",
)
_kernels(
    "of-equal-places-one-element-is-left",
    "        if self.repeated.size:\n            runs",
    "        if False:\n            runs",
    "test_scattered_elements_are_added_one_by_one",
)
_kernels(
    "put-writes-what-it-should-add",
    "        np.add.at(result, index, x)",
    "        result[index] = x",
    "test_gradients_at_indices_that_are_expressions",
    "test_an_op_is_defined_by_components[Put]",
)
_kernels(
    "recurrence-one-place-off",
    "result[..., i] += a[..., i] * result[..., i + 1 if reverse else i - 1]",
    "result[..., i] += a[..., i - 1] * result[..., i + 1 if reverse else i - 1]",
    "test_an_op_is_defined_by_components[Recurrence]",
)
_kernels(
    "sines-with-one-sign",
    "np.where(2 * place > n, 1, -1)",
    "np.where(2 * place > n, -1, -1)",
    "test_table.py::test_row[fft]",
)
_kernels(
    "numbers-make-everything-double",
    "    work = np.result_type(*real).type\n",
    "    work = np.float64\n",
    "test_numbers_take_the_precision_of_what_they_meet",
)
_kernels(
    "equal-eigenvalues-are-taken",
    "    known = abs(gap) > least\n",
    "    known = abs(gap) >= 0\n",
    "test_equal_eigenvalues_are_refused_where_vectors_are_differentiated",
)
_kernels(
    "shift-drops-one-too-many",
    "result[..., : max(x.shape[-1] + offset, 0)] = x[..., -offset:]",
    "result[..., : max(x.shape[-1] + offset - 1, 0)] = x[..., -offset : x.shape[-1] - 1]",
    "test_derivatives_are_differences[SolveBanded]",
)

# Memory, accumulation, modes ----------------------------------------------------------------------

_memory(
    "memory-of-results-goes-back-to-the-system",
    "np.empty(2**25 - 2**16, np.uint8)\n",
    "",
    "test_memory_of_results_is_not_given_back_to_the_system_and_asked_for_again",
)
_memory(
    "results-share-memory-with-arguments",
    "if id(base) in self.taken or base.base is not None or not value.flags.writeable:",
    "if base.base is not None or not value.flags.writeable:",
    "test_structures_shapes_dtypes_and_memory",
)
_memory(
    "terms-change-places-and-not-their-signs",
    "terms[:2] = terms[1], terms[0]  # b - a for -a + b",
    "terms[:2] = (terms[1][0], terms[0][1]), (terms[0][0], terms[1][1])",
    "test_signs_are_not_changed_in_a_step_of_their_own",
)
_memory(
    "bytes-of-inner-values-of-kernels-count",
    "if isinstance(step.kind, kinds.Rows) or len(step.results) > 1 or is_made(step, steps):",
    "if len(step.results) > 1 or is_made(step, steps):",
    "test_explain_counts_what_a_kernel_reads_and_writes",
)
_memory(
    "views-are-arrays-that-a-program-makes",
    'kind not in ("view", "fill")',
    'kind not in ("fill",)',
    "test_results_that_are_said_to_be_made_share_no_memory",
    "test_calls_after_the_first_share_no_memory_either[argument]",
)
_memory(
    "an-array-is-handed-out-twice",
    "v is not None and first[v] == i and",
    "v is not None and",
    "test_results_that_are_said_to_be_made_share_no_memory",
    "test_calls_after_the_first_share_no_memory_either[twice]",
)
_memory(
    "a-value-is-handed-out-that-a-residual-views",
    " and not (i < count and v in held)",
    "",
    "test_results_that_are_said_to_be_made_share_no_memory",
)
_memory(
    "results-are-computed-into-kept-memory",
    "seen = viewed(steps, [*schedule.results, *given])",
    "seen = viewed(steps, given)",
    "test_kept_memory.py::test_random_programs_share_nothing_between_calls[pointwise]",
    "test_results_are_never_in_kept_memory",
)
_memory(
    "users-functions-are-given-kept-memory",
    "seen = viewed(steps, [*schedule.results, *given])",
    "seen = viewed(steps, schedule.results)",
    "test_a_function_of_the_users_may_hold_on_to_what_it_is_given",
)
_memory(
    "memory-is-used-again-while-a-view-is-read",
    "                last[x] = max(last[x], until)\n",
    "                last[x] = max(last[x], place)\n",
    "test_a_view_keeps_memory_in_use",
)
_memory(
    "one-set-of-arrays-serves-calls-at-once",
    "return self._free.pop(i)[1]",
    "return self._free[i][1]",
    "test_calls_inside_of_calls_have_memory_of_their_own",
)
_memory(
    "orders-in-memory-are-not-told-apart",
    "return value.shape, value.strides, value.dtype",
    "return value.shape, value.dtype",
    "test_arguments_in_another_order_are_computed_in_another_order",
)
_memory(
    "scaled-terms-lose-their-sign",
    "scaled = ops.sum_op(0, (coef * sign,))",
    "scaled = ops.sum_op(0, (coef,))",
    "test_sums_taken_apart_are_added_in_the_same_order",
)
_memory(
    "calls-are-not-told-apart-by-dtype",
    "        return value.dtype, value.shape\n",
    "        return value.shape\n",
    "test_calls_of_all_kinds_follow_one_another",
    "test_random_programs_called_again",
)
_memory(
    "arrays-of-one-number-are-known-as-numbers",
    " and own == call.precision and floats == call.weak",
    " and own == call.precision",
    "test_scalars_of_all_kinds_follow_one_another",
)
_memory(
    "numbers-are-known-by-what-they-are",
    "        if kinds == call.key != key:\n            self._know(key, call, number)",
    "        if kinds == call.key != key:\n            self._know(key, call, None)",
    "test_scalars_of_all_kinds_follow_one_another",
    "test_calls_of_all_kinds_follow_one_another",
)
_memory(
    "cotangents-of-any-kind-are-settled",
    "        return self if key == self.seeds else self.alone()",
    "        return self",
    "test_cotangents_and_tangents_of_other_precision_are_told_apart",
)
_memory(
    "residuals-see-later-changes",
    "            if id(root(v)) not in taken:\n",
    "            if id(v) not in taken:\n",
    "test_residuals_of_known_calls_share_what_nobody_can_change_and_no_more",
)
_memory(
    "residuals-share-read-only-looks-at-memory-of-others",
    "        if v.flags.writeable or not (v.base is None or immutable(v)):",
    "        if v.flags.writeable:",
    "test_read_only_arguments_are_kept_without_a_copy",
    "test_residuals_of_known_calls_share_what_nobody_can_change_and_no_more",
)
_memory(
    "targets-are-written-one-by-one",
    'None if target is None else np.add(target, value, dtype=target.dtype, casting="same_kind")',
    'None if target is None else np.add(target, value, out=target, casting="same_kind")',
    "test_a_failing_backward_leaves_targets_untouched",
    "test_an_overflowing_addition_leaves_targets_untouched",
    "test_nothing_is_touched_when_accumulation_fails",
    "test_mini_batches_accumulate_to_the_full_batch",
)
_memory(
    "accumulation-replaces",
    "            target[...] = total",
    "            target[...] = total - target",
    "test_mini_batches_accumulate_to_the_full_batch",
)
_memory(
    "overlapping-targets-are-taken",
    "        if _overlaps_itself(target) or any(_overlap(target, other) for other in seen):",
    "        if _overlaps_itself(target):",
    "test_overlapping_targets_are_refused_and_interleaved_ones_are_not",
)
_function(
    "no-grad-keeps-residuals",
    "        if current().grad:\n            values, kept = self._programs.forward(given, call)",
    "        if True:\n            values, kept = self._programs.forward(given, call)",
    "test_no_grad_keeps_nothing_and_backward_says_so",
)
_function(
    "cotangents-of-points-are-not-summed",
    "    return value.sum(axis=axes).reshape(shape) if axes else value",
    "    return value.mean(axis=axes).reshape(shape) if axes else value",
    "test_gradients_at_each_point_and_cotangents_summed_to_arguments",
)
_function(
    "a-jacobian-goes-by-names-of-lengths",
    "        if sizes is not None and not fixed:",
    "        if False:",
    "test_a_function_goes_by_the_lengths_of_the_call",
)
_function(
    "the-direction-of-the-first-call-is-kept",
    "        found = None if fixed else sizes, modes\n",
    "        found = None, modes\n",
    "test_a_function_goes_by_the_lengths_of_the_call",
)
_function(
    "fixed-lengths-are-not-compared",
    "                if dim != length:\n                    raise _misfit(what, x, shape)",
    "                if dim is None:\n                    raise _misfit(what, x, shape)",
    "test_every_method_refuses_the_same_arguments",
)
_function(
    "a-lowered-function-forgets-to-raise-at-kinks",
    'return kinks("raise" if strict else "subgradient")',
    'return kinks("subgradient")',
    "test_bind_keeps_what_is_said_of_kinks",
)

# Blocks of rows -----------------------------------------------------------------------------------

_rows(
    "wide-products-are-written-twice",
    "return isinstance(step.kind, kinds.Sum | kinds.Product) and all(",
    "return isinstance(step.kind, kinds.Sum) and all(",
    "test_wide_products_that_are_only_written_are_in_no_kernel",
)
_rows(
    "blocks-are-made-of-small-arrays",
    "x.rows(sizes) * x.width(sizes) >= costs.LARGE",
    "x.rows(sizes) * x.width(sizes) >= 1",
    "test_a_wide_result_of_small_arrays_makes_no_blocks_of_these",
)
_rows(
    "blocks-of-results-are-copied",
    "        return array[(*before, rows)] if array.__class__ is np.ndarray else None\n",
    "        return None\n",
    "test_blocks_behind_the_first_are_computed_where_they_stand",
)
_rows(
    "sums-are-added-where-they-stand",
    "            and step.kind.elementwise\n",
    "",
    "test_what_adds_along_an_axis_is_written_into_new_memory",
)
_rows(
    "the-last-of-three-factors-is-multiplied-by",
    "f\"np.{'multiply' if signs[-1] > 0 else 'divide'}(",
    "f\"np.{'multiply' if signs[0] > 0 else 'divide'}(",
    "test_blocks_behind_the_first_are_computed_where_they_stand",
)
_rows(
    "all-blocks-are-twice-as-large",
    "    return 2 * rows if count > costs.MANY * rows else rows\n",
    "    return 2 * rows if count > rows else rows\n",
    "test_many_blocks_are_twice_as_large",
)
_rows(
    "what-blas-writes-costs-nothing",
    "cost += work / costs.BLAS + made if",
    "cost += work / costs.BLAS if",
    "test_what_blas_writes_counts_as_what_numpy_writes",
)
_rows(
    "stretched-axes-are-rows",
    "return tuple([lead + k if dim == out[lead + k] else None for k, dim in enumerate(shape)])",
    "return tuple([lead + k for k, dim in enumerate(shape)])",
    "test_sums_over_blocks_are_exact_where_sums_are",
    "test_blocks_have_the_bits_of_the_whole_where_no_sum_is_parted",
)
_rows(
    "values-of-other-kernels-are-read-in-blocks",
    "            and self.stage[x] == self.stage.get(v, self.stage[x])\n",
    "",
    "test_sums_over_blocks_are_exact_where_sums_are",
)
_rows(
    "what-needs-all-rows-is-in-the-same-kernel",
    "                at = max(at, self.behind[x] + 1)\n",
    "                at = max(at, self.behind[x])\n",
    "test_sums_over_blocks_are_exact_where_sums_are",
)
_rows(
    "linear-maps-go-along-their-own-axes",
    "    word: Word = batch + (None,) * op.core\n",
    "    word: Word = (*batch, *range(lead, lead + op.core))\n",
    "test_sums_over_blocks_are_exact_where_sums_are",
)
_rows(
    "blocks-are-shorter-than-what-they-share",
    "max(1, in_a_block(count, self.width(sizes)), self._shared)",
    "max(1, in_a_block(count, self.width(sizes)))",
    "test_the_sum_in_blocks_is_that_of_whole_arrays",
)
_rows(
    "tasks-that-are-done-hold-arrays",
    "        held.clear()\n",
    "",
    "test_what_helpers_worked_on_is_let_go_at_once",
)
_rows(
    "the-last-row-of-the-last-block-is-left-out",
    "(i + 1) * rows if i + 1 < blocks else count\n",
    "(i + 1) * rows if i + 1 < blocks else count - 1\n",
    "test_sums_over_blocks_are_exact_where_sums_are",
)
_rows(
    "the-last-block-takes-in-the-rest",
    "        blocks = -(-count // rows)\n",
    "        blocks = count // rows\n",
    "test_many_blocks_are_twice_as_large",
)
_rows(
    "the-sum-of-an-odd-block-is-lost",
    "        values = pairs + values[2 * len(pairs) :]\n",
    "        values = pairs\n",
    "test_sums_over_blocks_are_exact_where_sums_are",
)
_rows(
    "helpers-have-a-context-of-their-own",
    "pool.submit(copy_context().run, help_out, turns[-1])",
    "pool.submit(help_out, turns[-1])",
    "test_helpers_see_the_context_of_the_caller",
)
_rows(
    "a-caller-without-helpers-gives-up",
    "with suppress(RuntimeError):\n            for _ in",
    "with suppress():\n            for _ in",
    "test_where_no_thread_can_be_started_the_caller_does_all",
)
_rows(
    "a-helper-that-was-refused-is-not-waited-for",
    "running = [turn for turn in turns if not turn.cancel()]",
    "running = [turn for turn in turns[:-1] if not turn.cancel()]",
    "test_a_helper_that_was_refused_and_works_all_the_same_is_waited_for",
)
_rows(
    "helpers-share-the-processor-of-their-caller",
    "        processors.keep_off(here)\n",
    "        processors.keep_off(processors.NOWHERE)\n",
    "test_helpers_leave_the_callers_processor_to_it",
)
_rows(
    "helpers-forget-the-processors-they-had",
    "everywhere = _KEPT.everywhere or frozenset(os.sched_getaffinity(0))",
    "everywhere = frozenset(os.sched_getaffinity(0))",
    "test_a_thread_keeps_off_one_processor_at_a_time",
)
_rows(
    "a-thread-is-left-without-a-processor",
    "os.sched_setaffinity(0, everywhere - {processor} or everywhere)",
    "os.sched_setaffinity(0, {processor})",
    "test_a_thread_keeps_off_one_processor_at_a_time",
)
_rows(
    "errors-of-helpers-are-lost",
    "        if error is not None:\n            raise error\n",
    "        if error is not None:\n            return\n",
    "test_an_error_of_a_helper_is_raised_to_the_caller",
)
_rows(
    "exact-order-parts-sums",
    "if not letters and (self._exact or not _sums(self.steps[v])):",
    "if not letters and not _sums(self.steps[v]):",
    "test_exact_order_keeps_sums_whole",
)

# What exponentials share --------------------------------------------------------------------------

_memory(
    "blocks-that-hand-arrays-on-are-for-all-sizes",
    "return costs.HANDED if handed else costs.LARGE",
    "return costs.LARGE",
    "test_blocks_that_hand_arrays_to_matrix_products_are_for_larger_ones",
)
_memory(
    "all-blocks-wait-for-larger-arrays",
    "return costs.HANDED if handed else costs.LARGE",
    "return costs.HANDED",
    "test_blocks_that_hand_arrays_to_matrix_products_are_for_larger_ones",
)
_exponentials(
    "short-rows-lose-their-last-exponential",
    'np.einsum("...i->...", x)[..., None]',
    'np.einsum("...i->...", x[..., :-1])[..., None]',
    "test_each_row_has_the_bits_that_it_has_alone",
)
_exponentials(
    "logarithms-near-0-lose-their-digits",
    "    near = np.abs(value) < _NEAR\n",
    "    near = np.abs(value) < 0.0\n",
    "test_logarithms_near_0_have_all_their_digits[float64]",
)
_exponentials(
    "the-largest-element-counts-twice-near-0",
    "        e[largest] = 0\n",
    "        e[largest] = 1\n",
    "test_logarithms_near_0_have_all_their_digits[float64]",
)
_exponentials(
    "rows-are-taken-for-columns",
    "    if not step.shapes[0]:\n        return step.results[0]\n",
    "    if step:\n        return step.results[0]\n",
    "test_what_only_looks_like_a_share_stays",
)
_exponentials(
    "any-multiple-of-the-logarithm-is-subtracted",
    "        if coef != -1 or y is None:\n",
    "        if y is None:\n",
    "test_what_only_looks_like_a_share_stays",
)
_exponentials(
    "an-infinite-total-divides",
    "    if finite is None or finite.all():  # 0/0",
    "    if value is not None:  # 0/0",
    "test_shares_beside_infinities_are_those_of_interpret",
)
_exponentials(
    "an-infinite-total-changes-other-rows",
    "np.where(finite, shares, np.exp(",
    "np.where(False, shares, np.exp(",
    "test_rows_beside_others_far_out_have_the_bits_that_they_have_alone",
)
_exponentials(
    "rows-beside-others-far-out-lose-their-largest-element",
    "needed &= ~((plain < np.inf) & ((plain >= 1) | whole))",
    "needed &= True",
    "test_rows_beside_others_far_out_have_the_bits_that_they_have_alone",
)
_exponentials(
    "elements-far-below-are-not-looked-for",
    "            if min(low) >= -_FAR[x.dtype]:\n",
    "            if low:\n",
    "test_rows_beside_others_far_out_have_the_bits_that_they_have_alone",
    "test_shares_that_are_far_below_0_together_have_all_their_digits",
)
_exponentials(
    "exponentials-with-few-digits-are-divided",
    "            if least >= 1:\n",
    "            if least >= 0:\n",
    "test_shares_that_are_far_below_0_together_have_all_their_digits",
)
_exponentials(
    "sums-beyond-the-floats-are-divided-by",
    "        if most < np.inf:\n",
    "        if most <= np.inf:\n",
    "test_shares_that_are_far_below_0_together_have_all_their_digits",
)
_exponentials(
    "exponentials-are-shared-in-exact-order",
    "    _of_arrays(share_exponentials),\n",
    "    _of_arrays(share_exponentials, reorders=False),\n",
    "test_shares_are_those_of_interpret_within_rounding",
)
_exponentials(
    "the-last-block-of-a-long-axis-is-left-out",
    "places = [slice(i, i + width) for i in range(0, count, width)]",
    "places = [slice(i, i + width) for i in range(0, count - width, width)]",
    "test_a_long_axis_is_computed_in_blocks_with_equal_bits_for_any_threads",
)

# Which product a sum reads ------------------------------------------------------------------------

_contraction(
    "sums-read-a-product-of-other-elements",
    "tuple([View(x.base, tuple([x.axes[k] for k in order])) for x in (a, b)])",
    "tuple([View(x.base, a.axes) for x in (a, b)])",
    "test_sums_read_the_product_that_is_there",
)
_contraction(
    "sums-read-a-product-along-other-axes",
    "(tuple([named[k] for k in product[1].axes]),)",
    "(op.letters[0],)",
    "test_sums_over_turned_products_are_those_of_interpret",
)
_contraction(
    "quotients-are-taken-for-products",
    "    if step.kind.signs != (1, 1):\n        return False\n",
    "",
    "test_sums_read_the_product_that_is_there",
)
_contraction(
    "products-stay-in-the-order-of-their-letters",
    "turned = gram or (large and len(step.operands) == 1)",
    "turned = gram",
    "test_matrix_products_are_computed_as_they_are_read",
)

# What is scaled -----------------------------------------------------------------------------------

_source(
    "scaled-sums-lose-their-signs",
    "signs = tuple([1 if coef > 0 else -1 for coef in step.sum.coefs])",
    "signs = tuple([1 for coef in step.sum.coefs])",
    "test_values_are_within_the_bound_of_sums",
)
_source(
    "sums-overflow-before-they-are-scaled-down",
    "return size if size > 1 or len(large) < 2 else None",
    "return size",
    "test_what_is_finite_stays_finite",
)
_source(
    "rows-are-stretched-before-they-are-scaled",
    "    if len(whole) < 2 or any(",
    "    if any(",
    "test_terms_of_one_coefficient_are_scaled_once",
)

# What powers share --------------------------------------------------------------------------------

_powers(
    "powers-with-gaps-are-consecutive",
    "        if exponents != list(run):\n",
    "        if exponents[-1] != run[-1] and False:\n",
    "test_others_stay_as_they_are",
)
_powers(
    "any-number-is-the-power-0",
    "            return None if step.kind.value == 1 else -1\n",
    "            return None\n",
    "test_others_stay_as_they_are",
)
_powers(
    "powers-begin-with-the-base",
    "    growing[0] = x**least if least else 1\n",
    "    growing[0] = x if least else 1\n",
    "test_a_power_has_no_more_roundings_than_factors",
)
_powers(
    "falling-powers-grow",
    "    growing = rows[:: exponents.step]  #",
    "    growing = rows  #",
    "test_a_power_has_no_more_roundings_than_factors",
)

# Machine code -------------------------------------------------------------------------------------

_machine(
    "the-last-function-of-a-block-is-not-called",
    '{own});"] for k in range(len(groups))]',
    '{own});"] for k in range(len(groups) - 1)]',
    "test_native.py::test_blocks_in_several_functions_have_the_same_bits[softmax-float64]",
)
_machine(
    "lanes-behind-the-last-row-are-added",
    'f"(r < {self.own} ? v{line.value} : 0)"',
    'f"v{line.value}"',
    "test_native.py::test_any_length_gives_what_numpy_gives[elementwise-float64]",
)
_machine(
    "rows-behind-the-last-whole-block-are-left-out",
    "for (; i < rows; i += {self.step}) {{",
    "for (; i + {self.step} <= rows; i += {self.step}) {{",
    "test_native.py::test_an_element_has_the_same_bits_in_any_place",
)
_machine(
    "a-block-behind-the-last-one-is-read-in-place",
    'plain = f"{rows} == LANES && {strides}[0] == sizeof(real)"',
    'plain = f"{strides}[0] != sizeof(real)"',
    "test_native.py::test_operands_lie_in_any_order",
)
_machine(
    "sums-along-a-row-begin-with-those-of-rows-before",
    "            if line.rows[-1] and not line.is_matrix:\n",
    "            if line.rows[-1] and line.fold != '+':\n",
    "test_native.py::test_any_length_gives_what_numpy_gives[softmax-float64]",
)
_machine(
    "what-is-read-at-another-element-shares-the-loop",
    "dims == line.dims and all(word == line.letters for x, word in each if x == v)",
    "dims == line.dims",
    "test_native.py::test_any_length_gives_what_numpy_gives[transposed-float64]",
)
SHIFTED = "test_native_shifted.py::test_the_sum_is_that_of_whole_arrays"
_machine(
    "a-shift-is-one-row-too-short",
    'self._own_cell(x, word, names, f"r - {back}") if back',
    'self._own_cell(x, word, names, f"r - {back - 1}") if back',
    SHIFTED,
)
_machine(
    "shifted-rows-behind-the-last-one-are-zeros",
    'text += f" + (j - {back} < rows ? {cell} : 0)" * (back > 0)',
    'text += f" + (j - {back} < rows ? {cell} : 0)" * (back < 0)',
    SHIFTED,
)
_machine(
    "a-block-that-is-computed-again-is-added-again",
    'self.own = "n" if of.back else "m"',
    'self.own = "m"',
    "test_native_shifted.py::test_a_gradient_is_written_where_it_is_returned",
)
_machine(
    "the-block-before-that-of-others-is-forgotten",
    "'before ? -LANES : 0' if self.of.back else '0'",
    "'0'",
    SHIFTED,
)
_machine(
    "the-block-before-is-not-remembered",
    "for (int r = LANES - {rows}; r < LANES; r++) {moved};",
    "for (int r = LANES - {rows} + 1; r < LANES; r++) {moved};",
    SHIFTED,
)
_machine(
    "zeros-before-the-first-row-are-left-out",
    "for (long j = -{low}; j < 0; j++) {there} = 0;",
    "for (long j = 1 - {low}; j < 0; j++) {there} = 0;",
    SHIFTED,
)
_machine(
    "what-is-shifted-shares-the-loop",
    "    if line.back or line.is_alone:\n",
    "    if line.is_alone:\n",
    SHIFTED,
)
_machine(
    "what-an-addition-loses-is-not-carried",
    '"known": "x - x == 0 ? x : 0"',
    '"known": "x - x == 0 ? 0*x : 0"',
    "test_native.py::test_long_sums_are_as_exact_as_those_of_pairs[float64]",
)
_machine(
    "beside-an-infinity-what-is-lost-is-no-number",
    '"known": "x - x == 0 ? x : 0"',
    '"known": "x"',
    "test_native.py::test_long_sums_are_as_exact_as_those_of_pairs[float64]",
)
_machine(
    "logarithms-near-0-lose-their-digits-in-c",
    '"(x >= 1) & (x < 1.5) ? m_log1p(y) : m_log(x)"',
    '"m_log(x)"',
    "test_native.py::test_logarithms_of_sums_near_1_have_all_their_digits[float64]",
)
_machine(
    "the-largest-element-counts-twice-near-0-in-c",
    'self._line("({1} == {2} ? 0 : {0})", each',
    'self._line("({1} == {2} ? {0} : {0})", each',
    "test_native.py::test_logarithms_of_sums_near_1_have_all_their_digits[float64]",
)
COLUMNS = "test_native.py::test_columns_of_several_arrays_and_sums_of_every_kind[False]"
_machine(
    "columns-that-are-computed-twice-count-twice",
    'return f"(k >= from ? v{line.value} : 0)" if',
    'return f"v{line.value}" if',
    COLUMNS,
)
_machine(
    "columns-behind-the-last-whole-vector-are-left-out",
    "for (long j = 0; j < {self.count}; j += WIDE) {{",
    "for (long j = 0; j + WIDE <= {self.count}; j += WIDE) {{",
    COLUMNS,
)
_machine(
    "matrices-that-are-read-along-columns-lie-as-they-are",
    "here, there = self._place(v, letters, names), self._index(letters, shape, names)",
    "here = there = self._index(letters, shape, names)",
    COLUMNS,
)
_machine(
    "sums-over-rows-begin-with-those-of-the-block-before",
    'pieces.append([f"fill(s{v}, {self._count(self._kept(v))});"])',
    "pass",
    COLUMNS,
)
_machine(
    "rows-of-other-orders-are-read-as-if-in-one-piece",
    "{strides}[{axis + 1}] == sizeof(real) ? {there} : s{v};",
    "{strides}[{axis + 1}] ? {there} : s{v};",
    COLUMNS,
)
_machine(
    "machine-code-computes-what-it-does-not-gain",
    "    worth = 1  #",
    "    worth = 0  #",
    "test_native.py::test_what_c_does_not_gain_stays_numpys",
)
_machine(
    "long-sums-of-products-carry-nothing",
    "or self.rows[-1] or self.is_long:",
    "or self.rows[-1]:",
    "test_native.py::test_long_sums_of_products_over_rows_and_along_them_are_exact[k-nd-float64]",
)
_machine(
    "sums-of-any-length-are-taken-for-short-ones",
    "many = max(counts, default=math.inf) > IN_A_ROW",
    "many = max(counts, default=math.inf) > 1e9",
    "test_native.py::test_long_sums_are_as_exact_as_those_of_pairs[float64]",
)
_machine(
    "many-rows-wait-for-themselves",
    "rows <= LANES // 4",
    "rows <= LANES",
    "test_native.py::test_what_is_put_together_along_rows_goes_along_columns_where_rows_are_few",
)
_machine(
    "large-numbers-are-integers",
    'lambda x: x[0] if x[1] or x[2] else f"{x[0]}.0", text)',
    "lambda x: x[0], text)",
    "test_native.py::test_any_length_gives_what_numpy_gives[large numbers-float64]",
)
_machine(
    "lengths-are-divided-the-other-way",
    "parts = [f\"{'*' if signs[k] > 0 else '/'}{{{k}}}\"",
    "parts = [f\"{'*' if signs[k] < 0 else '/'}{{{k}}}\"",
    "test_native.py::test_any_length_gives_what_numpy_gives[lengths-float64]",
)
_machine(
    "lengths-are-not-computed-with",
    "known = Sizes({**sizes, ROWS: count})\n        written = self.written",
    "known = {**sizes, ROWS: count}\n        written = self.written",
    "test_native.py::test_any_length_gives_what_numpy_gives[longer rows-float64]",
)
_machine(
    "a-lane-is-left-out-of-sums",
    "for (int w = LANES/2; w; w /= 2)",
    "for (int w = LANES/4; w; w /= 2)",
    "test_native.py::test_any_length_gives_what_numpy_gives[elementwise-float64]",
)
_machine(
    "arrays-that-are-turned-are-taken-for-those-in-a-row",
    "if (a->dims[k] != 1 && a->strides[k] != step) return 0;",
    "if (a->dims[k] == -1) return 0;",
    "test_native.py::test_whole_operands_lie_in_any_order_at_calls_that_have_been",
)
_machine(
    "a-tile-is-turned-without-its-last-step",
    "f = MIX(a, b, 1, 5, 3, 7);",
    "f = MIX(a, b, 0, 4, 3, 7);",
    "test_native.py::test_any_length_gives_what_numpy_gives[nearest-float64]",
)
_machine(
    "columns-behind-the-last-tile-are-not-turned",
    "for (; k < count; k++)",
    "for (; k < 0; k++)",
    "test_native.py::test_any_length_gives_what_numpy_gives[softmax-float64]",
)
_machine(
    "rows-that-lie-in-pieces-are-turned-as-one",
    "            if dim != 1:\n                count",
    "            if dim == -1:\n                count",
    "test_native.py::test_operands_lie_in_any_order",
)
_machine(
    "beside-an-infinity-large-numbers-have-a-share",
    '"x - x == 0 ? x : x > 0 ? c_largest : 0"',
    '"x - x == 0 ? x : 0"',
    "test_native.py::test_extreme_numbers_keep_their_meaning",
)
_machine(
    "a-product-written-out-lacks-its-last-term",
    "for at in product(*[range(n) for _, n in line.terms]):",
    "for at in product(*[range(max(n - 1, 1)) for _, n in line.terms]):",
    "test_native.py::test_any_length_gives_what_numpy_gives[thin products-float64]",
)
_machine(
    "the-last-rows-of-a-block-are-left-out-of-products",
    "for (; r < {self.own}; r++) rest[r % 8] =",
    "for (; r + 1 < {self.own}; r++) rest[r % 8] =",
    "test_native.py::test_any_length_gives_what_numpy_gives[transposed-float64]",
)
_machine(
    "products-take-the-rows-behind-the-last-one",
    "for (; r + 8 <= {self.own}; r += 8) z +=",
    "for (; r < {self.own}; r += 8) z +=",
    "test_native.py::test_any_length_gives_what_numpy_gives[transposed-float64]",
)
_machine(
    "an-eighth-of-a-sum-is-counted-twice",
    "((z[1] + z[5]) + (z[3] + z[7]))",
    "((z[1] + z[5]) + (z[3] + z[3]))",
    "test_native.py::test_any_length_gives_what_numpy_gives[transposed-float64]",
)
_machine(
    "all-products-are-written-out",
    "or all(size <= THIN for size in short):",
    "or True:",
    "test_native.py::test_products_of_long_sides_are_left_to_blas",
)
_machine(
    "no-products-are-written-out",
    "if not avoids_blas(step, steps) and not _is_thin(step, steps, side):",
    "if not avoids_blas(step, steps):",
    "test_native.py::test_products_of_thin_matrices_are_written_out",
)
_machine(
    "half-of-a-sum-in-pairs-is-twice-there",
    "in_pairs(texts[:half], join), in_pairs(texts[half:], join)",
    "in_pairs(texts[:half], join), in_pairs(texts[:half], join)",
    "test_native.py::test_any_length_gives_what_numpy_gives[thin products-float64]",
)
_machine(
    "a-line-waits-for-a-reader-at-another-element",
    "alike = all(_same(line.value, line.dims, x) for x in here)",
    "alike = all(x.dims == line.dims for x in here)",
    "test_native.py::test_any_length_gives_what_numpy_gives[transposed-float64]",
)
_machine(
    "distances-of-thin-points-are-left-to-blas",
    "if extreme is not None and _inner(extreme, steps) <= thin:",
    "if extreme is not None and _inner(extreme, steps) < 0:",
    "test_native.py::test_nearest_points_are_found_in_one_kernel",
)
_machine(
    "what-another-part-needs-is-not-kept",
    "            if part.get(v, part[x.results[0]]) != part[x.results[0]]:",
    "            if part.get(v, part[x.results[0]]) > part[x.results[0]]:",
    "test_native.py::test_many_scalars_are_straight_lines",
)
_memory(
    "arguments-keep-their-order-of-bytes",
    "return array if dtype.isnative else array.astype(dtype.type)",
    "return array",
    "test_results_have_the_order_of_bytes_of_the_processor",
)
_memory(
    "constants-keep-their-order-of-bytes",
    "    copy = np.array(value, value.dtype.type)  # in",
    "    copy = np.array(value)  # in",
    "test_data_of_a_formula_have_the_order_of_bytes_of_the_processor",
)
_powers(
    "the-reference-multiplies-what-has-left-the-floats",
    "    if not any(is_graded(node.op) for node in order):\n",
    "    if order:\n",
    "test_powers_that_leave_the_floats_come_back_in_products",
)
