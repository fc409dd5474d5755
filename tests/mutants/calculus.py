"""Faults in rules: of the families, of linear maps, of opaque ops and of the vocabulary."""

from __future__ import annotations

from tests.mutants.rows import Family

_pointwise = Family("pointwise")
_vocabulary = Family("vocabulary")
_contract = Family("contract")
_linear = Family("linear")
_opaque = Family("opaque")
_unknown = Family("unknown functions")
_integral = Family("integrals")
FAMILIES = (_pointwise, _vocabulary, _contract, _linear, _opaque, _unknown, _integral)

# Sums, products, powers ---------------------------------------------------------------------------

_pointwise(
    "power-rule-off-by-one",
    "p = int_power(args[k], op.exponents[k] - 1)",
    "p = int_power(args[k], op.exponents[k] - 2)",
    "test_product_rule",
)
_pointwise(
    "product-rule-without-the-other-factor",
    "mul(p, int_power(args[1 - k], op.exponents[1 - k]))",
    "mul(p, args[1 - k])",
    "test_value_jacobian_gradient_and_hessian_are_exact[pointwise]",
)
_pointwise(
    "sum-rule-with-the-coefficient-of-the-first",
    "coef = op.coefs[self.k]",
    "coef = op.coefs[0]",
    "test_derivatives_are_linear",
)
_pointwise(
    "the-last-term-of-a-sum-is-added-beside-itself",
    "term.serial <= a.args[-1].serial",
    "term.serial < a.args[-1].serial",
    "test_a_sum_in_a_loop_is_the_sum_of_its_terms_at_once",
)
_pointwise(
    "cheap-values-forget-the-exponent",
    "        return op.exponents[self.k]\n",
    "        return abs(op.exponents[self.k])\n",
    "test_value_jacobian_gradient_and_hessian_are_exact[pointwise]",
)

# Functions of the vocabulary ----------------------------------------------------------------------

_vocabulary(
    "sigmoid-slope-twice-as-large",
    "partials = _(lambda x: (sech2(x / 2) / 4,))",
    "partials = _(lambda x: (sech2(x / 2) / 2,))",
    "test_derivatives_to_third_order[sigmoid]",
)
_vocabulary(
    "slope-of-asin-from-a-rounded-square",
    '"asin_slope": lambda x: 1.0 / np.sqrt((1.0 - x) * (1.0 + x)),',
    '"asin_slope": lambda x: 1.0 / np.sqrt(1.0 - x * x),',
    "test_slopes_keep_their_digits_without_conditioning[asin]",
)
_vocabulary(
    "slope-of-atanh-of-floats-from-a-rounded-square",
    '"atanh_slope": lambda x: 1.0 / ((1.0 - x) * (1.0 + x)),\n    "acosh_slope": lambda x: 1.0 /',
    '"atanh_slope": lambda x: 1.0 / (1.0 - x * x),\n    "acosh_slope": lambda x: 1.0 /',
    "test_slopes_keep_their_digits_without_conditioning[atanh]",
)
_vocabulary(
    "log10-slope-of-the-natural-logarithm",
    "partials = _(lambda x: (log10(sp.E) / x,))",
    "partials = _(lambda x: (1 / x,))",
    "test_derivatives_to_third_order[log10]",
)
_vocabulary(
    "exp-share-with-one-sign",
    "(sech2(difference(a, b) / 2) / 4, -sech2(difference(a, b) / 2) / 4)",
    "(sech2(difference(a, b) / 2) / 4, sech2(difference(a, b) / 2) / 4)",
    "test_derivatives_to_third_order[exp_share]",
)
_vocabulary(
    "lambertw-polynomial-one-term-off",
    "(2 * k - 1 - j) * above[j]",
    "(2 * k - j) * above[j]",
    "test_derivatives_to_third_order[lambertw]",
)
_vocabulary(
    "xlogy-masked-on-all-of-zero",
    "where(logical_and(equal(x, ZERO), less_equal(y, ZERO)), ZERO, x / y),",
    "where(equal(x, ZERO), ZERO, x / y),",
    "test_a_mask_does_not_reach_the_mixed_derivative",
)

# Contractions -------------------------------------------------------------------------------------

_contract(
    "operand-and-output-keep-their-places",
    "word, target = batch + op.out, batch + op.letters[k]",
    "word, target = batch + op.out, batch + op.letters[k][::-1]",
    "test_value_jacobian_gradient_and_hessian_are_exact[contraction]",
)
_contract(
    "least-words-off",
    "                words = _least_words(args, words, kills)\n",
    "",
    "test_a_symmetric_matrix_is_its_transpose",
    "test_functions_of_symmetric_matrices_have_small_gradients",
)
_contract(
    "a-loose-letter-is-not-counted",
    "        result = mul(factor, result, True)\n    return result if coef == 1",
    "        pass\n    return result if coef == 1",
    "test_contractions_are_sums_over_explicit_letters",
)

# Transposes of linear maps ------------------------------------------------------------------------

_linear(
    "slice-pulls-to-the-front",
    "return _linear(Unslice, self.before, self.steps, self.after)",
    "return _linear(Unslice, self.before, tuple((0, None if s[1] is None else s[1] - s[0], s[2]) "
    "for s in self.steps), self.after)",
    "test_reverse_mode_is_the_transpose_of_forward_mode_exactly[linear]",
)
_linear(
    "gather-pulls-in-another-order",
    "return _indexed(Scatter, self.before, self.index)",
    "return _indexed(Scatter, self.before, self.index[::-1])",
    "test_gathers_and_their_transposes",
)
_linear(
    "scatter-pulls-in-another-order",
    "return _indexed(Gather, self.before, self.index)",
    "return _indexed(Gather, self.before, self.index[::-1])",
    "test_reverse_mode_is_the_transpose_of_forward_mode_exactly[linear]",
    "test_value_jacobian_gradient_and_hessian_are_exact[linear]",
)
_linear(
    "concat-pulls-from-the-other-end",
    "start, length = _total(self.lengths[:k]), self.lengths[k]",
    "start, length = _total(self.lengths[k + 1 :]), self.lengths[k]",
    "test_table.py::test_row[concat]",
)
_linear(
    "flip-pulls-unflipped",
    "        return self.name, axis_text(len(shape), *self.axes)\n\n"
    "    def transposed(self, k: int, shape: Shape) -> Linear:\n        return self\n",
    "        return self.name, axis_text(len(shape), *self.axes)\n\n"
    "    def transposed(self, k: int, shape: Shape) -> Linear:\n"
    "        return flip_op(self.axes[:-1])\n",
    "test_table.py::test_row[flip]",
)
_linear(
    "cumsum-pulls-in-its-own-direction",
    "return cumsum_op(self.axis, not self.reverse)",
    "return cumsum_op(self.axis, self.reverse)",
    "test_table.py::test_row[cumsum]",
)
_linear(
    "triangle-pulls-the-other-triangle",
    '[f"k={self.diagonal}"] * (self.diagonal != 0)\n\n'
    "    def transposed(self, k: int, shape: Shape) -> Linear:\n        return self\n",
    '[f"k={self.diagonal}"] * (self.diagonal != 0)\n\n'
    "    def transposed(self, k: int, shape: Shape) -> Linear:\n"
    "        return triangle_op(not self.lower, -self.diagonal)\n",
    "test_table.py::test_row[tril]",
)
_linear(
    "shift-pulls-in-its-own-direction",
    "return shift_op(-self.offset)",
    "return shift_op(self.offset)",
    "test_derivatives_are_differences[SolveBanded]",
)
_linear(
    "fourier-pulls-the-other-part",
    "        self.part = part\n\n"
    "    def transposed(self, k: int, shape: Shape) -> Linear:\n        return self\n",
    "        self.part = part\n\n"
    "    def transposed(self, k: int, shape: Shape) -> Linear:\n"
    '        return fourier_op("sin" if self.part == "cos" else "cos")\n',
    "test_table.py::test_row[fft]",
)
_linear(
    "windows-of-another-length",
    "return _linear(Overlaps, self.length)",
    "return _linear(Overlaps, self.length - 1)",
    "test_table.py::test_row[sliding_window_view]",
)
_linear(
    "reshape-pulls-to-its-own-shape",
    "return reshape_op(self.after, self.before)",
    "return reshape_op(self.after, self.before[::-1])",
    "test_table.py::test_row[reshape]",
)

# Differentials and transposes of opaque ops -------------------------------------------------------

_opaque(
    "solve-with-the-wrong-sign",
    "return opaque(self, node.args[0], scale(-1, matrix_product(t, node)))",
    "return opaque(self, node.args[0], matrix_product(t, node))",
    "test_derivatives_are_differences[Solve]",
)
_opaque(
    "solve-pulls-untransposed",
    "return opaque(self, matrix_transpose(node.args[0]), g)",
    "return opaque(self, node.args[0], g)",
    "test_derivatives_are_differences[Solve]",
)
_opaque(
    "inv-with-the-wrong-sign",
    "return scale(-1, matrix_product(matrix_product(node, t), node))",
    "return matrix_product(matrix_product(node, t), node)",
    "test_derivatives_are_differences[Inv]",
)
_opaque(
    "logabsdet-with-the-inverse-untransposed",
    "weighted(matrix_transpose(opaque(opaque_op(Inv), node.args[0])), t, 2)",
    "weighted(opaque(opaque_op(Inv), node.args[0]), t, 2)",
    "test_derivatives_are_differences[LogAbsDet]",
)
_opaque(
    "det-by-its-own-matrix",
    "weighted(opaque(opaque_op(Cofactor), node.args[0]), t, 2)",
    "weighted(matrix_transpose(opaque(opaque_op(Cofactor), node.args[0])), t, 2)",
    "test_derivatives_are_differences[Det]",
)
_opaque(
    "cofactor-tangent-one-term-with-another-sign",
    "return grown - shrunk + matrix_product(matrix_product(c, f), moved)",
    "return grown - shrunk - matrix_product(matrix_product(c, f), moved)",
    "test_third_derivatives_of_larger_determinants",
)
_opaque(
    "cholesky-keeps-the-whole-diagonal",
    "pattern = scale(_HALF, _lower_ones(n, 0) + _lower_ones(n, -1))",
    "pattern = _lower_ones(n, 0)",
    "test_derivatives_are_differences[Cholesky]",
)
_opaque(
    "eigvecs-with-gaps-of-another-sign",
    "gaps = opaque(opaque_op(Gaps, -1, False), values)",
    "gaps = opaque(opaque_op(Gaps, 1, False), values)",
    "test_derivatives_are_differences[Eigvecs]",
)
_opaque(
    "svd-forgets-what-leaves-the-columns",
    "        result = result + scale(2, _columns_times(outside, inverse))\n",
    "        result = result + _columns_times(outside, inverse)\n",
    "test_derivatives_are_differences[LeftVectors]",
)
_opaque(
    "qr-turns-the-other-way",
    "return q, n, inner, below - matrix_transpose(below)",
    "return q, n, inner, below + matrix_transpose(below)",
    "test_derivatives_are_differences[Qr]",
)
_opaque(
    "pinv-without-the-term-of-the-columns",
    "            terms.append(matrix_product(right, matrix_product(q, p)))\n",
    "            pass\n",
    "test_table.py::test_row[pinv-(2, 3)]",
)
_opaque(
    "expm-inserts-at-one-place-only",
    "places = range(len(directions) + 1)",
    "places = range(1)",
    "test_derivatives_are_differences[Expm]",
)
_opaque(
    "expm-pulls-in-the-order-of-pushing",
    "around = [*wide[: k - 1][::-1], g, *wide[k:][::-1]]",
    "around = [*wide[: k - 1], g, *wide[k:]]",
    "test_derivatives_are_differences[Expm]",
)
_opaque(
    "prod-divides-by-what-may-be-zero",
    "return weighted(opaque(opaque_op(ProdOthers), x), t, 1) if share is None else share",
    "return weighted(mul(stretched(node, x), int_power(x, -1)), t, 1) if share is None else share",
    "test_op_table.py::test_row[prod with zeros]",
)
_opaque(
    "max-gives-every-tie-all",
    "return mul(chosen, int_power(count, -1))",
    "return chosen",
    "test_op_table.py::test_row[max ties]",
)
_opaque(
    "logsumexp-unshifted-weights",
    'return weighted(primitive("exp", x - stretched(node, x)), t, 1)',
    'return weighted(primitive("exp", x), t, 1)',
    "test_derivatives_are_differences[LogSumExp]",
)
_opaque(
    "take-pulls-reversed",
    "return opaque(put_op(x.shape[-1]), g, index)",
    "return opaque(put_op(x.shape[-1]), g, -1 - index)",
    "test_gradients_at_indices_that_are_expressions",
)
_opaque(
    "put-pulls-unindexed",
    "return opaque(opaque_op(Take), g, node.args[1])",
    "return opaque(opaque_op(Take), g, 0 * node.args[1])",
    "test_derivatives_are_differences[Put]",
)
_opaque(
    "searchsorted-right-is-left",
    "return of.number(sum(not of.less(self.name, x, edge) for edge in edges))",
    "return of.number(sum(of.less(self.name, edge, x) for edge in edges))",
    "test_searchsorted_by_its_definition",
)
_opaque(
    "cumprod-forgets-the-first-place",
    "previous = _shifted(node) + first",
    "previous = _shifted(node)",
    "test_derivatives_are_differences[Cumprod]",
)
_opaque(
    "logcumsumexp-steps-backwards",
    "step = select(first, full(x.shape, 0), _shifted(node) - node)",
    "step = select(first, full(x.shape, 0), node - _shifted(node))",
    "test_derivatives_are_differences[LogCumSumExp]",
)
_opaque(
    "recurrence-rule-reversed",
    "share = mul(t, _shifted(node, reverse=self.reverse))",
    "share = mul(t, _shifted(node, reverse=not self.reverse))",
    "test_derivatives_are_differences[Recurrence]",
)
_opaque(
    "recurrence-pulls-with-the-factors-in-place",
    "a = _shifted(node.args[0], reverse=not self.reverse)",
    "a = node.args[0]",
    "test_derivatives_are_differences[Recurrence]",
)
_opaque(
    "solve-banded-moves-diagonals-the-other-way",
    "terms.append(linear(shift_op(r - self.upper), product))",
    "terms.append(linear(shift_op(self.upper - r), product))",
    "test_derivatives_are_differences[SolveBanded]",
)
_opaque(
    "sylvester-multiplies-on-the-wrong-side",
    "moved = matrix_product(node, t) if k else matrix_product(t, node)",
    "moved = matrix_product(t, node) if k else matrix_product(node, t)",
    "test_derivatives_are_differences[Sylvester]",
)

# Unknown functions --------------------------------------------------------------------------------

_unknown(
    "an-unknown-function-is-differentiated-by-its-first-argument",
    "opaque(op.by(self.k), *self.node.args)",
    "opaque(op.by(0), *self.node.args)",
    "test_derivatives_are_sympys[waves]",
)
_unknown(
    "values-of-unknown-functions-are-no-variables-of-their-own",
    "isinstance(x.op, ops.Symbol | ops.Unknown) or component",
    "isinstance(x.op, ops.Symbol) or component",
    "test_a_value_and_its_derivative_are_independent",
)
_unknown(
    "formulas-are-differentiated-once-at-most",
    "body = diff(body, x, order)",
    "body = diff(body, x, min(order, 1))",
    "test_derivatives_are_sympys[chain]",
)
_unknown(
    "formulas-are-put-on-the-operands-before-the-step",
    "value = instead(node, [done[arg] for arg in node.args])",
    "value = instead(node, node.args)",
    "test_all_replacements_happen_at_once",
)
_unknown(
    "unknown-functions-in-loops-are-lowered",
    "for unknown in unknown_within(nodes):",
    "for unknown in [x.op for x in nodes if isinstance(x.op, ops.Unknown)]:",
    "test_functions_inside_loops_and_equations",
)

# Integrals ----------------------------------------------------------------------------------------

_integral(
    "the-lower-limit-has-the-sign-of-the-upper",
    "return value if k else scale(-1, value)",
    "return value",
    "test_both_modes_agree",
)
_integral(
    "moving-jumps-are-ignored",
    "if part in along and part in moving and _jumps(part):",
    "if False:",
    "test_integrals.py::test_jumps",
)
_integral(
    "stepwise-functions-do-not-jump",
    "return op.decides is not None or not _STEPWISE.isdisjoint(names)",
    "return op.decides is not None",
    "test_integrals.py::test_jumps",
)
_integral(
    "quadrature-is-not-checked-by-two-parts",
    "error = max(error, abs(value - both), *(e for _, e in parts))",
    "error = min(error, 0.0)",
    "test_what_has_no_certain_value_is_refused",
)
_integral(
    "closed-forms-agree-in-a-few-digits",
    "_AGREE = 50",
    "_AGREE = 20",
    "test_a_wrong_closed_form_is_rejected",
)
_integral(
    "closed-forms-may-have-values-where-integrals-diverge",
    "        if differs or not has_value:\n            return False\n",
    "        if differs and has_value:\n            return False\n",
    "test_other_integrals_stay_nodes",
)
