"""Faults in the layer of Tensors: the engine, writes in place, hooks, modes, transforms, names."""

from __future__ import annotations

from tests.mutants.rows import Family

_engine = Family("engine")
_inplace = Family("in place")
_hooks = Family("hooks")
_modes = Family("modes")
_records = Family("records")
_transforms = Family("transforms")
_dtypes = Family("dtypes")
_operations = Family("operations")
_optimisers = Family("optimisers")
_arguments = Family("arguments")
FAMILIES = (
    *(_engine, _inplace, _hooks, _modes, _records),
    *(_transforms, _dtypes, _operations, _optimisers, _arguments),
)

# The engine ---------------------------------------------------------------------------------------

_engine(
    "a-node-runs-before-its-consumers",
    "                deps[edge] = n + 1\n    return deps",
    "                deps[edge] = n\n    return deps",
    "test_a_node_waits_for_its_consumers",
)
_engine(
    "the-oldest-comes-first",
    "                    heappush(heap, (-edge.serial, edge))",
    "                    heappush(heap, (edge.serial, edge))",
    "test_most_recent_first",
)
_engine(
    "a-second-cotangent-replaces-the-first",
    "            arrived[node] = g if known is None else self.add(known, g, node)",
    "            arrived[node] = g",
    "test_outputs_share_a_grad_fn",
    "test_where_a_pass_starts_and_ends",
    "test_roots_that_depend_on_each_other",
)
_engine(
    "small-cotangents-are-added-twice",
    "                    arrived[edge] = known + gi",
    "                    arrived[edge] = known + gi + gi",
    "test_diamond",
)
_engine(
    "grad-is-replaced",
    '            np.add(known._array, g, out=known._array, casting="unsafe")',
    '            np.copyto(known._array, g, casting="unsafe")',
    "test_accumulation_is_in_place",
)
_engine(
    "accumulation-is-no-change",
    "            counter(known)[0] += 1\n            if known._edge is not None",
    "            if known._edge is not None",
    "test_accumulation_is_in_place",
    "test_every_in_place_operation_counts_once",
    "test_accumulation_into_a_view",
)
_engine(
    "create-graph-accumulates-in-place",
    "                x._grad = known + g\n            unfollowed",
    "                x._grad = known.add_(g)\n            unfollowed",
    "test_create_graph_replaces_grad",
)
_engine(
    "saved-values-are-not-freed",
    "        if self.saved:\n            self.saved = None",
    "        if self.saved is None:\n            self.saved = None",
    "test_second_backward_is_refused",
    "test_memory_is_kept_while_it_is_needed",
)
_engine(
    "gradients-share-memory",
    "if clone or id(array) in self.taken or not _own(array, x._array):",
    "if clone:",
    "test_grads_do_not_alias_each_other",
    "test_grad_does_not_alias_the_gradient_argument",
)
# Versions, views, writes in place -----------------------------------------------------------------

_inplace(
    "versions-are-not-counted",
    "    x._array[...] = out._array\n    counter(x)[0] += 1\n",
    "    x._array[...] = out._array\n",
    "test_every_in_place_operation_counts_once",
)
_inplace(
    "versions-are-not-compared",
    "            if check[i][0] != check[i + 1]:",
    "            if check[i][0] < check[i + 1]:",
    "test_saved_inputs_are_checked",
    "test_saved_results_are_checked",
)
_inplace(
    "views-have-versions-of-their-own",
    "    out._v = counter(of)\n    out._inference, out._special",
    "    out._v = [0]\n    out._inference, out._special",
    "test_versions_are_shared",
)
_inplace(
    "views-keep-their-history",
    "                view._rg = view._stale = view._special = True",
    "                view._rg = view._special = True",
    "test_writing_through_every_view",
    "test_every_view_sees_a_write_to_the_base",
)
_inplace(
    "leaves-are-written-to",
    "        if x.is_leaf and not isinstance(x._edge, Nowhere):\n            raise",
    "        if x.is_leaf and isinstance(x._edge, Nowhere):\n            raise",
    "test_leaf_that_requires_grad",
)
_inplace(
    "elements-that-share-a-place-are-written-to",
    "if any(s == 0 and n > 1 for s, n in zip(array.strides, array.shape, strict=True)):",
    "if any(s == 0 and n > 99 for s, n in zip(array.strides, array.shape, strict=True)):",
    "test_expanded_memory",
    "test_rules_inplace.py::test_every_view_sees_a_write_to_the_base",
)

# Hooks --------------------------------------------------------------------------------------------

_hooks(
    "what-a-hook-returns-is-dropped",
    "                out[nr] = self.taken_back(_replaced(hook(gradient), gradient))",
    "                _replaced(hook(gradient), gradient)",
    "test_hook_replaces_the_gradient",
)
_hooks(
    "hooks-run-backwards",
    "            for hook in list(hooks.values()):\n                if out[nr] is None:",
    "            for hook in list(hooks.values())[::-1]:\n                if out[nr] is None:",
    "test_hooks_run_in_order_of_registration",
)
_hooks(
    "prehooks-of-nodes-do-not-count",
    "                out = [None if g is None else self.taken_back(g) for g in replacements]\n"
    "        return out\n\n    def retained",
    "                pass\n        return out\n\n    def retained",
    "test_node_prehook_changes_the_cotangent",
)

# Modes --------------------------------------------------------------------------------------------

_modes(
    "what-an-interrupt-left-on-stays-on",
    "while (below := value.below) is not None and value.by is not self:",
    "while (below := value.below) is not None and False:",
    "test_a_mode_that_an_interrupt_left_on_ends_with_the_next_one_outside",
)
_modes(
    "nothing-is-contained",
    "return copy_context().run(function, *args, **kwargs)",
    "return function(*args, **kwargs)",
    "test_what_enters_contexts_by_itself_leaves_none_on",
)
_modes(
    "no-grad-records",
    "    recorded = recorded and mode.grad and not (volatile or mode.inference)",
    "    recorded = recorded and not (volatile or mode.inference)",
    "test_results_under_no_grad_are_leaves",
)
_modes(
    "inference-tensors-are-saved",
    "    if x._inference:\n        raise RuntimeError(\n"
    '            "Inference tensors cannot be saved for backward.',
    "    if x._inference is None:\n        raise RuntimeError(\n"
    '            "Inference tensors cannot be saved for backward.',
    "test_inference_tensors_cannot_be_saved",
)

# Records ------------------------------------------------------------------------------------------

_records(
    "every-output-is-the-first",
    "    node.nrs = tuple([x._nr for x in recorded]) if numbered else None",
    "    node.nrs = None",
    "test_output_index_in_next_functions",
    "test_hooks_on_one_of_several_outputs",
)
_records(
    "results-are-restored-as-their-first",
    "        _numbered(out, place - arity)",
    "        _numbered(out, 0)",
    "test_op_table.py::test_row[example: linalg: qr R (3, 3)]",
    "test_op_table.py::test_row[example: linalg: svdvals (3, 3)]",
)
_records(
    "what-unpacks-has-any-shape",
    "        if array.shape != self.shape:",
    "        if array.ndim != len(self.shape):",
    "test_unpack_must_return_a_tensor_of_the_shape",
)

_records(
    "hooks-are-lost-in-pickles",
    "any(extras.tensor_hooks.values()) or extras.prehooks or extras.posthooks",
    "extras.prehooks or extras.posthooks",
    "test_hooks_are_refused_and_so_is_deepcopy_of_results",
)

# Transforms ---------------------------------------------------------------------------------------

_transforms(
    "arguments-are-chosen-from-the-end",
    "        places.append(i % len(args))",
    "        places.append((len(args) - 1 - i) % len(args))",
    "test_values_of_transforms",
)

_transforms(
    "batches-come-out-where-they-went-in",
    "moved = [y.movedim(0, d) if d else y for y, d in zip(results, moves, strict=True)]",
    "moved = results",
    "test_values_of_transforms",
)
_transforms(
    "batches-go-in-by-the-first-axis",
    "    return x.movedim(dim, 0) if dim else x",
    "    return x",
    "test_values_of_transforms",
)
_transforms(
    "tangents-change-places",
    "    lambda ys, xs, ts: derivative.jvp(ys, xs, ts),",
    "    lambda ys, xs, ts: derivative.jvp(ys, xs, ts[::-1]),",
    "test_values_of_transforms",
)
_transforms(
    "blocks-of-a-hessian-change-places",
    "    lambda ys, xs, _: [d for g in gradients(ys, xs) for d in _jacobians(g, xs, 1)],",
    "    lambda ys, xs, _: [d for g in gradients(ys, xs) for d in _jacobians(g, xs[::-1], 1)],",
    "test_values_of_products_and_matrices",
)
_transforms(
    "hessian-products-are-twice-as-large",
    "    lambda ys, xs, vs: derivative.jvp(gradients(ys, xs), xs, vs),",
    "    lambda ys, xs, vs: derivative.jvp(gradients(ys, xs), xs, [2 * v for v in vs]),",
    "test_values_of_products_and_matrices",
)

# Dtypes -------------------------------------------------------------------------------------------

_dtypes(
    "numbers-raise-the-width",
    '    if higher.kind == "f":\n        return higher\n',
    '    if higher.kind == "f":\n        return wider(higher, lower)\n',
    "test_python_numbers_raise_only_the_category",
    "test_0d_tensors_raise_only_the_category",
)
_dtypes(
    "reals-are-written-into-integers",
    "    return order.index(a) <= order.index(b)",
    "    return order.index(a) >= 0",
    "test_can_cast",
)

_dtypes(
    "ranges-are-rounded-down",
    "    n = math.ceil((b - a) / h)\n    if kind",
    "    n = math.floor((b - a) / h)\n    if kind",
    "test_arange_values",
)
_dtypes(
    "ranges-are-counted-from-one-end",
    "    return np.where(i < n // 2, up, down).astype(kind)",
    "    return up.astype(kind)",
    "test_op_table.py::test_row[value: linspace]",
)

# Operations ---------------------------------------------------------------------------------------

_operations(
    "half-precision-is-summed-in-half",
    "        operands = [_single(a) for a in arrays] if self.half else arrays",
    "        operands = arrays",
    "test_op_table.py::test_row[value: reducing: half by columns]",
)
_operations(
    "huber-with-the-slope-of-smooth-l1",
    "    return sd.where(sd.abs(d) < delta, d * d / 2, delta * (sd.abs(d) - delta / 2))",
    "    return sd.where(sd.abs(d) < delta, d * d / 2, sd.abs(d) - delta / 2)",
    "test_op_table.py::test_row[example: F.huber_loss]",
)
_operations(
    "weighted-means-divide-by-the-number",
    '    return sd.sum(x * w) / sd.sum(w) if reduction == "mean" else _reduced(x * w, reduction)',
    "    return _reduced(x * w, reduction)",
    "test_op_table.py::test_row[example: F.huber_loss weighted]",
    "test_op_table.py::test_row[example: F.mse_loss weighted]",
)
_operations(
    "bce-without-its-bound",
    "    bounded = t * sd.maximum(sd.log(detach(p)), -100)",
    "    bounded = t * sd.log(detach(p))",
    "test_probabilities_0_and_1",
    "test_targets_at_probabilities_0_and_1_have_the_clamped_slope",
)

# Optimisers ---------------------------------------------------------------------------------------

_optimisers(
    "dampening-is-momentum",
    '                b.mul_(momentum).add_(g, alpha=1 - group["dampening"])',
    "                b.mul_(momentum).add_(g, alpha=1 - momentum)",
    "test_optim.py::test_steps",
)
_optimisers(
    "weights-decay-upwards",
    '            g = g.add(p, alpha=group["weight_decay"])\n        if momentum != 0:',
    '            g = g.add(p, alpha=-group["weight_decay"])\n        if momentum != 0:',
    "test_optim.py::test_steps",
)
_optimisers(
    "steps-are-recorded",
    'with Switch(grad=bool(self.defaults["differentiable"])):',
    "with Switch(grad=True):",
    "test_a_step_is_in_place",
)
_optimisers(
    "means-start-at-zero",
    "        size = lr / (1 - beta1**t)",
    "        size = lr",
    "test_optim.py::test_steps",
)

_dtypes(
    "gathered-truth-values-are-integers",
    "            known = op.promotion is None or self.of.ys[0].dtype is not float\n",
    '            known = given[0].dtype.kind in "iu"\n',
    "test_selections_keep_every_dtype[gather]",
    "test_of_truth_values[addr]",
)
_dtypes(
    "means-of-integers-are-cut-off",
    "            known = op.promotion is None or self.of.ys[0].dtype is not float\n",
    "            known = True\n",
    "test_a_real_formula_of_integers_is_not_cut_off",
)
_operations(
    "a-zero-is-left-out-of-norms-of-negative-order",
    "0 * x if p > 0 else math.inf + 0 * x",
    "0 * x",
    "test_norms_of_negative_order_are_0_beside_a_zero",
)
_operations(
    "logits-of-class-1-lose-their-tail",
    "    return _tail(x) + ((1 - t) * np.maximum(x, 0) - t * np.minimum(x, 0))",
    "    return _tail(x) + np.maximum(x, 0) - t * x",
    "test_logits_keep_their_tails",
)
_transforms(
    "traced-sums-of-truth-values-count-on",
    '(wide or (layout.dtype.kind == "b" and y.dtype is not bool))',
    "wide",
    "test_sums_of_truth_values_are_none_inside_of_traces",
)
_transforms(
    "programs-are-tried-on-made-up-numbers",
    "tuple(map(_new, ys, op.kinds)) if op.kinds and not op.pointwise else None",
    "None",
    "test_batches_of_derivatives_by_vectors[eigenvectors]",
    "test_traces_run_no_loop_for_made_up_numbers",
)

# Arguments that are refused -----------------------------------------------------------------------

_arguments(
    "an-exception-of-the-user-is-explained",
    "            if _PROTOCOL.fullmatch(code.co_name) is None:\n                return None",
    "            if _PROTOCOL.fullmatch(code.co_name) is None:\n                pass",
    "test_exceptions_of_the_users_functions_stay",
)
_arguments(
    "a-message-that-says-it-is-replaced",
    "    return re.search(said, text) is not None",
    "    return False",
    "test_parameters_as_a_vector",
)
_arguments(
    "an-inner-function-is-named",
    "        return of_argument[1] == name",
    "        return True",
    "test_an_inner_function_leaves_the_name_to_the_outer_one",
)
_arguments(
    "a-method-counts-self",
    "(position {place - method})",
    "(position {place})",
    "test_the_argument_is_named_in_pytorchs_words",
)
_arguments(
    "a-warning-is-one-of-the-frame",
    "        level, frame = level + 1, frame.f_back\n    return level\n\n\ndef refuse",
    "        level, frame = 2, frame.f_back\n    return level\n\n\ndef refuse",
    "test_a_warning_is_one_of_the_users_line",
)
_arguments(
    "two-numbers-are-shifted-without-end",
    "            x = np.asarray(x, kind)  # of two numbers",
    "            x = x  # of two numbers",
    "test_shifts_of_numbers_stay_in_64_bits",
)
_transforms(
    "traced-divisors-are-not-looked-at",
    "            raise type(error)(*error.args)\n",
    "            pass\n",
    "test_traced_divisions_of_integers",
)
_operations(
    "quotients-of-integers-are-rounded-as-real-ones",
    "    if a.dtype is float or b.dtype is float:\n        return sd.trunc(a / b)\n",
    "    if True:\n        return sd.trunc(a / b)\n",
    "test_traced_divisions_of_integers",
)
_operations(
    "operands-that-are-no-numbers-are-taken",
    "            arrays.append(x if x.__class__ in _NUMBERS else constant(x))",
    "            arrays.append(x)",
    "test_conversions.py::test_what_is_no_number_is_refused[None-threshold]",
)
