"""Faults in solutions of equations: their derivatives, and what is taken for one."""

from __future__ import annotations

from tests.mutants.rows import Family

_solution = Family("solution")
FAMILIES = (_solution,)

_solution(
    "roots-are-pulled-through-the-untransposed-jacobian",
    "solution = opaque(_SOLVE, matrix_transpose(matrix) if transposed else matrix, columns)",
    "solution = opaque(_SOLVE, matrix, columns)",
    "test_a_deep_equilibrium_is_the_iteration_written_out",
)
_solution(
    "derivatives-of-roots-have-no-sign",
    "return Flow(scale(-1, reshape(solution, shape)), DEEP if flow.mark else NONE)",
    "return Flow(reshape(solution, shape), DEEP if flow.mark else NONE)",
    "test_derivatives_of_roots_to_order_five[cubic]",
)
_solution(
    "symbols-of-equations-are-not-renamed",
    "fresh = {s: named_dummy(s.name, s.shape, s.dtype) for s in self.symbols}\n"
    "        outputs = replaced(",
    "fresh = {s: s for s in self.symbols}\n        outputs = replaced(",
    "test_bound_symbols_are_not_those_of_equations_outside",
)
_solution(
    "what-a-solver-returns-is-the-root",
    "x = self._looked_for(x, params, sizes)",
    "return self._looked_for(x, params, sizes)[()]",
    "test_what_a_solver_returns_is_polished_and_verified",
)
_solution(
    "saddles-are-minima",
    "if self.minimum and not _is_positive(self.at.slope):",
    "if False:",
    "test_saddles_are_refused",
)
_solution(
    "saddles-are-minima-to-many-digits",
    "if op.is_minimum and not all(map(self._is_positive, slopes)):",
    "if False:",
    "test_saddles_are_refused",
)
_solution(
    "steps-of-singular-slopes-measure-the-distance",
    "near = fits & ~self.done & (",
    "near = ~self.done & (",
    "test_no_root_is_no_number",
)
_solution(
    "slow-progress-is-convergence",
    "ended = near & (parts > _SHRINKING * self.last) & (size > _SHRINKING * self.size)",
    "ended = near & (parts > _SHRINKING * self.last)",
    "test_slow_progress_is_no_convergence",
)
_solution(
    "steps-are-never-shortened",
    "worse = ~(self.done | free | self.better(after, size, share, move))",
    "worse = np.zeros(len(move), bool)",
    "test_steps_are_shortened",
)
_solution(
    "steps-to-a-minimum-follow-the-hessian-uphill",
    "sizes = np.abs(values)\n",
    "sizes = values\n",
    "test_a_minimum_is_found_from_where_the_function_curves_down",
)
_solution(
    "maps-are-pulled-through-themselves",
    "body, x = op.transposed_body if transposed else (o.outputs[0], o.x)",
    "body, x = o.outputs[0], o.x",
    "test_transposes_of_maps_that_are_not_symmetric",
)
_solution(
    "maps-need-not-be-linear",
    "if flow is None or _contains(flow.expr, x):",
    "if flow is None:",
    "test_errors_name_what_was_met_and_what_was_expected",
)
_solution(
    "what-is-left-of-linear-equations-is-not-looked-at",
    "        if not failed.any():\n            return x",
    "        if done:\n            return x",
    "test_a_map_for_which_gradients_do_not_converge",
)
_solution(
    "who-has-most-left-is-blamed-for-another",
    "        sizes[~failed] = -1.0  # others may be on their way yet\n",
    "",
    "test_the_error_of_a_batch_names_the_element_that_has_no_solution",
)
_solution(
    "params-of-a-batch-are-those-of-the-first",
    "wide[p] = named_dummy(p.name, (length, *p.shape), p.dtype)",
    "wide[p] = wide.setdefault(p, p)",
    "test_a_batch_of_roots_is_one_node",
)
_solution(
    "kinks-in-equations-are-not-asked-for",
    "for kink in kinks_in([op.opened.outputs[0]])",
    "for kink in kinks_in([])",
    "test_kinks_where_equations_are_solved_raise",
)

_solution(
    "the-first-time-is-data",
    "nodes = concat([part(times, 0, 1), take(detach(mesh), arange(1, n + 1))])",
    "nodes = take(detach(mesh), arange(0, n + 1))",
    "test_values_and_derivatives_are_near_those_of_the_flow[RK45]",
)
_solution(
    "stages-are-at-the-time-of-the-step",
    "{y: point, time: time + c * h}",
    "{y: point, time: time}",
    "test_values_and_gradients_are_those_of_scipys_steps[RK45]",
)
_solution(
    "times-that-go-down-are-looked-up-as-if-they-went-up",
    "np.searchsorted(direction * nodes, direction * times,",
    "np.searchsorted(nodes, times,",
    "test_times_that_go_down_and_one_time_alone",
)
_solution(
    "meshes-of-a-batch-have-the-first-params",
    "x[place] if lead else x for x, lead in zip(operands, leads, strict=True)",
    "x[(0,) * lead] if lead else x for x, lead in zip(operands, leads, strict=True)",
    "test_a_batch_has_a_mesh_for_each",
)
_solution(
    "one-tangent-is-lost-among-many",
    "narrower = math.sqrt(shape[0]) if self.rows else 1.0",
    "narrower = 1.0",
    "test_each_tangent_is_within_the_tolerance_however_many_there_are",
)
_solution(
    "tangents-do-not-choose-the-steps",
    "    if sensitivities:\n        slopes, z, begin =",
    "    if False:\n        slopes, z, begin =",
    "test_steps_chosen_for_sensitivities_give_them_to_the_tolerance[RK45-forward]",
)
_solution(
    "times-may-be-in-any-order",
    "if not (np.diff(times) * direction >= 0).all():",
    "if False:",
    "test_solutions_that_end_before_the_time",
)

_solution(
    "what-rounding-leaves-of-products-is-a-failure",
    "return np.asarray(_norms(left) <= np.maximum(goal, rounding))",
    "return np.asarray(_norms(left) <= goal)",
    "test_what_rounding_leaves_of_products_is_no_failure",
)

_solution(
    "little-is-left-is-a-root",
    "ended |= (self.idle >= _IDLE) & (size <= 8 * self.eps * self.first)",
    "ended |= size <= 8 * self.eps * self.first",
    "test_a_root_at_0_is_found_to_rounding",
)
_solution(
    "a-slope-that-was-kept-does-for-good",
    "if kept and not parts <= _KEPT * last:",
    "if False:",
    "test_a_slope_of_elsewhere_does_not_tell_that_a_root_is_there",
)
_solution(
    "jumps-are-smooth",
    "kept = near and system.is_smooth",
    "kept = near",
    "test_a_slope_of_elsewhere_does_not_tell_that_a_root_is_there",
)
_solution(
    "selections-are-smooth",
    "if facts.result is float and facts.kinks is None and",
    "if facts.kinks is None and",
    "test_what_is_smooth",
)
_solution(
    "steps-of-one-system-need-not-lessen-what-is-left",
    "while not left <= (1 - _ENOUGH * share) * size or (minimum and not after <= merit):",
    "while minimum and not after <= merit:",
    "test_steps_are_shortened",
)
_solution(
    "hessians-of-one-system-are-positive",
    "if minimum and not kept and not lapack.cholesky(slope)[0, 0] > 0:",
    "if False:",
    "test_saddles_are_refused",
)
_solution(
    "roots-at-0-are-not-tried",
    "if not any(at_zeros[0]):",
    "if False:",
    "test_what_is_0_is_found_from_there[0.001]",
)
_solution(
    "what-floats-raise-on-ends-the-search",
    "found = np.array(self.every(*point.tolist()))\n            except NOT_IN_MATH:",
    "found = np.array(self.every(*point.tolist()))\n            except KeyError:",
    "test_what_floats_raise_on_is_computed_by_arrays",
)
_solution(
    "stages-are-those-of-the-step-before",
    "found: np.ndarray = inverse @ np.array(moves) / h[:, None, None]",
    "found: np.ndarray = inverse @ np.roll(moves, 1, 0) / h[:, None, None]",
    "test_stages_are_looked_for_where_scipy_left_them",
)
_solution(
    "unit-arrays-are-full-of-ones",
    "found = _named([self.number(0)] * costs.elements(shape), shape)",
    "found = _named([self.number(1)] * costs.elements(shape), shape)",
    "test_slopes_of_arrays_by_arrays_are_floats",
)
_solution(
    "parts-of-an-unknown-are-taken-in-the-order-they-are-returned",
    "leaves = leaves_like(output, self.tree)",
    "leaves = leaves_of(output)",
    "test_what_fits_no_structure_says_so",
)
_solution(
    "the-linear-equations-of-a-step-are-not-counted",
    "step += _elements(op.lead, lengths) * (n**3 // 3 + n**2)",
    "step += 0 * n",
    "test_one_step_to_a_solution_is_counted",
)
_solution(
    "what-is-solved-over-tensors-is-the-same-for-all-outside",
    "return [*solve(of, tuple(full), max_steps=max_steps)], [*full, *capture.outer_symbols]",
    "return [*solve(of, tuple(full), max_steps=max_steps)], [*full, *capture.outer_symbols[::-1]]",
    "test_a_fixed_point_is_the_iteration_in_python",
)
_solution(
    "slopes-of-stages-are-in-the-rows-of-others",
    "columns[j].append(unit - a * inner if i == j else -a * inner)",
    "columns[i].append(unit - a * inner if i == j else -a * inner)",
    "test_slopes_of_stages_are_the_derivative_of_what_they_lack",
)
