"""Faults in what walks a graph: marks, walks, variables, batches, kinks, counts, texts, pickles."""

from __future__ import annotations

from tests.mutants.rows import Family

_marks = Family("marks")
_walks = Family("walks")
_variables = Family("variables")
_batching = Family("batching")
_kinks = Family("kinks")
_substitution = Family("substitution")
_counting = Family("counting")
_values = Family("values")
_texts = Family("texts")
_pickling = Family("pickling")
_locks = Family("locks")
_doors = Family("doors")
FAMILIES = (
    *(_marks, _walks, _variables, _batching, _kinks),
    *(_substitution, _counting, _values, _texts, _pickling, _locks, _doors),
)

# What was ignored stays 0 -------------------------------------------------------------------------

_marks(
    "many-elements-of-a-matrix-are-joined",
    "if row is not None and (flat or len(single) <= _NESTED * 2):",
    "if row is not None:",
    "test_a_matrix_of_elements_is_gathered_and_put_together",
)
_marks(
    "kills-swapped",
    "strong(g.expr, other, (g.mark > NONE, kill))",
    "strong(g.expr, other, (kill, g.mark > NONE))",
    "test_derivative_of_the_selected_branch",
    "test_partial_derivatives_of_selections_to_third_order",
)
_marks(
    "linear-mark-dropped",
    "return Flow(linear(op, x), DEEP if flow.mark else NONE)",
    "return Flow(linear(op, x), NONE)",
    "test_what_a_part_of_a_running_result_leaves_out_is_not_there",
)
_marks(
    "nothing-is-strong",
    "kill = mark == DEEP and not finite([p])",
    "kill = False",
    "test_derivative_of_the_selected_branch",
    "test_root_of_a_maximum",
)
_marks(
    "a-sum-is-marked-if-one-term-is",
    "return shown(result, max(marks)) if all(marks) else Flow(result, NONE)",
    "return shown(result, max(marks)) if any(marks) else Flow(result, NONE)",
    "test_what_covers_in_several_steps_leaves_no_mark",
)
_marks(
    "unslices-write-no-zeros",
    "return self.after != self.before",
    "return False",
    "test_derivatives_behind_masks",
)
_marks(
    "everything-is-finite",
    "return math.prod(bound(x) for x in factors) <= _LARGEST",
    "return math.prod(bound(x) for x in factors) <= math.inf",
    "test_derivative_of_the_selected_branch",
    "test_derivatives_behind_masks",
)
_marks(
    "masks-are-not-hoisted",
    "        if g.mark == HOISTED:\n            inside = self.inside(",
    "        if False:\n            inside = self.inside(",
    "test_a_norm_shows_the_zeros_of_its_gradient",
)

# The two walks ------------------------------------------------------------------------------------

_walks(
    "reverse-keeps-the-last-flow",
    "                        flows.append(flow)\n    return cotangents",
    "                        flows[:] = [flow]\n    return cotangents",
    "test_product_rule",
)
_walks(
    "forward-keeps-the-first-flow",
    "            g = gathered(flows)\n            if not is_zero(g.expr):\n",
    "            g = gathered(flows[:1])\n            if not is_zero(g.expr):\n",
    "test_forward_diff_is_reverse_gradient",
)
_walks(
    "detached-values-pass-derivatives-on",
    "    return barrier(ops.DETACH, as_expr(e))",
    "    return as_expr(e)",
    "test_a_derivative_is_the_node_that_is_expected",
)
_walks(
    "a-where-pushes-one-branch",
    "    return [Flow(select(condition, x, y), mark)]",
    "    return [Flow(select(condition, x, x), mark)]",
    "test_partial_derivatives_of_selections_to_third_order",
)
_walks(
    "hessians-differentiate-the-function-again",
    "        blocks = [tuple(_jacobians(g, xs)) for g in first]",
    "        blocks = [tuple(_jacobians(g, xs[::-1])) for g in first]",
    "test_a_derivative_is_the_node_that_is_expected",
)

# Components as variables --------------------------------------------------------------------------

_variables(
    "shares-of-other-slices-are-forgotten",
    "            candidates: Iterable[ops.Slice] = self.slices.near(first)\n",
    "            candidates: Iterable[ops.Slice] = ()\n",
    "test_jacobians_by_components",
)
_variables(
    "all-of-a-symbol-is-closed",
    "        and not any(True for _ in asked[node.args[0]].near(node.op))",
    "        and True",
    "test_jacobians_by_components",
)
_variables(
    "tangents-of-a-component-reach-the-whole-symbol",
    "        spread.setdefault(c.root, []).append(c.scatter(t))",
    "        spread.setdefault(c.root, []).append(c.scatter(t) + 0 * c.root + 1)",
    "test_tangents_of_several_components",
)
_variables(
    "overlapping-inputs-are-taken",
    "            if overlapping is not None:\n                raise _overlap(",
    "            if overlapping is None:\n                continue\n            if False:\n"
    "                raise _overlap(",
    "test_tangents_of_overlapping_inputs_are_refused",
)

# Batches ------------------------------------------------------------------------------------------

_batching(
    "the-new-axis-goes-behind",
    "    return exchanged(opaque(op, *moved), more, count)",
    "    return exchanged(opaque(op, *moved), count, more)",
    "test_the_new_axis_comes_before_all_that_share_a_matrix",
)

# Jacobians by columns, tangents of joins ----------------------------------------------------------

_walks(
    "columns-stay-in-front",
    "    return _turned(flow.expr, (*range(x.ndim, x.ndim + f.ndim), *range(x.ndim)))",
    "    return flow.expr",
    "test_jacobians_by_rows_and_columns_agree",
)
_walks(
    "columns-of-a-join-are-joined-along-its-axis",
    "        axis = order.index(x.ndim + op.axis) - x.ndim",
    "        axis = op.axis",
    "test_columns_of_a_join_are_a_join_of_columns",
)
_walks(
    "auto-takes-the-longer-way",
    'return "forward" if count == 1 or count < _elements(rows) else "reverse"',
    'return "reverse" if count == 1 or count < _elements(rows) else "forward"',
    "test_the_direction_of_fewer_elements_is_chosen",
)
_walks(
    "each-row-is-multiplied-by-each-slope",
    "    if not kill:\n        expr, factor = _split_common_factor(expr, p.ndim)\n",
    "    if False:\n        expr, factor = _split_common_factor(expr, p.ndim)\n",
    "test_functions_of_elements_are_multiplied_once_for_all_rows_and_columns",
)
_walks(
    "what-rows-have-in-common-is-forgotten",
    "        p = p if factor is None else mul(factor, p)",
    "        p = p if factor is None else p",
    "test_the_hessian_of_a_sum_over_rows_is_a_product_of_matrices",
)
_walks(
    "ties-go-forward",
    "count == 1 or count < _elements(rows)",
    "count == 1 or count <= _elements(rows)",
    "test_the_direction_of_fewer_elements_is_chosen",
)
_walks(
    "a-name-is-no-length",
    "_MANY = 10**9",
    "_MANY = 1",
    "test_the_direction_of_fewer_elements_is_chosen",
)
_walks(
    "tangents-of-joins-are-padded",
    "        elif node.op.__class__ is ops.Concat and sum(x in pushed for x in node.args) > 1:",
    "        elif node.op.__class__ is ops.Concat and sum(x in pushed for x in node.args) > 99:",
    "test_the_tangent_is_one_join_of_tangents",
)
_walks(
    "zeros-of-a-join-are-numbers",
    "    return [Flow(result, NONE if not any(marks) else HOISTED if seen else DEEP)]",
    "    return [Flow(result, NONE)]",
    "test_zeros_between_tangents_meet_no_partial",
)
_walks(
    "parts-of-parts-lie-in-the-first-operand",
    "                places[axis] = composed(step, there, x.shape[axis])\n",
    "",
    "test_what_follows_a_join_has_the_values_of_differences",
)
_walks(
    "parts-are-added-as-pads",
    "    return total([linear(op, x) for op, x in merged.items()]) if joint is None else joint[0]",
    "    return total([linear(op, x) for op, x in merged.items()])",
    "test_no_tangent_is_a_sum_of_pads",
)
_walks(
    "reversed-parts-are-joined-as-they-are",
    "                x = linear(ops.flip_op((axis - len(shape),)), x)\n",
    "                pass\n",
    "test_what_follows_a_join_has_the_values_of_differences",
)

# Kinks --------------------------------------------------------------------------------------------

_kinks(
    "ties-of-a-maximum-do-not-decide",
    'f"equal_in_{name}", equal.formula, 2, bool, primitive=False, decides=name)',
    'f"equal_in_{name}", equal.formula, 2, bool, primitive=False, decides=None)',
    "test_derivatives_raise_at_kinks_only",
)
_kinks(
    "decisions-are-settled-while-they-may-raise",
    "    if (decides and raising()) or (op.result is bool and not decides):",
    "    if op.result is bool and not decides:",
    "test_numbers_do_not_answer_before_they_are_asked",
)

# Substitution -------------------------------------------------------------------------------------

_substitution(
    "replacements-are-replaced-again",
    "done[node] = _rebuilt(what, node, done, sizes) if value is None else value",
    "done[node] = _rebuilt(what, node, done, sizes) if value is None else done.get(value, value)",
    "test_replacements_are_simultaneous",
)
_substitution(
    "identities-keep-their-length",
    "        lengths = dict(zip(created, bound(op.created, sizes), strict=True))",
    "        lengths = dict(zip(created, op.created, strict=True))",
    "test_arrays_bind_lengths_everywhere",
    "test_binding_a_length_and_differentiating_commute",
)
_substitution(
    "lengths-that-disagree-are-taken",
    "            elif sizes.setdefault(dim, length) != length:",
    "            elif sizes.setdefault(dim, length) != sizes[dim]:",
    "test_lengths_must_agree",
)

# Counts, sparsity ---------------------------------------------------------------------------------

_counting(
    "summed-letters-are-not-counted",
    "return _elements(tuple(length.values()), lengths) * max(1, len(node.args) - 1)",
    "return _elements(node.shape, lengths) * max(1, len(node.args) - 1)",
    "test_counting.py::test_operations",
)
_counting(
    "results-of-one-decomposition-count-twice",
    "dearest[key] = max(dearest.get(key, 0), count)",
    "dearest[key] = dearest.get(key, 0) + count",
    "test_counting.py::test_several_outputs_share",
)
_counting(
    "a-product-depends-on-its-first-factor-alone",
    "return None if None in factors else _union([*factors, 0])",
    "return None if None in factors else _union([*factors[:1], 0])",
    "test_of_random_programs",
)

# Values -------------------------------------------------------------------------------------------

_values(
    "rounding-decides-about-branches",
    "                if _decide_alike(*both):\n",
    "                if True:\n",
    "test_no_branch_is_taken_by_chance",
)
_texts(
    "multiples-of-multiples-keep-their-sum",
    "            op = x.op  # of -2*((a + b)/2), the sum a + b\n",
    "",
    "test_the_text_of_a_derivative_is_that_of_what_it_reads_as",
)
_values(
    "digits-are-believed-at-once",
    "return bool(mp.fabs(a - b) <= mp.fabs(a) * mp.mpf(10) ** -n / 2)",
    "return True",
    "test_cancellation_is_seen_and_more_digits_are_used",
    "test_evaluate.py::test_what_is_refused",
)
_values(
    "minors-with-one-sign",
    "[(-1) ** k for k in range(len(columns))],",
    "[1 for k in range(len(columns))],",
    "test_an_op_is_defined_by_components[Det]",
)
_values(
    "cofactors-with-one-sign",
    "return self.total(0, [(-1) ** (i + j)], [self.determinant(rest)])",
    "return self.total(0, [1], [self.determinant(rest)])",
    "test_an_op_is_defined_by_components[Cofactor]",
)

# Texts --------------------------------------------------------------------------------------------

_texts(
    "a-divisor-without-brackets",
    "below += [self.wrapped(divisor, POWER) for divisor in divisors]",
    "below += [self.wrapped(divisor, PRODUCT) for divisor in divisors]",
    "test_every_sign_in_every_sign",
)
_texts(
    "a-negative-sum-without-brackets",
    "            body = self.wrapped(term, MATRIX)",
    "            body = self.wrapped(term, SUM)",
    "test_every_sign_in_every_sign",
)
_texts(
    "a-power-of-a-power-without-brackets",
    'text = f"{self.wrapped(base, ATOM)}**{self.wrapped(number, ATOM)}"',
    'text = f"{self.wrapped(base, POWER)}**{self.wrapped(number, ATOM)}"',
    "test_every_sign_in_every_sign",
)
_texts(
    "a-turned-bracket-keeps-its-sign",
    "return -c, _sorted([*monomial[:k], (turned, p), *monomial[k + 1 :]])",
    "return c, _sorted([*monomial[:k], (turned, p), *monomial[k + 1 :]])",
    "test_the_value_of_each_derivative_of_a_book",
)
_texts(
    "a-common-factor-has-the-highest-power",
    "            lowest[x] = min(powers)\n    return",
    "            lowest[x] = max(powers)\n    return",
    "display/test_gallery_books.py::test_rows_are_met_or_listed[books.power_times_log]",
)
_texts(
    "powers-of-a-difference-are-multiplied-out",
    "if difference_in_powers(map(dict, terms)) is not None:",
    "if False:",
    "test_series_have_rising_degree_about_their_point",
)
_texts(
    "a-linear-part-keeps-the-constant-of-its-difference",
    "- ratio * Fraction(op.const)",
    "+ ratio * Fraction(op.const)",
    "test_series_have_rising_degree_about_their_point",
)
_texts(
    "squares-of-sine-and-cosine-are-equal",
    '("sin", 1, -1, "cos")',
    '("sin", 0, 1, "cos")',
    "test_the_value_of_each_derivative_of_a_book",
)
_texts(
    "a-content-is-lost",
    "return number.norm(content), common, _divided(rest, content)",
    "return number.norm(abs(content)), common, _divided(rest, content)",
    "test_the_value_of_each_derivative_of_a_book",
)
_texts(
    "selections-of-zero-are-left-out",
    "if base is not None and _singular_at(value, base):",
    "if True:",
    "test_conditions_that_a_user_typed_stay",
)
_texts(
    "parse-subtracts-from-the-right",
    "            signed.append((1 if isinstance(node.op, ast.Add) else -1, node.right))",
    "            signed.append((1, node.right))",
    "test_texts_are_what_python_makes_of_them",
)
_texts(
    "parse-compares-the-first-with-all",
    "pairs = zip(signs, values, values[1:], strict=False)",
    "pairs = zip(signs, values[:1] * len(signs), values[1:], strict=False)",
    "symdiff/test_parser.py::test_language",
)
_texts(
    "a-root-of-a-square-is-the-base",
    "p == 1 or (len(x.args) == 1 and p.denominator == 1)",
    "p == 1 or len(x.args) == 1",
    "test_the_root_of_a_square_is_shown",
)
_texts(
    "elements-from-the-end-are-negative-in-conditions",
    "index = tuple(map(from_front, steps, x.shape))",
    "index = tuple([Index((), int(k)) for k in steps])",
    "test_an_element_from_the_end_is_that_one",
)
_texts(
    "a-condition-that-never-holds-is-left-out",
    "        if c is False:\n            return None",
    "        if c is False:\n            continue",
    "test_an_element_from_the_end_is_that_one",
)
_texts(
    "a-negative-power-is-an-inverse-function",
    'if function is not None and exponent.startswith("-"):',
    "if False:",
    "test_a_negative_power_is_no_inverse_function",
)
_texts(
    "a-condition-is-read-as-an-array",
    "return Comparison(values) if alone else values",
    "return values",
    "test_a_condition_in_brackets_is_not_read_as_an_array",
)
_texts(
    "a-letter-runs-as-far-as-any-element-says",
    "    if lengths == {dim}:",
    "    if dim in lengths:",
    "test_a_letter_over_axes_of_two_lengths_says_how_far_it_runs",
)

# Pickles ------------------------------------------------------------------------------------------

_pickling(
    "a-decision-forgets-what-it-decides",
    "return _defined, (op.name, op.formula, op.arity, op.result, op.decides)",
    "return _defined, (op.name, op.formula, op.arity, op.result)",
    "test_another_process_raises_too",
    "test_an_op_comes_back_from_a_pickle",
)
_pickling(
    "a-scatter-comes-back-as-a-gather",
    "return gather if cls is ops.Gather else gather.transposed(0, ())",
    "return gather",
    "test_every_op_comes_back_as_the_same_node",
)

# Locks of threads that a child has not ------------------------------------------------------------

_locks(
    "the-last-of-two-values-of-an-attribute-stays",
    "values.setdefault(self.attrname, value)",
    "values[self.attrname] = value",
    "test_an_attribute_is_that_of_the_first_thread_to_finish",
)
_locks(
    "a-fork-waits-for-no-module",
    "if time.monotonic() >= end or not _is_loaded_by_others():",
    "if True:",
    "test_a_fork_waits_for_modules_that_other_threads_load",
)
_locks(
    "a-fork-waits-with-the-import-lock-for-that-of-logging",
    "if _LOGGING.acquire(blocking=False):",
    "if _LOGGING.acquire():",
    "test_a_fork_waits_for_one_who_loads_modules_with_the_lock_of_logging",
)
_locks(
    "a-fork-waits-for-threads-that-there-are-not",
    "return not owners.isdisjoint(sys._current_frames())",
    "return any(owners)",
    "test_a_fork_does_not_wait_for_threads_that_there_are_not",
)
_locks(
    "locks-of-modules-stay-in-a-child",
    "        _MODULE_LOCKS.pop(name, None)",
    "        pass",
    "test_a_module_that_another_thread_is_about_to_load_is_loaded_in_a_child",
)

# Arguments that are refused -----------------------------------------------------------------------

_doors(
    "a-refusal-loses-its-message",
    "    if not is_refusal:\n        return error if reason is None else reason",
    "    if reason is not None:\n        return reason",
    "test_a_message_names_the_remedy",
)
_doors(
    "a-text-with-a-mark-is-shifted",
    "    if isinstance(error, (*_ABOUT_FORMULAS, MemoryError)):\n        return error",
    "    if isinstance(error, MemoryError):\n        return error",
    "test_messages_name_function_and_argument",
)
_doors(
    "an-error-of-the-user-is-renamed",
    "        if not frame.f_code.co_filename.startswith(_LIBRARY):\n            return False",
    "        if not frame.f_code.co_filename.startswith(_LIBRARY):\n            pass",
    "test_errors_of_callers_functions_stay_as_they_are",
)
_doors(
    "pickle-finds-another-function",
    'call.__qualname__ = f"{function.__qualname__}.public"',
    "call.__qualname__ = function.__qualname__",
    "test_public_functions_can_be_pickled",
)
_doors(
    "the-cause-of-a-refusal-is-lost",
    "            return error\n    return None",
    "            return None\n    return None",
    "test_an_error_in_an_argument_is_the_cause_of_its_refusal",
)
_doors(
    "a-long-argument-is-quoted-whole",
    "text if len(text) <= _LONGEST_REPR else",
    "text if True else",
    "test_messages_do_not_quote_long_arguments_whole",
)
_doors(
    "items-are-not-looked-at",
    "            kind.read(x)\n",
    "            pass\n",
    "test_solve_banded.py::test_wrong_arguments",
)
_values(
    "a-formula-is-compared-with-an-earlier-one",
    'return getattr(new, "__wrapped__", new)(cls',
    "return new(cls",
    "test_deep_formulas_with_shared_parts_are_translated_again",
)
