"""What the programs of one Function share: names, constants, and how structure is written."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from numeric.lowering import kinds, structure
from numeric.lowering.node_kernels import kernel
from numeric.lowering.schedule import quotient
from numeric.lowering.spellings import computed
from symdiff.graph.leaves import named_dummy
from symdiff.graph.node import make
from symdiff.locks import fork_safe_lock, once

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numeric.lowering.spellings import Spelling
    from numeric.lowering.steps import Step
    from numeric.lowering.texts import Template
    from symdiff.graph.expr import Expr
    from symdiff.graph.node import Dtype, Shape

NUMPY, MATH, ROWS = "numpy", "math", "rows"
KEPT, KEPT_ROWS = "kept", "kept rows"
POINTS = "points"
NATIVE = "native"


class Options(NamedTuple):
    """How the programs of a Function run.

    ``threads``: on how many threads large arrays are computed, None for the default;
    ``exact_order``: sums are added in the order of ``interpret``, also where another is faster;
    ``backend``: that which was asked for; ``fastmath``: machine code may take numbers for real
    ones; ``native``: whether kernels are machine code.
    """

    threads: int | None = None
    exact_order: bool = False
    backend: str = "numpy"
    fastmath: bool = False
    native: bool = False


_DEFAULT = Options()


class Emitter:
    """The names that the programs of one Function call, and what they stand for.

    ``numbers``: arguments of shape () may be Python numbers, also where others are arrays.
    ``options`` are those of the Function.
    """

    def __init__(self, numbers: bool = False, options: Options = _DEFAULT) -> None:
        self.numbers, self.options = numbers, options
        self.lock = fork_safe_lock()  # programs may be written when they are first called
        self.namespace: dict[str, object] = {
            **structure.NAMES,
            **{"inf": math.inf, "nan": math.nan, "quotient": quotient},
        }
        self._named: dict[object, str] = {}
        self._counts: dict[str, int] = {}
        self._structured: dict[object, Template] = {}
        self.spellings: dict[Expr, Spelling] = {}  # of nodes that several programs have

    def bind(
        self, key: object, name: str, make: Callable[[], object], numbered: bool = False
    ) -> str:
        """The name of what ``key`` stands for, in the namespace of all programs."""

        def named() -> str:
            found, count = name, numbered
            while count or found in self.namespace:
                self._counts[name] = self._counts.get(name, 0) + 1
                found = f"{name}_{self._counts[name]}"
                count = False
            self.namespace[found] = make()
            return found

        found = self._named.get(key)
        return once(self._named, key, self.lock, named) if found is None else found

    def function(self, name: str, value: object) -> str:
        """The name under which a function of a template is called.

        One that has other ways to run is that for the options here.
        """
        having = getattr(value, "having", None)
        if having is not None:
            value = having(self.options)
        return self.bind((name, id(value)), name, lambda: value)

    def structured(
        self, step: Step, operands: Sequence[tuple[Shape, Dtype]], numbers: Sequence[bool]
    ) -> Template:
        """How a step is written that is not arithmetic, made once for equal ops on equal shapes.

        ``numbers`` says which operands may be Python numbers.
        """
        key = (step.ops, step.shapes, step.dtypes, step.kind, *operands, *numbers)
        found = self._structured.get(key)
        if found is None:
            nodes, args = _stand_ins(step, operands)
            loose = {x for x, number in zip(args, numbers, strict=True) if number}
            found = structure.template(nodes, args, self.function, loose)
            self._structured[key] = found
        return found

    def of_numbers(self, step: Step, operands: Sequence[tuple[Shape, Dtype]]) -> str:
        """The name of the function of weak numbers that a step is: its kernel."""

        def made() -> Callable[..., object]:
            (node,), _ = _stand_ins(step, operands)
            call = kernel(node)
            return lambda *values: call(values, {})

        key = (step.kind, step.ops, step.dtypes, *operands)
        return self.bind(key, f"number_{type(step.op).__name__.lower()}", made, True)

    def compiled(self, name: str, source: str) -> Callable[..., Any]:
        """The function ``name`` that ``source``, written here, defines."""
        found: dict[str, Any] = {}
        exec(compile(source, f"<numeric.lower: {name}>", "exec"), self.namespace, found)
        function: Callable[..., Any] = found[name]
        return function


def _stand_ins(
    step: Step, operands: Sequence[tuple[Shape, Dtype]]
) -> tuple[list[Expr], tuple[Expr, ...]]:
    """Nodes of the ops of a step over symbols, and these: all that matters of operands is there."""
    symbols = args = tuple([named_dummy("x", *layout) for layout in operands])
    if isinstance(step.kind, kinds.PartOfSlice):
        args = (make(step.kind.sliced, symbols, step.kind.shape, symbols[0].dtype),)
    parts = zip(step.ops, step.shapes, step.dtypes, strict=True)
    made = [make(computed(step.kind, op), args, shape, dtype) for op, shape, dtype in parts]
    return made, symbols
