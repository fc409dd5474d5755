"""The backward pass: propagate cotangents from roots to leaves in PyTorch's order.

A node runs when all its consumers have run.  Among the ready nodes, the most recently recorded one
runs first, and leaves run before any node.  Cotangents are arrays, or Tensors if the pass itself is
recorded.  A cotangent that came through a selection is *marked*: its exact zeros stay zeros.

Nodes get serial numbers when they are recorded, so the numbers decrease along every edge.  The
order is therefore topological, and one sweep from operands to consumers finds the nodes that lead
to a target.

The engine passes arrays on without copies, so one array may be the cotangent of several records.
Code that changes an array in place, or hands it to the user, must know that no other record uses
it.  ``owned`` has the records whose cotangent is a sum created here.  ``taken`` has the arrays that
a user holds as a ``grad``, in a hook or as a seed.
"""

from __future__ import annotations

import warnings
import weakref
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from numeric.eager.inplace import changed
from numeric.eager.record import AccumulateGrad, Nowhere
from numeric.eager.recorded_backward import pull_asked
from numeric.eager.recording import cast, follow, unfollowed
from numeric.eager.refusals import refuse
from numeric.eager.tensor import Tensor, counter, wrap
from numeric.modes import Switch, current
from numeric.warnings_off import SILENCE, set_noise
from symdiff.contexts import contained
from symdiff.locks import fork_safe_lock

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numeric.eager.record import Edge, Node

# Protects the sum into a leaf's ``grad``: several threads may run backward at once.
_accumulating = fork_safe_lock()

# Below this number of elements a new sum is cheaper than one in place.
_SMALL = 4096

NOT_RECORDED = (
    "this gradient has no expression, as the backward pass was not recorded; "
    "call backward(create_graph=True) or autograd.grad(..., create_graph=True)"
)

Root: TypeAlias = "tuple[Edge, int]"


@contained
def run(
    roots: Sequence[Root],
    seeds: Sequence[Tensor],
    *,
    retain: bool,
    create: bool,
    targets: Sequence[Root] | None = None,
    accumulate: bool = True,
) -> dict[Root, Any]:
    """Run the backward pass, and return the cotangents of ``targets`` unless it accumulates.

    Args:
        roots: the records and output numbers at the start.
        seeds: the cotangents of the roots.
        retain: keep the saved values of nodes.
        create: record the pass.
        targets: records and output numbers to which the pass is limited; None for all leaves.
        accumulate: add to the ``grad`` of leaves.
    """
    if current().tracing is not None:
        refuse("gradients are computed inside")
    task = _Task(retain, create, _reachable(roots))
    if create:
        seeds = [follow(seed) for seed in seeds]
    if targets is not None:
        task.limit([node for node, _ in roots], targets, capture=not accumulate)
    # ``create`` alone decides whether the pass is recorded, even under no_grad.
    Switch(grad=create).__enter__()  # until the call ends
    set_noise(SILENCE)
    for (node, nr), seed in zip(roots, seeds, strict=True):
        task.taken[id(seed._array)] = seed._array
        task.give(node, nr, seed if create else seed._array, False)
    for node, _ in roots:
        task.arrive(node)
    task.loop()
    return task.captured


def _reachable(roots: Sequence[Root]) -> dict[Edge, int]:
    """Return the number of edges to each record that the roots depend on; a root counts one more.

    It visits the full record in every pass: local names of bound methods save time.
    """
    deps: dict[Edge, int] = {}
    for node, _ in roots:
        deps[node] = deps.get(node, 0) + 1
    stack = list(deps)
    get, pop, push = deps.get, stack.pop, stack.append
    while stack:
        for edge in pop().edges:
            n = get(edge)
            if n is None:
                deps[edge] = 1
                push(edge)
            else:
                deps[edge] = n + 1
    return deps


class _Task:
    """The state of one run: the cotangents that arrived, and the nodes that are ready."""

    def __init__(self, retain: bool, create: bool, deps: dict[Edge, int]) -> None:
        self.retain, self.create, self.deps = retain, create, deps
        self.arrived: dict[Edge, Any] = {}  # for nodes with several results a list by number
        self.marked: set[Edge] = set()
        self.owned: set[Edge] = set()
        self.heap: list[tuple[int, Node]] = []  # (-serial, node): the most recent first
        self.captured: dict[Root, Any] = {}
        # With targets: the records that run, and the outputs whose cotangents are captured.
        self.needed: set[Edge] | None = None
        self.wanted: dict[Edge, list[int]] = {}
        # Arrays that the user holds by now, by id; the references keep the ids unique.
        self.taken: dict[int, np.ndarray] = {}
        self.grads: set[int] = set()  # the ids of those that became a ``grad``

    def limit(self, roots: Iterable[Edge], targets: Sequence[Root], *, capture: bool) -> None:
        """Limit the run to the nodes between the roots and the targets."""
        goals = {node for node, _ in targets}
        needed: set[Edge] = set()
        nodes = sorted((n for n in self.deps if not n.is_leaf), key=lambda n: n.serial)
        for node in nodes:  # operands before consumers
            if any(edge in needed or edge in goals for edge in node.edges):
                needed.add(node)
        if capture:
            for end, nr in targets:
                self.wanted.setdefault(end, []).append(nr)
        else:
            needed |= goals  # a node as a goal runs too, and stores the ``grad`` of its result
        self.needed = needed
        for root in roots:  # the hooks of roots run in any case
            if root not in needed:
                self.wanted.setdefault(root, [])

    # Arrivals ---------------------------------------------------------------------------------

    def arrive(self, node: Edge) -> None:
        """Count one more consumer of the node as done, and schedule the node after the last."""
        remaining = self.deps[node] - 1
        self.deps[node] = remaining
        if not remaining:
            if self.needed is not None and node not in self.needed and node not in self.wanted:
                # The node leads to no target: drop its cotangent now to save memory.
                self.arrived.pop(node, None)
            elif node.is_leaf:
                self.leaf(node)
            else:
                heappush(self.heap, (-node.serial, node))

    def give(self, node: Edge, nr: int, g: Any, marked: bool) -> None:
        """Add a cotangent to the one that arrived at an output before.

        A sum is marked only if all its terms are, as in formulas: zeros of an unmarked term are not
        exact.  For a node with several results one marked term is enough.
        """
        arrived = self.arrived
        if node.outputs == 1:
            known = arrived.get(node)
            if not marked:
                self.marked.discard(node)
            elif known is None:
                self.marked.add(node)
            arrived[node] = g if known is None else self.add(known, g, node)
        else:
            if marked:
                self.marked.add(node)
            slots = arrived.setdefault(node, [None] * node.outputs)
            known = slots[nr]
            slots[nr] = g if known is None else known + g

    def add(self, known: Any, g: Any, node: Edge) -> Any:
        """The sum of two cotangents; in place where the first is a sum of our own."""
        if self.create or known.size < _SMALL:
            return known + g
        if node in self.owned and known.flags.writeable:
            return np.add(known, g, out=known)
        self.owned.add(node)
        return np.add(known, g)

    # Nodes ------------------------------------------------------------------------------------

    def loop(self) -> None:
        """Run what is ready until nothing is.

        The common node takes its short way in here, as a call for each would be a tenth of its
        time: one result, no hooks, nothing recorded, no targets.  ``step`` does the same for all
        others, at length; what both do must agree (so ``step`` says what this is).
        """
        heap, arrived, deps, marked = self.heap, self.arrived, self.deps, self.marked
        retain = self.retain
        careful = self.create or self.needed is not None or current().anomaly
        # The only ready node, where there is one: in a chain of operations none goes through the
        # heap.  While this is a node the heap is empty, or the order would be another one.
        ready: Node | None = None
        marks: Sequence[bool] | None
        while True:
            if ready is not None:
                node, ready = ready, None
            elif heap:
                node = heappop(heap)[1]
            else:
                return
            g = arrived.pop(node, None)
            pullback = node.pullback
            if careful or g is None or node.extras is not None or pullback is None:
                self.step(node, g)
                continue
            if pullback.clean and not (marked and node in marked):
                # As ``node.pull`` and ``node.free``.  Cotangents of uniform elementwise operations
                # have the right shape and dtype by themselves, and take no lengths.
                saved = node.saved
                if saved:
                    # As ``node.values``: mostly one or two values are saved, whose versions are
                    # compared here; whatever is not as it was is left to that, and raises.
                    check = node.check
                    if check[0][0] != check[1] or (
                        len(check) > 2 and (check[2][0] != check[3] or len(check) > 4)
                    ):
                        node.values()
                    gs = pullback.function(*saved, g, None)
                    if not retain:
                        node.saved = None
                elif saved is None:
                    node.values()
                else:
                    gs = pullback.function(g, None)
                marks = pullback.marks
            else:
                if node.outputs != 1:
                    self.step(node, g)
                    continue
                gs, marks = node.pull(g, node in marked)
                if not retain:
                    node.free()
            if marks is not None or node.nrs is not None:
                self.spread(node, gs, marks)
                continue
            # As ``give`` and ``arrive``, for edges without marks to nodes with one result.
            for edge, gi in zip(node.edges, gs):  # noqa: B905  # ``strict`` costs time
                known = arrived.get(edge)
                if known is None:
                    arrived[edge] = gi
                else:
                    if marked:
                        marked.discard(edge)
                    arrived[edge] = known + gi if known.size < _SMALL else self.add(known, gi, edge)
                left = deps[edge] - 1
                if left:
                    deps[edge] = left
                elif edge.is_leaf:
                    self.leaf(edge)
                elif ready is None and not heap:
                    ready = edge
                else:  # a second one: the heap decides between them
                    heappush(heap, (-edge.serial, edge))
                    if ready is not None:
                        heappush(heap, (-ready.serial, ready))
                        ready = None

    def spread(self, node: Node, gs: Sequence[Any], marks: Sequence[bool] | None) -> None:
        """Pass the cotangents of a node's operands on; None is a zero without an array."""
        nrs = node.nrs
        for k, edge in enumerate(node.edges):
            if gs[k] is not None:
                self.give(edge, nrs[k] if nrs else 0, gs[k], marks is not None and marks[k])
            self.arrive(edge)

    def step(self, node: Node, g: Any) -> None:
        """Run one node with hooks, captures, and all other rare features.

        The order of events is PyTorch's: capture the wanted cotangents, run the hooks of the
        results, ``retain_grad``, prehooks, the pullback, and posthooks.  A node that leads to no
        target passes nothing on; it runs for its hooks, or because it is a target itself.
        """
        many = node.outputs > 1
        gs = (g or [None] * node.outputs) if many else [g]
        needed = self.needed is None or node in self.needed
        for nr in self.wanted.get(node, ()):
            self.captured[node, nr] = gs[nr]
        if node.extras is not None:
            gs = self.hooked(node, gs)
            if not needed:  # hooks change a captured cotangent only at the end of the pass
                for nr in self.wanted.get(node, ()):
                    self.captured[node, nr] = gs[nr]
        if node.extras is not None:
            self.retained(node, gs)
        if not needed:
            return
        if node.extras is not None:
            gs = self.prepared(node, gs)
        marks = None
        # Without any cotangent the results are None; a user's backward runs anyway.
        nothing = all(g is None for g in gs) and not node.foreign
        if many and not (node.partial or nothing):
            gs = self.filled(node, gs)
        try:
            if nothing:
                node.values()  # raise for freed or changed saved values all the same
                out: Sequence[Any] = [None] * len(node.edges)
            elif node.foreign:
                out = self.called(node, gs)
            else:
                out, marks = self.pulled(node, gs)
        except Exception:
            _located(node)
            raise
        if current().anomaly and current().nan:
            _no_nan(node, out)
        if not self.retain:
            node.free()
        if node.extras is not None and node.extras.posthooks:
            if self.needed is not None and not node.foreign:
                asked = [edge in self.needed or edge in self.wanted for edge in node.edges]
                out = [g if a else None for g, a in zip(out, asked, strict=True)]
            out = self.posted(node, out, gs)
        self.spread(node, out, marks)

    def pulled(self, node: Node, gs: Sequence[Any]) -> tuple[Sequence[Any], Sequence[bool] | None]:
        """Return the cotangents of the edges, None for edges to no target, and their marks."""
        marked = node in self.marked
        if self.needed is not None:
            asked = [edge in self.needed or edge in self.wanted for edge in node.edges]
            if not all(asked):
                results = pull_asked(node, gs, marked, asked, self.create)
                if results is not None:
                    return results
        if self.create:
            return node.pull_recorded(gs, marked)
        return node.pull(gs if node.outputs > 1 else gs[0], marked)

    def called(self, node: Any, gs: Sequence[Any]) -> list[Any]:
        """Call a user's backward, which receives Tensors and may keep any of them.

        Weak references show which of them it keeps: the user holds those arrays from then on.
        """
        if self.create:
            out: list[Any] = node.called([self.apart(g) for g in gs])
            self.taken.update((id(t._array), t._array) for t in out if t is not None)
            return out
        shown = [None if g is None else wrap(self.apart(g)) for g in gs]
        refs = []
        for t in shown:
            if t is not None:
                t._no_expr = NOT_RECORDED
                refs.append(weakref.ref(t))
        # Return views, so that no code takes their memory as its own.
        out = [None if t is None else t._array.view() for t in node.called(shown)]
        del shown, t
        for ref in refs:
            survivor = ref()
            if survivor is not None:
                self.taken[id(survivor._array)] = survivor._array
        return out

    def filled(self, node: Node, gs: Sequence[Any]) -> list[Any]:
        """Replace None by zeros for outputs without a cotangent."""
        out = list(gs)
        for i, (shape, kind) in enumerate(node.result_shapes()):
            if out[i] is None:
                zeros = np.zeros(shape, kind)
                out[i] = follow(wrap(zeros), 0) if self.create else zeros
        return out

    # Hooks ------------------------------------------------------------------------------------

    def hooked(self, node: Edge, gs: Sequence[Any]) -> list[Any]:
        """Return the cotangents after the hooks of the node's results."""
        out = list(gs)
        for nr, hooks in node.extra().tensor_hooks.items():
            # Copy the list, because a hook may remove itself.
            for hook in list(hooks.values()):
                if out[nr] is None:  # one of several results was not used
                    if hook(None) is not None:
                        raise RuntimeError("can't replace a None gradient with a non-None value")
                    continue
                gradient = self.shown(out[nr])
                out[nr] = self.taken_back(_replaced(hook(gradient), gradient))
        return out

    def prepared(self, node: Edge, gs: Sequence[Any]) -> list[Any]:
        """Return the cotangents after the node's own prehooks."""
        out = list(gs)
        for hook in list(node.extra().prehooks.values()):
            gradients = tuple(None if g is None else self.shown(g) for g in out)
            answer = hook(gradients)
            if answer is not None:
                replacements = _same_length(answer, gradients, "prehook")
                out = [None if g is None else self.taken_back(g) for g in replacements]
        return out

    def retained(self, node: Edge, gs: Sequence[Any]) -> None:
        """Store the gradients of results that retain them."""
        for nr, ref in list(node.extra().retains.items()):
            tensor = ref()
            if tensor is not None and gs[nr] is not None:
                self.store(tensor, gs[nr], clone=True)

    def posted(self, node: Node, out: Sequence[Any], gs: Sequence[Any]) -> Sequence[Any]:
        """Return the operands' cotangents after the node's posthooks."""
        for hook in list(node.extra().posthooks.values()):
            inputs = node.by_operand([None if g is None else self.shown(g) for g in out])
            answer = hook(inputs, tuple(None if g is None else self.shown(g) for g in gs))
            if answer is not None:
                chosen = node.by_edge(_same_length(answer, inputs, "posthook"))
                out = [None if g is None else self.taken_back(g) for g in chosen]
        return out

    def shown(self, g: Any) -> Tensor:
        """Return a cotangent as a Tensor for the user."""
        g = self.apart(g)
        t: Tensor = g if self.create else wrap(g)
        if not self.create:
            t._no_expr = NOT_RECORDED
            self.taken[id(t._array)] = t._array
        return t

    def apart(self, g: Any) -> Any:
        """Return a cotangent that the user may keep: a copy if it is already a leaf's ``grad``."""
        if self.create:
            return g.clone() if g is not None and id(g._array) in self.grads else g
        return np.array(g) if id(g) in self.grads else g

    def taken_back(self, t: Tensor) -> Any:
        """Return the cotangent in a Tensor from the user."""
        if self.create:
            return t
        self.taken[id(t._array)] = t._array
        return t._array

    # Leaves -----------------------------------------------------------------------------------

    def leaf(self, end: AccumulateGrad) -> None:
        """Run the hooks of a leaf, and add its cotangent to ``grad``."""
        g = self.arrived.pop(end, None)
        leaf = end.variable
        if g is None or end.__class__ is Nowhere:
            return
        # Cast before the hooks, which receive the gradient in the dtype of the leaf.
        if leaf is not None:
            g = self.cast(g, leaf._array.dtype)
        if end.extras is not None:
            g = self.hooked(end, [g])[0]
        if end in self.wanted:
            self.captured[end, 0] = g
            return
        if leaf is None or not leaf._rg:
            return
        if end.extras is not None:
            g = self.prepared(end, [g])[0]
        if leaf._post and not self.create:
            g = np.array(g)  # hooks may change an array that other records still need
        # Hooks run after, without the lock: they may take long, or run backward themselves.
        with _accumulating:
            self.store(leaf, g)
        if leaf._post:
            for hook in list(leaf._post.values()):
                hook(leaf)
        if end.extras is not None:
            for hook in list(end.extras.posthooks.values()):
                hook((), (self.shown(g),))

    def cast(self, g: Any, kind: np.dtype) -> Any:
        """Return a cotangent in the leaf's dtype."""
        if self.create:
            return g if g._array.dtype is kind else cast(g, kind)
        return g if g.dtype is kind else g.astype(kind)

    def store(self, x: Tensor, g: Any, *, clone: bool = False) -> None:
        """Add a cotangent to a tensor's ``grad``: in place unless the pass is recorded."""
        known = x._grad
        if self.create:
            shared = clone or id(g._array) in self.taken or not g._array.flags.owndata
            if known is None:
                first: Tensor = g.clone() if shared or g._base is not None else g
                x._grad, array = first, first._array
                self.taken[id(array)] = array
                self.grads.add(id(array))
            else:
                x._grad = known + g
            unfollowed(x._grad)
            return
        if known is None:
            # NumPy returns scalars for results without axes.
            array = np.asarray(g)
            if clone or id(array) in self.taken or not _own(array, x._array):
                array = _like(array, x._array)
            self.taken[id(array)] = array
            self.grads.add(id(array))
            known = wrap(array)
        elif clone:  # a new tensor for a retained gradient; only a leaf's grad changes in place
            known = wrap(known._array + g)
        else:
            np.add(known._array, g, out=known._array, casting="unsafe")
            counter(known)[0] += 1
            if known._edge is not None or known._views is not None:
                changed(known)
        x._grad, known._no_expr = known, NOT_RECORDED


def _own(array: np.ndarray, like: np.ndarray) -> bool:
    """Whether an array may become a ``grad`` without a copy: own memory, in the leaf's order."""
    flags = array.flags
    return bool(
        array.base is None
        and flags.writeable
        and flags.c_contiguous
        and (array.ndim < 2 or like.flags.c_contiguous)
    )


def _like(array: np.ndarray, leaf: np.ndarray) -> np.ndarray:
    """Return a copy in the memory order of the leaf if it is dense, else in C order."""
    if leaf.flags.c_contiguous or not _dense(leaf) or leaf.shape != array.shape:
        return np.array(array, order="C")
    out = np.empty_like(leaf, dtype=array.dtype)
    out[...] = array
    return out


def _dense(array: np.ndarray) -> bool:
    """Whether the elements fill a piece of memory without gaps, in any order."""
    expected = array.itemsize
    # In order of strides, each axis must continue where the axes before it end.
    for stride, n in sorted(zip(array.strides, array.shape, strict=True)):
        if n > 1:
            if stride != expected:
                return False
            expected *= n
    return True


def _replaced(answer: object, gradient: Tensor) -> Tensor:
    """Check a hook's result and return it; None stands for the gradient itself."""
    if answer is None:
        return gradient
    if not isinstance(answer, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(answer).__name__}'")
    if answer._array.shape != gradient._array.shape:
        raise RuntimeError(
            f"hook has changed the size of value: from {list(gradient.shape)} to "
            f"{list(answer.shape)}"
        )
    if answer._array.dtype != gradient._array.dtype:
        raise RuntimeError(
            f"hook has changed the type of value: was {gradient.dtype} got {answer.dtype}"
        )
    return answer


def _same_length(answer: object, gradients: Sequence[object], what: str) -> tuple[Any, ...]:
    """Check the tuple that a hook returned, and return it."""
    if not isinstance(answer, tuple):
        raise TypeError(f"expected tuple, but {what} returned '{type(answer).__name__}'")
    if len(answer) != len(gradients):
        raise RuntimeError(
            f"{what} returned an incorrect number of values (got {len(answer)}, expected "
            f"{len(gradients)})"
        )
    return answer


def _located(node: Node) -> None:
    """Under anomaly detection, warn with the lines that recorded the failing operation."""
    if current().anomaly:
        stack = None if node.extras is None else node.extras.made
        warnings.warn(
            f"Error detected in {node.name()}. "
            + (
                f"Traceback of forward call that caused the error:\n{stack}"
                if stack
                else "No forward pass information available. Enable detect anomaly during forward "
                "pass for more information."
            ),
            UserWarning,
            stacklevel=2,
        )


def _no_nan(node: Node, out: Sequence[Any]) -> None:
    for i, g in enumerate(out):
        array = g._array if isinstance(g, Tensor) else g
        if array is not None and np.isnan(array).any():
            _located(node)
            raise RuntimeError(f"Function '{node.name()}' returned nan values in its {i}th output.")
