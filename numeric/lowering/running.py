"""The programs of one Function: made when they are first asked for, run on what a call brings.

All of them go the same way: ``derivatives`` describes a program, ``of`` has it written, once;
``_ran`` runs it for floats, arrays or at points, as the arguments are; ``_handed_out`` makes what
came the caller's own.  ``_settled`` finds what that takes, at the first call of a kind, and writes
it down, so that ``_answered`` has nothing to ask at those that follow.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from numeric.lowering import costs, derivatives, descriptions
from numeric.lowering.arguments import Call, Signature
from numeric.lowering.gathers import gathered
from numeric.lowering.kink_checks import hit, questions
from numeric.lowering.names import MATH, NATIVE, NUMPY, ROWS, Emitter, Options
from numeric.lowering.ownership import Owner, of_number, snapshots, summed_to
from numeric.lowering.printers.entries import Body, entry
from numeric.lowering.programs import NATIVE_LEAST, Lowered, at_points, plain, python_number
from numeric.lowering.values import WEAK
from symdiff.calculus.kinks import kinks_in
from symdiff.calculus.real_values import is_real
from symdiff.contexts import raising
from symdiff.display.diagrams import listed
from symdiff.errors import NotDifferentiable, Unsupported
from symdiff.graph import ops
from symdiff.graph.arguments import unfit
from symdiff.graph.axes import shape_text
from symdiff.graph.axis_lengths import Sizes, formulas, lengths
from symdiff.graph.axis_lengths import names as lengths_of
from symdiff.locks import once

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numeric.lowering.derivatives import Cut, Description
    from numeric.lowering.programs import Program
    from numeric.types import Values
    from symdiff.calculus.kinks import Kink
    from symdiff.graph.expr import Expr

# What has one body for a number and for an array of points.
_FLAT = (ops.Symbol, ops.Exact, ops.Sum, ops.Product, ops.Pointwise, ops.Strong, ops.Barrier)


class Residuals:
    """What ``Function.forward`` keeps for ``Function.backward``; opaque and never changed."""

    __slots__ = ("call", "kink", "owner", "values")

    def __init__(
        self,
        owner: Programs,
        call: Call,
        values: tuple[Values, ...] | None,
        kink: str | None = None,
    ) -> None:
        # What backward reads of the arguments is among the values: the arguments are let go.
        self.owner, self.call, self.values, self.kink = owner, call, values, kink

    def __reduce__(self) -> str:
        raise TypeError("residuals cannot be pickled; pickle the Function and its arguments")

    def __repr__(self) -> str:
        if self.values is None:
            return "<Residuals: none, forward ran under no_grad>"
        size = sum(v.nbytes for v in self.values if isinstance(v, np.ndarray))
        return f"<Residuals: {len(self.values)} values, {size} bytes in arrays>"


class HandOut(NamedTuple):
    """What the result at ``place`` is to be for the caller (see ``Owner.result``).

    ``copied``: it is, but for its memory.
    """

    place: int
    copied: bool
    shape: tuple[int, ...]
    real: bool
    dtype: np.dtype


class Programs:
    """The programs for some outputs of some inputs, and how each of them is run.

    ``real`` are the places of the real inputs.  ``flat``: inputs and all that is computed of them
    are scalars, so that one program serves Python floats and arrays of points.  ``flavour`` is that
    in which programs are written at once; the others follow when they are needed.  ``strict``:
    kinks raise.
    """

    def __init__(
        self,
        outputs: tuple[Expr, ...],
        inputs: tuple[Expr, ...],
        nodes: Sequence[Expr],
        options: Options,
    ) -> None:
        self.outputs, self.inputs = outputs, inputs
        self.constants = [x.op.value for x in nodes if isinstance(x.op, ops.Constant)]
        data = [x.op.value for x in nodes if x.op.__class__ is ops.Constant]  # and no places
        self.signature = Signature(inputs, data, formulas(nodes))
        self.real = self.signature.real
        self.flat = self.signature.scalar and all(
            isinstance(x.op, _FLAT) and not x.shape for x in nodes
        )
        self.strict = raising()
        gathers = any(x.op.__class__ is ops.Gather for x in nodes)
        if gathers and not self.strict and not options.exact_order:  # kinks are asked of all rows
            self.outputs = gathered(outputs)
        self.emitter = Emitter(options=options)
        self.lock = self.emitter.lock
        self._found: dict[tuple[object, ...], Lowered] = {}
        self._kinks: dict[Lowered, tuple[list[Kink], Lowered]] = {}
        self.flavour = MATH if self.flat else NUMPY
        try:
            self.value = self.of(derivatives.value)
        except Unsupported:
            if self.flavour == NUMPY:
                raise
            self.flavour = NUMPY  # a function of the user's has no body for floats; arrays decide
            self.value = self.of(derivatives.value)

    # Making ---------------------------------------------------------------------------------------

    def of(self, *key: Any) -> Lowered:
        """The program for a description and what it is for; written when it is first needed.

        ``of(jacobian, order, mode)`` is that of ``jacobian(self, order, mode)``.
        """
        found = self._found.get(key)
        if found is None:
            found = once(self._found, key, self.lock, lambda: self._written(*key))
        return found

    def _written(self, describe: Callable[..., Description], *which: object) -> Lowered:
        name, d = describe.__name__, describe(self, *which)
        outputs = [*d.values, *d.derivatives, *d.kept]
        real = [*map(is_real, d.values), *[True] * (len(outputs) - len(d.values))]
        program = Lowered(self.emitter, name, d.params, outputs, real, d.comment, len(d.kept))
        program.program(self.flavour)
        # Kinks are found by values, in a program of its own that runs first: nothing is half done
        # when one raises.
        known = kinks_in([*outputs, *d.firsts]) if self.strict else []
        if known:
            asked = questions(known)
            real, comment = [is_real(x) for x in asked], "where kinks are"
            asking = Lowered(self.emitter, "kinks", self.inputs, asked, real, comment)
            self._kinks[program] = known, asking
        return program

    @property
    def cut(self) -> Cut:
        """Where the forward pass hands over to the backward pass; both are made of one."""
        found: Cut | None = self.__dict__.get("_cut")
        if found is None:
            found = once(self.__dict__, "_cut", self.lock, lambda: derivatives.cut(self))
        return found

    def entry(
        self, name: str, program: Lowered, slow: Callable[..., object], many: bool
    ) -> Callable[..., Any]:
        """A program of Python floats as what users call, which falls back to ``slow``."""
        # A selection may hand on the number 0 of one of its branches, which is an int in Python.
        cast = [
            real and (y.dtype is not float or (isinstance(y.op, ops.Pointwise) and not y.op.result))
            for real, y in zip(program.real, program.outputs, strict=True)
        ]
        dtypes, written = [x.dtype for x in self.inputs], program.program(MATH)
        body = Body(written.lines, written.results, written.joined, written.packed)
        return entry(self.emitter, name, body, dtypes, cast, slow, many=many)

    # Running --------------------------------------------------------------------------------------

    def results(
        self, program: Lowered, given: Sequence[Values], call: Call, more: Sequence[Values] = ()
    ) -> Sequence[Any]:
        """What a program of the inputs, and of ``more``, gives the caller.

        Raises NotDifferentiable at a kink, if those raise.
        """
        if self.strict:
            self._refuse_kinks(program, given, call)
        return self._answered(program, (*given, *more) if more else given, call, call.kinds)

    def forward(
        self, given: Sequence[Values], call: Call, copies: bool = True
    ) -> tuple[Sequence[Any], Residuals]:
        """Values and residuals; without ``copies`` these may share the arguments' memory."""
        if call.keeping is None:
            return self._first_forward(given, call, copies)
        run, left, shared = call.keeping
        found = run(*given, call.sizes)
        count = len(self.outputs)
        values, kept = found[:count], found[count:]
        if shared and copies and not call.weak:
            kept = snapshots(kept, given, shared)
        if left:
            values = self._handed_out(values, left, (*given, *kept))
        if call.weak:
            values = _numbers(values, self.value)
        return values, Residuals(self, call, kept)

    def _first_forward(
        self, given: Sequence[Values], call: Call, copies: bool
    ) -> tuple[Sequence[Any], Residuals]:
        """``forward`` where nothing is known of calls like this one; what is learnt is kept."""
        kink = None
        if self.strict:
            self._refuse_kinks(self.value, given, call)
            # Backward has no arguments to ask: whether it would hit a kink is found now, and told
            # there.
            kink = self._hit(self.of(derivatives.backward, None), given, call)
        program, count = self.of(derivatives.forward), len(self.outputs)
        found = self._ran(program, given, call)
        values, kept = found[:count], tuple(found[count:])
        if copies and not call.weak:
            kept = snapshots(kept, given, program.shared)
        # A value may be a residual, too: the caller, who may change it, gets one of his own.
        values = self._settled(program, values, call, (*given, *kept), call.kinds)
        settled = call.settled.get(program)
        if settled is not None:
            call.keeping = *settled, program.shared
        return values, Residuals(self, call, kept, kink)

    def backward(
        self,
        residuals: Residuals,
        call: Call,
        seeds: Sequence[Values],
        order: tuple[int, ...] | None = None,
    ) -> Sequence[Any]:
        """One cotangent for each input, or those of ``order``, for cotangents that were checked.

        ``call`` is that of the residuals, ``pulled`` by the cotangents.
        """
        assert residuals.values is not None
        if residuals.kink is not None:
            raise NotDifferentiable(residuals.kink)
        program = self.of(derivatives.backward, order)
        found = self._answered(program, (*residuals.values, *seeds), call)
        places = range(len(self.inputs)) if order is None else order
        if len(found) < len(places):
            values = iter(found)
            found = [next(values) if self.inputs[i].dtype is float else None for i in places]
        # Each argument was stretched to all points, and stretching is summing when it is pulled
        # back.
        if not call.points:
            return found
        return [
            None if v is None else summed_to(v, call.shapes[i])[()]
            for v, i in zip(found, places, strict=True)
        ]

    def _answered(
        self,
        program: Lowered,
        given: Sequence[Values],
        call: Call,
        kinds: Sequence[np.dtype] | None = None,
    ) -> Sequence[Any]:
        """The results of a program, as the caller's; ``kinds``: as for ``_settled``."""
        settled = call.settled.get(program)
        if settled is None:
            return self._settled(program, self._ran(program, given, call), call, given, kinds)
        run, left = settled
        found: Sequence[Values] = run(*given, call.sizes)
        results = self._handed_out(found, left, given) if left else found
        return _numbers(results, program) if call.weak else results

    def _ran(self, program: Lowered, given: Sequence[Values], call: Call) -> Sequence[Values]:
        """The results as the program leaves them: maybe weak numbers, maybe memory of others."""
        if self.flat and call.weak:
            return program.floats([plain(v) for v in given])
        if call.points and not self.flat:
            return at_points(program, given, call)
        return program.way(call.sizes, call.points)(*given, call.sizes)

    def _settled(
        self,
        program: Lowered,
        found: Sequence[Values],
        call: Call,
        taken: Sequence[object],
        kinds: Sequence[np.dtype] | None = None,
    ) -> list[Any]:
        """What a program left of results, as the caller's: numbers, or memory of their own.

        ``kinds`` are their dtypes, None for the arguments' precision.  What has to be done depends
        on nothing but the key of the call, and is written down there.
        """
        if self.flat and call.weak:
            return _numbers(found, program)
        real = program.real[: len(found)]
        kinds = [call.precision] * len(found) if kinds is None else kinds
        shapes = [call.points + lengths(y.shape, call.sizes) for y in program.outputs[: len(found)]]
        todo = list(map(HandOut, range(len(found)), repeat(False), shapes, real, kinds))
        results = self._handed_out(found, todo, taken)
        settles = call.key is not None and not self.strict and (self.flat or not call.points)
        if settles and program.is_one(taken):
            run = program.way(call.sizes, call.points)
            call.settled[program] = run, _left(todo, found, results, program.own)
        return _numbers(results, program) if call.weak else results

    def _handed_out(
        self, found: Sequence[Values], left: Sequence[HandOut], taken: Sequence[object]
    ) -> list[Any]:
        """The results in memory of their own: not that of ``taken``, nor of constants.

        Programs return what they have: an argument, a view of one, data of the graph, one array
        twice.  None of that is the caller's.  Results with which nothing is ``left`` to do are.
        """
        results: list[Any] = list(found)
        asked = []
        for task in left:
            place, copied, shape, real, dtype = task
            value = found[place]
            if copied:
                results[place] = np.array(value)
            elif value.__class__ in WEAK:
                results[place] = of_number(value, shape, dtype if real else None)
            else:
                results[place] = None
                asked.append(task)
        if asked:
            owner = Owner((*taken, *self.constants, *results))
            for place, _, shape, real, dtype in asked:
                results[place] = owner.result(found[place], shape, real, dtype)
        return results

    # Kinks ----------------------------------------------------------------------------------------

    def _hit(self, program: Lowered, given: Sequence[Values], call: Call) -> str | None:
        """The kink that derivatives in the program would hit."""
        if program not in self._kinks:
            return None
        known, asked = self._kinks[program]
        return hit(known, self._answered(asked, given, call))

    def _refuse_kinks(self, program: Lowered, given: Sequence[Values], call: Call) -> None:
        text = self._hit(program, given, call)
        if text is not None:
            raise NotDifferentiable(text)

    def free_memory(self) -> None:
        """Give back what programs keep between calls."""
        with self.lock:
            every = [*self._found.values(), *(asked for _, asked in self._kinks.values())]
            memories = [p.memory for lowered in every for p in lowered.found.values()]
        for memory in memories:
            if memory is not None:
                memory.free()

    # Description ----------------------------------------------------------------------------------

    def source(self) -> str:
        """The source of the programs written so far."""
        with self.lock:
            texts = [p.written().source for p in self._found.values()]
        return "\n\n".join(texts)

    def explain(self, sizes: Mapping[str, int] | None = None, rules: bool = False) -> str:
        """What is computed, how and at which cost, and what is kept, in words."""
        value, backward = self.value, self.of(derivatives.backward, None)
        forward = self.of(derivatives.forward)
        described = derivatives.described
        names = lengths_of([*self.inputs, *value.outputs, *backward.outputs])
        if sizes is not None and not isinstance(sizes, Mapping):
            raise unfit("explain", "sizes", "a dictionary of lengths by name", sizes)
        known = Sizes(sizes or {}) if set(names) <= {*(sizes or {})} else None
        lines = [
            f"inputs: {listed(map(described, self.inputs), 8) or 'none'}",
            f"outputs: {listed([shape_text(y.shape) for y in self.outputs], 8)}",
        ]
        if self.emitter.options.native:
            from numeric.lowering.native.compiler import compiler  # loaded where it is needed
            from numeric.lowering.native.libraries import FAILURES

            fast = ", fastmath" * self.emitter.options.fastmath
            lines.append(f"machine code of {compiler()}{fast}")
            if FAILURES.reason and self.emitter.options.backend == "auto":
                lines.append(f"NumPy for all that was not compiled before: {FAILURES.reason}")
        with self.lock:
            asked = [x for x in self._found.values() if x not in (value, backward, forward)]
        running = [self._running(lowered, known) for lowered in (value, backward, *asked)]
        if self.emitter.options.native and not self.flat and not any(x.kernels for x in running):
            lines.append("all of it stays NumPy's: C would not gain, or does not have it")
        for program in running:
            lines += descriptions.described(program, known, rules)
        lines.append(descriptions.kept(self.cut.kept, known))
        first = frozenset(_computed(forward.program(self.flavour)))
        again = [x for x in _computed(backward.program(self.flavour)) if x in first]
        lines.append(f"computed again in backward: {len(again)} steps")
        if known is not None:
            lines += descriptions.operations(self.outputs, self.cut.cotangents, known)
        else:
            lines.append(f"operations and bytes: explain(sizes) with those of {', '.join(names)}")
        if self.flat:
            lines.append("Python floats run through math, arrays of points through NumPy")
            lines.append(f"from {costs.LARGE} points on, in blocks of points")
            if self.value.points is not None:
                lines.append(f"in machine code from {NATIVE_LEAST} points on")
        return "\n".join(lines)

    def _running(self, lowered: Lowered, known: Mapping[str, int] | None) -> Program:
        """The program that runs for axes of these lengths; where they are open, for long ones."""
        if self.flat:
            return lowered.program(self.flavour)
        if lowered.tiny is not None:
            return lowered.tiny
        if known is not None:
            return lowered.chosen(known)
        rows = lowered.program(NATIVE if self.emitter.options.native else ROWS)
        return rows if rows.kernels else lowered.written()


def _numbers(values: Sequence[Values], program: Lowered) -> list[Any]:
    """Scalars among the first results as Python numbers."""
    return [python_number(v, real) for v, real in zip(values, program.real, strict=False)]


def _left(
    todo: Sequence[HandOut],
    found: Sequence[Values],
    results: Sequence[Any],
    own: Sequence[bool],
) -> list[HandOut]:
    """What has to be done with results that are like these, ``found``, to be like ``results``.

    Nothing, with a scalar and with an array of its own.  What had to be copied is copied from now
    on; for all others it is their memory that decides.
    """
    left = []
    for task, v, result, new in zip(todo, found, results, own, strict=False):
        if result is v and (new or isinstance(v, np.generic)):
            continue
        same = isinstance(v, np.ndarray) and (v.dtype, v.shape) == (result.dtype, result.shape)
        left.append(task._replace(copied=same and result is not v))
    return left


def _computed(program: Program) -> list[Expr]:
    """The expressions whose values a program computes."""
    schedule = program.schedule
    known = len(schedule.origins)
    return [schedule.origins[v] for v in schedule.computed() if v < known]
