"""Faults in what checks others: audits, gradcheck, Taylor tests, certificates, enclosures."""

from __future__ import annotations

from tests.mutants.rows import Family

_audit = Family("audit")
_differences = Family("differences")
_certify = Family("certify")
_enclose = Family("enclose")
FAMILIES = (_audit, _differences, _certify, _enclose)

_audit(
    "a-tenth-passes-for-rounding",
    "    return np.asarray(ROUNDINGS * run.u * run.scale[i] + tiny)",
    "    return np.asarray(1e13 * ROUNDINGS * run.u * run.scale[i] + tiny)",
    "test_mistakes_are_caught_and_named[tanh: 0.05 % too large]",
)
_audit(
    "nothing-is-confirmed",
    "    return np.asarray(wrong & ~(beyond | near | unknown))",
    "    return np.asarray(wrong & False)",
    "test_mistakes_are_caught_and_named[tanh: zero for |x| > 4]",
)
_audit(
    "nan-is-right",
    "    unknown = np.isnan(precise) | (np.isinf(precise) & ~np.isnan(got))",
    "    unknown = np.isnan(precise) | np.isnan(got)",
    "test_verdicts",
)
_audit(
    "every-value-at-a-kink-is-a-convention",
    "        run.wrong[i][row] = False if inside else differs[i] & (spread[i] | alone)",
    "        run.wrong[i][row] = False",
    "test_subgradients_of_relu",
    "test_subgradients_are_asked_of_all_inputs_together",
)
_audit(
    "a-function-that-overflows-excuses-its-gradient",
    "            self._note_overflow(point)\n            return False\n",
    "            self._note_overflow(point)\n            return True\n",
    "test_the_verdict_does_not_depend_on_how_the_function_is_written",
)
_audit(
    "equal-eigenvalues-are-not-told-apart",
    "            if free:\n                self._take_apart(got, free)",
    "            if False:\n                self._take_apart(got, free)",
    "test_subgradients_at_equal_values_are_conventions",
)
_audit(
    "a-set-of-subgradients-is-wider-than-it-is",
    "unit = np.maximum(least, _COARSE * wide)",
    "unit = np.maximum(least, 1e-2 * wide)",
    "test_what_is_no_subgradient_at_equal_values_is_wrong",
)
_differences(
    "a-taylor-test-believes-every-gradient",
    "    return WRONG if (left > bound).any() else RIGHT if decided.all() else UNKNOWN",
    "    return WRONG if (left > 1e3 * bound).all() else RIGHT",
    "test_remainders.py::test_wrong_gradients",
)
_differences(
    "a-taylor-test-claims-what-rounding-hides",
    "RIGHT if decided.all() else UNKNOWN",
    "RIGHT",
    "test_where_nothing_can_be_told_it_is_said",
)
_differences(
    "the-quadratic-term-is-counted-whole",
    "        remainders.append(remainders[-1] - steps**order / order * term.sum())",
    "        remainders.append(remainders[-1] - steps**order * term.sum())",
    "test_remainders.py::test_slopes",
)
_differences(
    "gradcheck-leaves-inputs-moved",
    "        array[place] = original\n\n\ndef jacobians",
    "        pass\n\n\ndef jacobians",
    "test_the_input_is_restored_when_a_later_call_fails",
)
_differences(
    "gradcheck-believes-what-differs-each-time",
    "        if differ:\n            raise GradcheckError(",
    "        if differ is None:\n            raise GradcheckError(",
    "test_backward_that_differs_each_time",
)
_certify(
    "the-least-error-is-reported",
    "            entries.sort(key=lambda e: e[0])",
    "            entries.sort(key=lambda e: -e[0])",
    "test_a_formula_that_loses_digits_is_found_and_where",
)
_certify(
    "points-leave-the-box",
    "        nearest = float(self.type(min(max(value, low), high)))",
    "        nearest = float(self.type(max(value, low)))",
    "test_what_is_lost_beside_the_box_does_not_count",
)
_enclose(
    "a-choice-that-is-not-decided-takes-the-first",
    "combined(hull, (a, b)) if chosen is None else a",
    "a if chosen is None else a",
    "test_known_ranges",
    "test_enclosures_contain_the_values[formulas over boxes]",
)
_enclose(
    "digits-are-rounded-inwards",
    "    if beyond >= 0 if upward else beyond <= 0:\n        return text",
    "    if beyond <= 0 if upward else beyond >= 0:\n        return text",
    "test_ends_are_exact_numbers",
)
_enclose(
    "an-order-that-is-not-decided-is-one",
    '        if decided is None:\n            raise Undecided(f"{name} of elements',
    '        if decided is ...:\n            raise Undecided(f"{name} of elements',
    "test_an_order_that_is_not_decided_is_refused_and_one_that_is_not",
)
