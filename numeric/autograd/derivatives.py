"""``backward`` and ``grad``: they check the request, and the engine runs it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from numeric.autograd.graph import GradientEdge
from numeric.eager.engine import NOT_RECORDED, run
from numeric.eager.recording import follow, unfollowed
from numeric.eager.tensor import Size, Tensor, edge_of, method, wrap
from numeric.modes import Switch
from symdiff.contexts import contained

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# Weights of results, and the ends of a derivative: tensors or edges.
Weights: TypeAlias = "Tensor | Iterable[Tensor | None] | None"
End: TypeAlias = "Tensor | GradientEdge"


def backward(
    tensors: Tensor | Iterable[Tensor],
    grad_tensors: Weights = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Weights = None,
    inputs: Tensor | Iterable[Tensor] | None = None,
) -> None:
    """Add the derivatives of ``tensors``, weighted and summed, to the ``grad`` of the leaves.

    ``leaf.grad += sum_i <grad_tensors_i, d tensors_i / d leaf>``.

    Args:
        tensors: one tensor or a sequence.
        grad_tensors: weights with the shapes of the tensors; None is 1, for tensors of one element.
        retain_graph: keep the saved values of operations for another pass; by default
            ``create_graph``.
        create_graph: record the pass, so that the gradients can be differentiated.
        grad_variables: an old name of ``grad_tensors``.
        inputs: the tensors whose ``grad`` is changed; None for all leaves.

    Raises RuntimeError for a tensor that does not require gradients, and for weights that are
    missing or have another shape.  Raises it also if saved values were freed or changed in place.

    >>> import numeric as torch
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> torch.autograd.backward((x * x).sum())
    >>> x.grad
    tensor([2., 4.])
    """
    if grad_variables is not None:
        if grad_tensors is not None:
            raise RuntimeError(
                "'grad_tensors' and 'grad_variables' (deprecated) arguments both passed to "
                "backward(). Please only use 'grad_tensors'."
            )
        grad_tensors = grad_variables
    outputs = _tensors(tensors)
    targets = None
    if inputs is not None:
        wanted = _tensors(inputs)
        if not wanted:
            raise RuntimeError("'inputs' argument to backward() cannot be empty.")
    seeds = _seeds(outputs, grad_tensors, create_graph)
    roots = _roots(outputs)  # before any change of state, because it may raise
    if inputs is not None:
        if not all(x._rg for x in wanted):
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        targets = [_target(x) for x in wanted]
        for x in wanted:
            if not x.is_leaf:
                x.retain_grad()
    run(
        roots,
        seeds,
        retain=create_graph if retain_graph is None else retain_graph,
        create=create_graph,
        targets=targets,
    )


@method("backward")
def _backward(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensor | Iterable[Tensor] | None = None,
) -> None:
    """Add the derivatives of the tensor, weighted by ``gradient``, to the ``grad`` of the leaves.

    See ``autograd.backward``.
    """
    weights = None if gradient is None else (gradient,)
    backward(self, weights, retain_graph, create_graph, inputs=inputs)


def grad(
    outputs: Tensor | Iterable[Tensor],
    inputs: End | Iterable[End],
    grad_outputs: Weights = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """Return a tuple of the derivatives of ``outputs``, weighted and summed, by each input.

    ``sum_i <grad_outputs_i, d outputs_i / d input>``; no ``grad`` changes.

    Args:
        outputs: one tensor or a sequence.
        inputs: one tensor or a sequence, leaves or intermediate results.
        grad_outputs: weights as for ``backward``.
        retain_graph: as for ``backward``.
        create_graph: as for ``backward``.
        allow_unused: return None for inputs on which the outputs do not depend, instead of raising.
        is_grads_batched: weights and results have an additional leading axis.
        materialize_grads: return zeros instead of None; implies ``allow_unused``.

    Raises RuntimeError for inputs that require no gradients or are unused, and as ``backward``;
    ValueError for ``materialize_grads`` with ``allow_unused=False``.

    >>> import numeric as torch
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> torch.autograd.grad(x * x, x)
    (tensor(6.),)
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, "
            "but got: allow_unused=False."
        )
    ys, xs = _tensors(outputs), _ends(inputs)
    if not xs:
        raise RuntimeError("grad requires non-empty inputs.")
    retain = create_graph if retain_graph is None else retain_graph
    if is_grads_batched:
        return _batched(ys, xs, grad_outputs, retain, create_graph, allow_unused, materialize_grads)
    seeds = _seeds(ys, grad_outputs, create_graph)
    targets = [_target(x) for x in xs]
    gradients = run(
        _roots(ys),
        seeds,
        retain=retain,
        create=create_graph,
        targets=targets,
        accumulate=False,
    )
    # Seeds and results stay alive until the return, so that ids identify their arrays.
    taken = {id(seed._array) for seed in seeds}
    return tuple(
        _result(x, gradients.get(target), create_graph, allow_unused, materialize_grads, taken)
        for x, target in zip(xs, targets, strict=True)
    )


def _result(
    x: Any, g: Any, create: bool, allow_unused: bool | None, materialize: bool, taken: set[int]
) -> Tensor | None:
    """Return the gradient of ``x`` as a Tensor with its own memory.

    ``taken`` has the ids of arrays that seeds and earlier results use.
    """
    if g is None:
        if materialize and not isinstance(x, Tensor):
            raise RuntimeError(
                "materialize_grads cannot be used when the given input is a GradientEdge that the "
                "outputs do not depend on, because its shape is not known; pass the tensor"
            )
        if materialize:
            zeros = wrap(np.zeros_like(x._array))
            return zeros.requires_grad_() if create else zeros
        if not allow_unused:
            raise RuntimeError(
                "One of the differentiated Tensors appears to not have been used in the graph. Set "
                "allow_unused=True if this is the desired behavior."
            )
        return None
    if create:
        return unfollowed(g)
    array = np.asarray(g)
    # A user may write to the result: copy what is shared with a seed, another result or a base.
    if id(array) in taken or array.base is not None or not array.flags.writeable:
        array = np.array(array)
    taken.add(id(array))
    t = wrap(array)
    t._no_expr = NOT_RECORDED
    return t


@contained
def _batched(
    ys: Sequence[Tensor],
    xs: Sequence[End],
    grad_outputs: Weights,
    retain: bool,
    create: bool,
    allow_unused: bool | None,
    materialize: bool,
) -> tuple[Any, ...]:
    """Run ``grad`` once for each weight along the leading axis, and stack the results."""
    weights = _listed(grad_outputs, len(ys))
    for i, (w, y) in enumerate(zip(weights, ys, strict=True)):
        if w is None or w._array.shape[1:] != y._array.shape or not w.ndim:
            got = None if w is None else Size(w._array.shape)
            raise RuntimeError(
                f"If `is_grads_batched=True`, we interpret the first dimension of each "
                f"grad_output as the batch dimension. Mismatch in shape: grad_output[{i}] has a "
                f"shape of {got} and output[{i}] has a shape of {y.shape}."
            )
    lengths = {len(w._array) for w in weights}
    if len(lengths) != 1:
        raise RuntimeError(f"the weights have different batch lengths {sorted(lengths)}")
    n = lengths.pop()
    rows = [
        grad(
            ys,
            xs,
            [w[i] for w in weights],
            retain or i + 1 < n,
            create,
            allow_unused,
            materialize_grads=materialize,
        )
        for i in range(n)
    ]
    from numeric.ops.rearranging import stack

    with Switch(grad=create):
        return tuple(
            None if column[0] is None else stack(column) for column in zip(*rows, strict=True)
        )


# Arguments --------------------------------------------------------------------------------------


def _tensors(argument: Tensor | Iterable[Any]) -> list[Tensor]:
    tensors = [argument] if isinstance(argument, Tensor) else list(argument)
    for x in tensors:
        if not isinstance(x, Tensor):
            raise TypeError(f"expected tensors, got an element of type {type(x).__name__}")
    return tensors


def _ends(argument: End | Iterable[End]) -> list[End]:
    """Return a list of tensors, or of edges by ``graph.get_gradient_edge`` in their place."""
    if isinstance(argument, GradientEdge):
        return [argument]
    if isinstance(argument, Tensor):
        return [argument]
    ends = list(argument)
    _tensors([x for x in ends if not isinstance(x, GradientEdge)])
    return ends


def _roots(outputs: Sequence[Tensor]) -> list[tuple[Any, int]]:
    return [(edge_of(y), y._nr) for y in outputs]


def _target(x: End) -> tuple[Any, int]:
    if isinstance(x, GradientEdge):
        return getattr(x.node, "_call", x.node), x.output_nr
    if not x._rg:
        raise RuntimeError("One of the differentiated Tensors does not require grad")
    return edge_of(x), x._nr


def _listed(weights: Weights, n: int) -> list[Any]:
    """Return one weight, or None, for each of ``n`` tensors."""
    if weights is None:
        return [None] * n
    listed = [weights] if isinstance(weights, Tensor) else list(weights)
    if len(listed) != n:
        raise RuntimeError(f"got {n} tensors and {len(listed)} gradients")
    return listed


def _seeds(outputs: Sequence[Tensor], weights: Weights, create: bool) -> list[Tensor]:
    """Return the cotangents of the outputs that start the pass, after checks."""
    seeds = []
    for i, (y, w) in enumerate(zip(outputs, _listed(weights, len(outputs)), strict=True)):
        if w is not None and not isinstance(w, Tensor):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(w).__name__}")
        if w is not None and w._array.shape != y._array.shape:
            raise RuntimeError(
                f"Mismatch in shape: grad_output[{i}] has a shape of {w.shape} and output[{i}] has "
                f"a shape of {y.shape}."
            )
        if w is None and y._rg:
            if y._array.size != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            seed = follow(wrap(np.ones_like(y._array)), 1)
        elif w is None:
            seed = y  # any tensor: the loop below raises for it
        elif w._array.dtype is y._array.dtype:
            seed = w
        else:
            seed = w.to(y.dtype) if create else wrap(w._array.astype(y._array.dtype))
        seeds.append(seed)
    for i, y in enumerate(outputs):
        if not y._rg:
            raise RuntimeError(
                f"element {i} of tensors does not require grad and does not have a grad_fn"
            )
    return seeds
