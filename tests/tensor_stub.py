"""What the half of Tensors adds, for those who do not load it.

``python -m tests.tensor_stub`` writes the declarations of what the modules of operations add to
``Tensor``, for type checkers, to ``numeric/_tensor_methods.pyi``, and the public names to
``numeric/_tensor_names.py``; a test holds the files equal to what this module makes of the half as
it is at run time.
"""

from __future__ import annotations

import builtins
import inspect
import re
from collections import defaultdict
from pathlib import Path
from textwrap import fill
from typing import Any

import numeric
import numeric.nn
import numeric.optim  # whatever adds methods is imported
from numeric import tensors
from numeric.eager.tensor import Tensor
from symdiff.subjects import home

PATH = Path(inspect.getfile(numeric)).with_name("_tensor_methods.pyi")
NAMES = PATH.with_name("_tensor_names.py")

_HEAD = '''\
"""What the modules of operations add to ``Tensor``: written by ``python -m tests.tensor_stub``."""

import builtins
from collections.abc import Callable, Iterable, Iterator
from typing import Any, SupportsIndex

import numpy as np

from numeric.autograd.hooks import RemovableHandle
from numeric.eager import dtypes
from numeric.eager.record import Record
from numeric.eager.tensor import Tensor
from numeric.eager.types import DeviceLike, DtypeLike, Operand, TensorLike
from numeric.ops.creation import device as Device  # noqa: N812
from numeric.ops.random_numbers import Generator
from numeric.show.drawings import Drawing
from numeric.types import Dims, SizeLike
from symdiff.graph.expr import Expr

class TensorMethods:
'''
_NAMES_HEAD = '''\
"""The public names of Tensors by module, in brackets by kind: ``python -m tests.tensor_stub``.

``numeric`` lists them without loading what they name.
"""

from __future__ import annotations

TENSOR_NAMES = {
'''
# An operator is asked for anything, and answers NotImplemented to what it does not know: for the
# caller that is a TypeError.
_OPERATORS = re.compile(
    "__[ri]?(add|sub|mul|truediv|floordiv|mod|pow|matmul|and|or|xor|lshift|rshift)__"
    "|__(eq|ne|lt|le|gt|ge)__"
)
# Inside the class, names such as `bool` and `float` are methods.
_BUILTIN = re.compile(rf"(?<![\w.])({'|'.join(vars(builtins))})(?!\w)")
_NAMES = {"Dtype": "dtypes.dtype", "dtype": "dtypes.dtype"}
_OBJECT = {"__eq__", "__ne__"}  # object says that these give a bool


def declarations() -> str:
    """The text of the file."""
    added = {
        name: member
        for name, member in vars(Tensor).items()
        if (inspect.isfunction(member) or isinstance(member, property))
        and behind(member).__module__ != Tensor.__module__
    }
    # The file is read by formatters, too: methods first by kind, then by name.
    return _HEAD + "".join(_declared(name, added[name]) for name in sorted(added))


def names() -> str:
    """The text of the file of public names."""
    homes = defaultdict(list)
    for name in sorted(tensors.__all__):
        homes[home(getattr(tensors, name)).removeprefix("numeric.")].append(name)
    wrapped = {
        place: fill(" ".join(found), 96, initial_indent=" " * 8, subsequent_indent=" " * 8)
        for place, found in sorted(homes.items())
    }
    entries = [f'    "{place}": """\n{text}\n    """,\n' for place, text in wrapped.items()]
    return f"{_NAMES_HEAD}{''.join(entries)}}}\n"


def behind(member: Any) -> Any:
    """The function that a member is made of."""
    return member.fget if isinstance(member, property) else inspect.unwrap(member)


def _declared(name: str, member: Any) -> str:
    function = behind(member)
    signature = inspect.signature(function)
    operator = _OPERATORS.fullmatch(name)
    result = "Tensor" if operator else _type(signature.return_annotation)
    if isinstance(member, property):
        text = f"    @property\n    def {name}(self) -> {result}: ...\n"
        if member.fset is not None:
            text += f"    @{name}.setter\n    def {name}(self, value: {result}) -> None: ...\n"
        return text
    ignored = "  # type: ignore[override]" if name in _OBJECT else ""
    parameters = "self, other: builtins.object" if operator else _parameters(signature)
    return f"    def {name}({parameters}) -> {result}: ...{ignored}\n"


def _parameters(signature: inspect.Signature) -> str:
    texts = ["self"]
    starred = False
    for p in list(signature.parameters.values())[1:]:
        if p.kind is p.VAR_POSITIONAL or (p.kind is p.KEYWORD_ONLY and not starred):
            starred = True
            if p.kind is p.KEYWORD_ONLY:
                texts.append("*")
        stars = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        default = "" if p.default is p.empty else " = ..."
        texts.append(f"{stars}{p.name}: {_type(p.annotation)}{default}")
    return ", ".join(texts)


def _type(annotation: Any) -> str:
    assert isinstance(annotation, str), "a method of Tensor has annotations"
    named = re.sub(r"(?<![\w.])\w+", lambda m: _NAMES.get(m[0], m[0]), annotation)
    return _BUILTIN.sub(lambda m: m[0] if m[0] == "None" else f"builtins.{m[0]}", named)


if __name__ == "__main__":
    PATH.write_text(declarations())
    NAMES.write_text(names())
    print(PATH, NAMES)
