"""The backward pass: cotangents from roots to leaves, in the order in which PyTorch has them.

A node runs when all its consumers have run; among those that are ready, the most recently recorded
first, and leaves before anything else.  Cotangents are arrays, or Tensors where the pass itself is
recorded.  A cotangent that came through a selection is *marked*: its exact zeros stay zeros.

Serial numbers are given when nodes are recorded, so they fall along every edge: the order is
topological by itself, and what leads to a target is found in one sweep from operands to consumers.

Arrays are not copied to be handed on, so that one array may be the cotangent of several records.
Whoever changes one in place, or gives it away, must know that it is the only one: ``owned`` are the
records whose cotangent is a sum made here, ``taken`` the arrays that a user has, as a ``grad``, in
a hook or as a seed.
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

# Held while a leaf's ``grad`` is read and added to: several threads may run backward at once.
_accumulating = fork_safe_lock()

# Below so many elements a new sum is cheaper than one in place.
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
    """Run the backward pass; the cotangents of ``targets`` unless it accumulates.

    Args:
        roots: records and output numbers to start from.
        seeds: their cotangents.
        retain: keep what nodes saved.
        create: record what is done.
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
    # ``create`` decides whether the pass is recorded, whatever is in force around it.
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
    """How many edges lead to each record that the roots depend on; being a root counts as one.

    It runs over the whole record before anything else does: hence the bound methods.
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
    """One run: the cotangents that have arrived, and the nodes that are ready."""

    def __init__(self, retain: bool, create: bool, deps: dict[Edge, int]) -> None:
        self.retain, self.create, self.deps = retain, create, deps
        self.arrived: dict[Edge, Any] = {}  # of nodes with several results a list, by number
        self.marked: set[Edge] = set()
        self.owned: set[Edge] = set()
        self.heap: list[tuple[int, Node]] = []  # (-serial, node): the most recent first
        self.captured: dict[Root, Any] = {}
        # With targets: what runs, and what is captured.
        self.needed: set[Edge] | None = None
        self.wanted: dict[Edge, list[int]] = {}
        # Arrays that somebody else holds by now, alive so that their ids are theirs alone.
        self.taken: dict[int, np.ndarray] = {}
        self.grads: set[int] = set()  # those of them that have become a ``grad``

    def limit(self, roots: Iterable[Edge], targets: Sequence[Root], *, capture: bool) -> None:
        """Run only what leads from the roots to the targets."""
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
            needed |= goals  # also nodes: what is wanted of their results is kept as they run
        self.needed = needed
        for root in roots:  # whose hooks run in any case
            if root not in needed:
                self.wanted.setdefault(root, [])

    # Arrivals ---------------------------------------------------------------------------------

    def arrive(self, node: Edge) -> None:
        """One more consumer of the node is done."""
        left = self.deps[node] - 1
        self.deps[node] = left
        if not left:
            if self.needed is not None and node not in self.needed and node not in self.wanted:
                # It leads to no target: what arrived is dropped now, and not kept until the end.
                self.arrived.pop(node, None)
            elif node.is_leaf:
                self.leaf(node)
            else:
                heappush(self.heap, (-node.serial, node))

    def give(self, node: Edge, nr: int, g: Any, marked: bool) -> None:
        """Add a cotangent to what has arrived at an output.

        An element that one of them reaches unmarked is not ignored, so that a sum is marked only if
        all its terms are, as in formulas.  (Of several results it is enough that one is.)
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
        """Hand the cotangents of a node's operands on; None is a zero that nobody made."""
        nrs = node.nrs
        for k, edge in enumerate(node.edges):
            if gs[k] is not None:
                self.give(edge, nrs[k] if nrs else 0, gs[k], marks is not None and marks[k])
            self.arrive(edge)

    def step(self, node: Node, g: Any) -> None:
        """Run one node, with hooks, captures, and everything that few nodes need.

        The order of events is PyTorch's: what is asked for is captured, then come the hooks of the
        results, ``retain_grad``, prehooks, the pullback, posthooks.  A node that leads to no target
        hands nothing on; it runs for its hooks, or as it is a target itself.
        """
        many = node.outputs > 1
        gs = (g or [None] * node.outputs) if many else [g]
        needed = self.needed is None or node in self.needed
        for nr in self.wanted.get(node, ()):
            self.captured[node, nr] = gs[nr]
        if node.extras is not None:
            gs = self.hooked(node, gs)
            if not needed:  # hooks have a say in what is asked for, unless it flows on from there
                for nr in self.wanted.get(node, ()):
                    self.captured[node, nr] = gs[nr]
        if node.extras is not None:
            self.retained(node, gs)
        if not needed:
            return
        if node.extras is not None:
            gs = self.prepared(node, gs)
        marks = None
        nothing = all(g is None for g in gs) and not node.foreign
        if many and not (node.partial or nothing):
            gs = self.filled(node, gs)
        try:
            if nothing:
                node.values()  # what was saved is looked at all the same
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
        """The cotangents of the edges, of those that lead to targets, and which are marked."""
        marked = node in self.marked
        if self.needed is not None:
            asked = [edge in self.needed or edge in self.wanted for edge in node.edges]
            if not all(asked):
                found = pull_asked(node, gs, marked, asked, self.create)
                if found is not None:
                    return found
        if self.create:
            return node.pull_recorded(gs, marked)
        return node.pull(gs if node.outputs > 1 else gs[0], marked)

    def called(self, node: Any, gs: Sequence[Any]) -> list[Any]:
        """What a backward of the user's returns, which sees Tensors and may keep any of them.

        Weak references tell which of them it did keep: those arrays are the user's from then on.
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
        # Views: nothing takes their memory for its own.
        out = [None if t is None else t._array.view() for t in node.called(shown)]
        del shown, t
        for ref in refs:
            kept = ref()
            if kept is not None:
                self.taken[id(kept._array)] = kept._array
        return out

    def filled(self, node: Node, gs: Sequence[Any]) -> list[Any]:
        """Zeros for the outputs that nothing came back to."""
        out = list(gs)
        for i, (shape, kind) in enumerate(node.result_shapes()):
            if out[i] is None:
                zeros = np.zeros(shape, kind)
                out[i] = follow(wrap(zeros), 0) if self.create else zeros
        return out

    # Hooks ------------------------------------------------------------------------------------

    def hooked(self, node: Edge, gs: Sequence[Any]) -> list[Any]:
        """The cotangents after the hooks of the node's results."""
        out = list(gs)
        for nr, hooks in node.extra().tensor_hooks.items():
            # A list of its own, as a hook may remove itself.
            for hook in list(hooks.values()):
                if out[nr] is None:  # of several results, one that was not used
                    if hook(None) is not None:
                        raise RuntimeError("can't replace a None gradient with a non-None value")
                    continue
                given = self.shown(out[nr])
                out[nr] = self.taken_back(_replaced(hook(given), given))
        return out

    def prepared(self, node: Edge, gs: Sequence[Any]) -> list[Any]:
        """The cotangents after the node's own prehooks."""
        out = list(gs)
        for hook in list(node.extra().prehooks.values()):
            given = tuple(None if g is None else self.shown(g) for g in out)
            answer = hook(given)
            if answer is not None:
                found = _same_length(answer, given, "prehook")
                out = [None if g is None else self.taken_back(g) for g in found]
        return out

    def retained(self, node: Edge, gs: Sequence[Any]) -> None:
        """The results that retain their gradients get them."""
        for nr, ref in list(node.extra().retains.items()):
            tensor = ref()
            if tensor is not None and gs[nr] is not None:
                self.store(tensor, gs[nr], clone=True)

    def posted(self, node: Node, out: Sequence[Any], gs: Sequence[Any]) -> Sequence[Any]:
        """The operands' cotangents after the node's posthooks."""
        for hook in list(node.extra().posthooks.values()):
            inputs = node.by_operand([None if g is None else self.shown(g) for g in out])
            answer = hook(inputs, tuple(None if g is None else self.shown(g) for g in gs))
            if answer is not None:
                chosen = node.by_edge(_same_length(answer, inputs, "posthook"))
                out = [None if g is None else self.taken_back(g) for g in chosen]
        return out

    def shown(self, g: Any) -> Tensor:
        """A cotangent as the user sees it."""
        g = self.apart(g)
        t: Tensor = g if self.create else wrap(g)
        if not self.create:
            t._no_expr = NOT_RECORDED
            self.taken[id(t._array)] = t._array
        return t

    def apart(self, g: Any) -> Any:
        """A cotangent that somebody may keep: a copy of what is already a leaf's ``grad``."""
        if self.create:
            return g.clone() if g is not None and id(g._array) in self.grads else g
        return np.array(g) if id(g) in self.grads else g

    def taken_back(self, t: Tensor) -> Any:
        """A cotangent from the user."""
        if self.create:
            return t
        self.taken[id(t._array)] = t._array
        return t._array

    # Leaves -----------------------------------------------------------------------------------

    def leaf(self, end: AccumulateGrad) -> None:
        """The end of the record: hooks, then the sum into ``grad``."""
        g = self.arrived.pop(end, None)
        leaf = end.variable
        if g is None or end.__class__ is Nowhere:
            return
        # Before the hooks, which see the gradient in the dtype of the leaf.
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
            g = np.array(g)  # hooks may change what others still have to read
        # Hooks come after, without the lock: they may take long, or run backward themselves.
        with _accumulating:
            self.store(leaf, g)
        if leaf._post:
            for hook in list(leaf._post.values()):
                hook(leaf)
        if end.extras is not None:
            for hook in list(end.extras.posthooks.values()):
                hook((), (self.shown(g),))

    def cast(self, g: Any, kind: np.dtype) -> Any:
        """A cotangent in the leaf's dtype."""
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
            # NumPy makes scalars of results without axes.
            array = np.asarray(g)
            if clone or id(array) in self.taken or not _own(array, x._array):
                array = _like(array, x._array)
            self.taken[id(array)] = array
            self.grads.add(id(array))
            known = wrap(array)
        elif clone:  # a retained gradient is replaced, only that of a leaf changes
            known = wrap(known._array + g)
        else:
            np.add(known._array, g, out=known._array, casting="unsafe")
            counter(known)[0] += 1
            if known._edge is not None or known._views is not None:
                changed(known)
        x._grad, known._no_expr = known, NOT_RECORDED


def _own(array: np.ndarray, like: np.ndarray) -> bool:
    """Whether an array may become a ``grad`` as it is: of its own memory, in the leaf's order."""
    flags = array.flags
    return bool(
        array.base is None
        and flags.writeable
        and flags.c_contiguous
        and (array.ndim < 2 or like.flags.c_contiguous)
    )


def _like(array: np.ndarray, leaf: np.ndarray) -> np.ndarray:
    """A copy in the memory order of the leaf, where that is dense, else in C order."""
    if leaf.flags.c_contiguous or not _dense(leaf) or leaf.shape != array.shape:
        return np.array(array, order="C")
    out = np.empty_like(leaf, dtype=array.dtype)
    out[...] = array
    return out


def _dense(array: np.ndarray) -> bool:
    """Whether the elements fill a piece of memory, in whatever order."""
    expected = array.itemsize
    # From the smallest step up, each axis goes on where those before end.
    for stride, n in sorted(zip(array.strides, array.shape, strict=True)):
        if n > 1:
            if stride != expected:
                return False
            expected *= n
    return True


def _replaced(answer: object, given: Tensor) -> Tensor:
    """What a hook returned, checked; the gradient itself if that is None."""
    if answer is None:
        return given
    if not isinstance(answer, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(answer).__name__}'")
    if answer._array.shape != given._array.shape:
        raise RuntimeError(
            f"hook has changed the size of value: from {list(given.shape)} to {list(answer.shape)}"
        )
    if answer._array.dtype != given._array.dtype:
        raise RuntimeError(
            f"hook has changed the type of value: was {given.dtype} got {answer.dtype}"
        )
    return answer


def _same_length(answer: object, given: Sequence[object], what: str) -> tuple[Any, ...]:
    """What a hook returned, checked."""
    if not isinstance(answer, tuple):
        raise TypeError(f"expected tuple, but {what} returned '{type(answer).__name__}'")
    if len(answer) != len(given):
        raise RuntimeError(
            f"{what} returned an incorrect number of values (got {len(answer)}, expected "
            f"{len(given)})"
        )
    return answer


def _located(node: Node) -> None:
    """Under anomaly detection, say where the operation that fails was recorded."""
    if current().anomaly:
        made = None if node.extras is None else node.extras.made
        warnings.warn(
            f"Error detected in {node.name()}. "
            + (
                f"Traceback of forward call that caused the error:\n{made}"
                if made
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
