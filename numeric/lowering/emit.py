"""What the programs of one Function share: names, constants and kernels."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from numeric.lowering.contraction import explain
from numeric.lowering.kernels import kernel, parts_kernel
from numeric.lowering.schedule import quotient
from symdiff import ops
from symdiff.leaves import named_dummy
from symdiff.letters import shape_text
from symdiff.locks import fork_safe_lock
from symdiff.node import make

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numeric.lowering.steps import Step
    from symdiff.node import Dtype, Shape

NUMPY, MATH = "numpy", "math"


class Emitter:
    """The names that the programs of one Function call, and what they stand for."""

    def __init__(self) -> None:
        self.lock = fork_safe_lock()  # programs may be written when they are first called
        self.namespace: dict[str, Any] = {"inf": math.inf, "nan": math.nan, "quotient": quotient}
        self._named: dict[Any, str] = {}
        self._counts: dict[str, int] = {}
        self.legend: dict[str, str] = {}

    def bind(self, key: Any, name: str, make: Callable[[], Any], numbered: bool = False) -> str:
        """The name of what ``key`` stands for, in the namespace of all programs."""
        found = self._named.get(key)
        if found is None:
            found = name
            while numbered or found in self.namespace:
                self._counts[name] = self._counts.get(name, 0) + 1
                found = f"{name}_{self._counts[name]}"
                numbered = False
            self.namespace[found] = make()
            self._named[key] = found
        return found

    def function(self, name: str, value: Any) -> str:
        """The name under which a function of a template is called."""
        return self.bind((name, id(value)), name, lambda: value)

    def kernel_of(self, step: Step, operands: Sequence[tuple[Shape, Dtype]]) -> str:
        """The name of the kernel of a step over operands of these shapes and dtypes.

        Equal ops on equal shapes share one.
        """
        shapes = tuple([shape for shape, _ in operands])
        dtypes = (*step.dtypes, *[dtype for _, dtype in operands])
        op: Any = step.op
        several = len(step.ops) > 1
        whole = op.whole if several else op
        name = re.sub(r"\W", "_", whole.name or type(whole).__name__.lower())

        def made() -> Callable[..., Any]:
            # A kernel knows shapes and dtypes of operands, and not what they are.
            args = tuple([named_dummy("x", *layout) for layout in operands])
            parts = zip(step.ops, step.shapes, step.dtypes, strict=True)
            nodes = [make(op, args, shape, dtype) for op, shape, dtype in parts]
            return parts_kernel(nodes) if several else kernel(nodes[0])

        found = self.bind((step.ops, shapes, dtypes), name, made, numbered=True)
        if found not in self.legend:
            text = " and ".join(map(shape_text, shapes))
            if isinstance(op, ops.Contract):
                text = f"{explain(op, shapes)}, {text}" if text else explain(op, shapes)
            values = " and ".join(map(shape_text, step.shapes))
            self.legend[found] = f"{text} -> {values}"
        return found

    def compiled(self, name: str, source: str) -> Callable[..., Any]:
        """The function ``name`` that ``source``, written here, defines."""
        found: dict[str, Any] = {}
        exec(compile(source, f"<numeric.lower: {name}>", "exec"), self.namespace, found)
        function: Callable[..., Any] = found[name]
        return function
