"""Faults in lengths that are polynomials in names, in what calls learn of them, and in slices."""

from __future__ import annotations

from tests.mutants.rows import Family

_lengths = Family("lengths")
_learning = Family("learning")
_lines = Family("lines")
_conditions = Family("conditions")
FAMILIES = (_lengths, _learning, _lines, _conditions)

# Polynomials --------------------------------------------------------------------------------------

_lengths(
    "quotients-of-coefficients-towards-zero",
    "quotient = _length({monomial: c // by for monomial, c in length.terms})",
    "quotient = _length({monomial: int(c / by) for monomial, c in length.terms})",
    "test_lengths.py::test_texts",
)
_lengths(
    "quotients-at-a-call-round-up",
    "value = atom.over.replaced(lengths) // atom.by",
    "value = -(-atom.over.replaced(lengths) // atom.by)",
    "test_lengths.py::test_arithmetic_is_that_of_ints",
)
_lengths(
    "texts-begin-with-low-powers",
    "return -sum(power for _, power in monomial), [",
    "return sum(power for _, power in monomial), [",
    "test_lengths.py::test_texts",
)
_lengths(
    "factors-in-any-order",
    "return tuple(sorted(powers.items(), key=lambda item: atom_text(item[0])))",
    "return tuple(powers.items())",
    "test_lengths.py::test_equal_polynomials_are_equal_lengths",
    "test_lengths.py::test_texts",
)
_lengths(
    "an-order-told-by-the-wrong-end",
    "first_end, last_end = (low, high) if upward else (high, low)",
    "first_end, last_end = (high, low) if upward else (low, high)",
    "test_an_order_is_told_where_it_holds_everywhere",
)
_lengths(
    "bounds-of-what-is-taken-away-kept-in-order",
    "least, most = ends if c > 0 else reversed(ends)",
    "least, most = ends",
    "test_bounds_hold",
)
_lengths(
    "a-reshape-of-nothing-asks-for-lengths",
    "    while lead and lengths.product(before[lead:]) != lengths.product(after[lead:]):\n"
    "        lead -= 1  # after an axis of length 0 other lengths are arbitrary\n",
    "",
    "test_a_reshape_of_no_elements_asks_nothing_of_the_other_axes",
)
_lengths(
    "different-polynomials-broadcast",
    "if dim != 1 and dim != dims[i]:",
    "if dim != 1 and dim != dims[i] and not (isinstance(dim, str) and isinstance(dims[i], str)):",
    "test_lengths_are_solved_and_checked",
)

_lengths(
    "means-over-one-more-than-a-named-length",
    "return product(counted(x.shape[k]) for k in axes)",
    "return product(counted(x.shape[k]) + isinstance(x.shape[k], str) for k in axes)",
    "test_a_program_that_rounds_is_as_near_as_that_of_numbers[mean]",
)
_lengths(
    "softmax-over-the-first-axis-if-that-is-named",
    'log_softmax(operand, axes_of("softmax", axis, operand.ndim))',
    'log_softmax(operand, axes_of("softmax", 0 if "n" in operand.shape else axis, operand.ndim))',
    "test_a_program_that_rounds_is_as_near_as_that_of_numbers[softmax]",
)

# What a call learns -------------------------------------------------------------------------------

_learning(
    "a-name-solved-with-the-wrong-sign",
    "value = (length - there) // slope if slope > 0",
    "value = (length + there) // slope if slope > 0",
    "test_lengths_are_solved_and_checked",
)
_learning(
    "a-contradiction-is-not-seen",
    "elif (there := dim.replaced(sizes)) != length:",
    "elif (there := dim.replaced(sizes)) < 0:",
    "test_lengths_are_solved_and_checked",
)
_learning(
    "a-remainder-is-not-seen",
    "if rest.replaced({new[0]: value}) != length or",
    "if",
    "test_lengths_are_solved_and_checked",
)
_learning(
    "a-length-of-minus-one-passes",
    "        if length < 0:\n            stated = ",
    "        if length < -1:\n            stated = ",
    "test_lengths_are_solved_and_checked",
)
_learning(
    "a-name-that-is-solved-stands-in-the-rest",
    "if not slope or (isinstance(other, Length) and name in other.names):",
    "if not slope:",
    "test_a_length_is_solved_for_a_name",
)

# Places of slices ---------------------------------------------------------------------------------

_lines(
    "a-line-one-place-too-long",
    "return (span + each - 1) // each",
    "return (span + each) // each",
    "test_values_and_derivatives_at_every_length[every",
    "test_values_and_derivatives_at_every_length[both ends",
)
_lines(
    "a-line-needs-no-stop",
    "return [self.length, self.first, length - self.stop, self.stop]",
    "return [self.length, self.first, self.stop]",
    "test_lengths_are_solved_and_checked",
)
_lines(
    "a-line-downwards-starts-behind-the-axis",
    "return [self.length, length - 1 - self.first, *written]",
    "return [self.length, length - self.first, *written]",
    "test_slices_of_slices_with_steps",
)
_lines(
    "a-stop-upwards-is-counted-from-the-end",
    "return [self.length, self.first, length - self.stop, self.stop]",
    "return [self.length, self.first, length - self.stop]",
    "test_bounds_that_are_lengths_are_not_counted_from_the_end",
)
_lines(
    "bounds-downwards-are-counted-from-the-end",
    "return [self.length, length - 1 - self.first, *written]",
    "return [self.length, length - 1 - self.first, self.stop + 1]",
    "test_bounds_that_are_lengths_are_not_counted_from_the_end",
)
_lines(
    "a-reverse-needs-what-the-slice-does-not",
    "    if isinstance(places, Line) and not _imply(bounds, [*places.needs(length)[2:]]):\n"
    "        raise LookupError\n",
    "",
    "test_reversed_slices_have_the_lengths_of_the_slices",
)
_lines(
    "a-part-forgets-what-the-slice-needs",
    "        wanted = needs(inner, length)\n",
    "        wanted = []\n",
    "test_a_part_of_a_slice_needs_all_of_it",
)
_lines(
    "a-part-forgets-what-it-needs-of-the-slice",
    "            wanted += needs(places_of(outer, inner.length), inner.length)",
    "            wanted += []",
    "test_a_part_of_a_slice_needs_all_of_it",
)
_lines(
    "a-slice-of-a-slice-stops-at-its-last-place",
    "return line(first, _below(first + (many - 1) * by + _sign(by)), by, length)",
    "return line(first, _below(first + (many - 1) * by), by, length)",
    "test_slices_of_slices_have_one_spelling",
)
_lines(
    "a-stop-in-front-is-read-from-the-end",
    "return slice(first, None if stop < 0 else stop, step)",
    "return slice(first, stop, step)",
    "test_bounds_that_are_lengths_are_not_counted_from_the_end",
)
_lines(
    "an-empty-line-is-read-from-the-end",
    "    if not range(first, stop, step):\n        return slice(0, 0)\n",
    "",
    "test_no_place_of_a_line_is_counted_from_the_end",
)
_lines(
    "reversed-places-keep-their-stop",
    "_below(last - places.stop), -places.step, length)",
    "_below(last - places.stop + 1), -places.step, length)",
    "test_values_and_derivatives_at_every_length[one in the middle of the reverse",
)

# What conditions take ----------------------------------------------------------------------------

_conditions(
    "two-conditions-have-one-length",
    'tried = itertools.chain(first, (f"{description}_{k}" for k in itertools.count(1)))',
    'tried = itertools.chain(["true_"], (f"{description}_{k}" for k in itertools.count(1)))\n'
    '    _VECTORS.pop("true_", None)',
    "test_a_condition_has_one_length_and_others_have_others",
    "test_conditions.py::test_values_are_numpys[names-two_lengths]",
)
_conditions(
    "lengths-stay-when-conditions-are-substituted",
    "if before != after:",
    "if before == 0:",
    "test_other_values_have_lengths_of_their_own",
)
_conditions(
    "an-own-name-is-that-of-whoever-had-it",
    "return None if name == self.length else nonzero_places(x)",
    "return None",
    "test_other_values_have_lengths_of_their_own",
)
_conditions(
    "places-of-conditions-count-from-one",
    "opaque_ops.PlacesOf: np.flatnonzero,",
    "opaque_ops.PlacesOf: lambda x: np.flatnonzero(x) - 1,",
    "test_conditions.py::test_values_are_numpys",
)
_conditions(
    "all-sums-are-the-first",
    "for x, part in zip(group, parts, strict=True)}",
    "for x, part in zip(group, parts[:1] * len(parts), strict=True)}",
    "test_conditions.py::test_values_are_numpys[numbers-two_lengths]",
)
_conditions(
    "the-first-condition-is-closed-first",
    "name = [*conditions][-1]",
    "name = [*conditions][0]",
    "test_conditions.py::test_values_are_numpys[numbers-taken_twice]",
    "test_random_programs",
)
_conditions(
    "zeros-behind-what-there-is-are-handed-out",
    "value = np.array(value[tuple(steps)])",
    "value = np.array(value)",
    "test_outputs_have_as_many_elements_as_there_are",
)
_conditions(
    "lengths-that-are-too-short-are-not-asked",
    "self.asked = {dim: why for dim, why in formulas(nodes).items() if op.own in dim.names}",
    "self.asked: dict[Any, str] = {}",
    "test_lengths_that_are_too_short_are_refused_when_it_runs",
)
_conditions(
    "bodies-keep-conditions",
    "both = closed([*values, *map(as_expr, leaves_of(y))], [carry, *each])",
    "both = [*values, *map(as_expr, leaves_of(y))]",
    "test_conditions_in_loops",
)
_conditions(
    "places-in-rows-are-those-of-columns",
    "columns.append(flat % length)",
    "columns.append(flat // length)",
    "test_places_are_numpys[shape1]",
)
