"""Faults in what shards compute, and in how their subtotals make one."""

from __future__ import annotations

from tests.mutants.rows import Family

_shards = Family("shards")
FAMILIES = (_shards,)

# Which graphs shards can compute -----------------------------------------------------------------

_shards(
    "any-axis-of-an-opaque-op-is-a-batch",
    "-from_the_end > len(op.signature.core(k))",
    "-from_the_end >= len(op.signature.core(k))",
    "test_what_nobody_knows_is_refused",
)
_shards(
    "running-sums-along-the-rows-pass",
    "return op.axis != from_the_end",
    "return True",
    "test_a_step_along_the_rows_is_refused",
)
_shards(
    "flips-of-the-rows-pass",
    "return from_the_end not in op.axes",
    "return True",
    "test_a_step_along_the_rows_is_refused",
)
_shards(
    "reshapes-of-the-rows-pass",
    "return op.before[:lead] == op.after[:lead]",
    "return True",
    "test_what_nobody_knows_is_refused",
)
_shards(
    "contractions-of-two-axes-of-rows-pass",
    '    if len(met) > 1:\n        raise _not_additive("brings pairs of rows together", node)\n',
    "",
    "test_what_nobody_knows_is_refused",
)
_shards(
    "elements-of-one-row-pass-for-a-sum",
    '    raise _not_additive(f"of all rows, the axis {over}, is not a sum over them", node)',
    '    return "add"',
    "test_a_step_along_the_rows_is_refused",
)
_shards(
    "computed-lengths-are-those-of-a-shard",
    "isinstance(op, ops.Size) and op.name != over and over in Length(op.name).names",
    "False",
    "test_what_a_length_is_computed_from_is_refused",
)
_shards(
    "a-result-with-rows-passes",
    "        if levels[output].axis is not None:",
    "        if False:",
    "test_bad_input",
)

# Passes -------------------------------------------------------------------------------------------

_shards(
    "the-number-of-rows-is-that-of-the-shard",
    "                part[x] = self.number\n",
    "                part[x] = x\n",
    "test_shards_have_the_derivatives_of_the_whole[a mean inside a sum]",
)
_shards(
    "extremes-of-shards-are-added",
    "        return op.of_two\n",
    '        return "add"\n',
    "test_shards_have_the_derivatives_of_the_whole[largest]",
)
_shards(
    "the-first-pass-takes-all-sums",
    "                for x, join in self.sums.items()\n"
    "                if self.known[x].level == p + 1\n",
    "                for x, join in self.sums.items()\n"
    "                if self.known[x].level >= p + 1\n",
    "test_shards_have_the_derivatives_of_the_whole[standardised]",
)

# What is decided once ----------------------------------------------------------------------------

_shards(
    "rows-are-compared-as-they-are-computed-again",
    "            for extreme in snapped.get(x, ()):\n",
    "            for extreme in ():\n",
    "test_a_formula_may_compare_rows_with_their_extreme[numpy]",
)
_shards(
    "other-rows-may-pass-the-extreme",
    '        beyond = select(primitive("less_equal", *pair), rows, bound)\n',
    "        beyond = rows\n",
    "test_no_row_is_beyond_the_extreme",
)
_shards(
    "a-nan-is-no-extreme",
    'ties = primitive("logical_or", ties, primitive("not_equal", rows, rows))\n',
    "pass\n",
    "test_rows_that_are_nan_are_the_extreme",
)
_shards(
    "each-pass-decides-comparisons-of-rows",
    "if x in self.kept and self.kept[x][0] < p:",
    "if False:",
    "test_a_comparison_is_made_by_one_program",
    "test_a_count_and_a_selection_agree",
)
_shards(
    "each-program-decides-comparisons-of-sums",
    "            elif self.handed.get(x, p) < p:\n",
    "            elif False:\n",
    "test_a_comparison_is_made_by_one_program",
)
_shards(
    "dense-masks-are-places",
    "sparse = 64 * places.size <= values.size",
    "sparse = True",
    "test_masks_are_what_they_were",
)
_shards(
    "counts-make-narrow-calls-wide",
    '    narrow = precision.kind == "f" and precision.itemsize < 8\n',
    "    narrow = False\n",
    "test_results_have_the_dtypes_of_lower",
)
_shards(
    "a-step-before-a-pass-stays-real",
    'value.astype(np.int64) if y.dtype is int and value.dtype.kind == "f" else value',
    "value",
    "test_the_hessian_of_a_norm",
)

# Subtotals ----------------------------------------------------------------------------------------

_shards(
    "an-odd-subtotal-is-dropped",
    "level = pairs + level[2 * len(pairs) :]",
    "level = pairs",
    "test_neighbours_are_joined_alike_in_groups_and_one_by_one",
)
_shards(
    "subtotals-that-are-left-are-joined-from-the-first",
    "result = self._pair(subtotal, result)",
    "result = self._pair(result, subtotal)",
    "test_neighbours_are_joined_alike_in_groups_and_one_by_one",
)
_shards(
    "an-empty-shard-is-computed",
    "not (rows or empty)",
    "False",
    "test_shards_have_the_derivatives_of_the_whole[largest]",
)
_shards(
    "shards-of-two-dtypes-are-joined",
    "            if one != other:\n",
    "            if False:\n",
    "test_bad_input",
)
_shards(
    "numbers-of-rows-are-not-compared",
    "if len(set(counts.values())) > 1:",
    "if False:",
    "test_rows_of_a_shard_are_counted",
)
_shards(
    "rows-stay-where-the-wire-left-them",
    "array.flags.aligned and array.flags.forc",
    "array.flags.forc",
    "test_bits_do_not_depend_on_where_rows_lie_in_memory",
)
_shards(
    "views-stay-views",
    "array.flags.aligned and array.flags.forc",
    "array.flags.aligned",
    "test_bits_do_not_depend_on_where_rows_lie_in_memory",
)
_shards(
    "a-shard-that-failed-is-progress",
    'if future.status != "finished":',
    "if False:",
    "test_a_failing_shard_ends_the_pass_that_tells_its_progress",
)
