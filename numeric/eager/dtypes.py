"""The dtypes of Tensors, their promotion, and the default dtype.

Promotion compares the category first (bool, integer, real), then the width.  Operands have three
ranks: tensors with axes, tensors without axes, Python numbers.  A lower rank can raise the category
of the result, but not its width within a category.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.eager.traced_arrays import Shadow

if TYPE_CHECKING:
    from collections.abc import Iterable

Numpy = np.dtype


class dtype:  # noqa: N801  # the name by which programs know it
    """A dtype of Tensors; the module's attributes are its only instances.

    >>> float32, float32.itemsize, float32.is_floating_point
    (torch.float32, 4, True)
    """

    __slots__ = ("is_floating_point", "itemsize", "name", "numpy")

    is_complex = False

    def __init__(self, name: str) -> None:
        self.name, self.numpy = name, np.dtype(name)
        self.is_floating_point = self.numpy.kind == "f"
        self.itemsize = self.numpy.itemsize

    @property
    def is_signed(self) -> bool:
        """Whether the dtype has negative values."""
        return self.numpy.kind in "fi"

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return "bool_" if self.name == "bool" else self.name


bool_ = dtype("bool")
uint8, int8, int16, int32, int64 = map(dtype, ("uint8", "int8", "int16", "int32", "int64"))
float16, float32, float64 = map(dtype, ("float16", "float32", "float64"))

OF_NUMPY: dict[Numpy, dtype] = {
    d.numpy: d for d in (bool_, uint8, int8, int16, int32, int64, float16, float32, float64)
}

# The names in PyTorch's messages: by its classes of tensors, and as types of C++.
_WORDS: dict[Numpy, tuple[str, str]] = {
    bool_.numpy: ("Bool", "bool"),
    uint8.numpy: ("Byte", "unsigned char"),
    int8.numpy: ("Char", "signed char"),
    int16.numpy: ("Short", "short int"),
    int32.numpy: ("Int", "int"),
    int64.numpy: ("Long", "long int"),
    float16.numpy: ("Half", "c10::Half"),
    float32.numpy: ("Float", "float"),
    float64.numpy: ("Double", "double"),
}


def word(kind: Numpy) -> str:
    """Return the name of a dtype in messages.

    >>> word(np.dtype("int64"))
    'Long'
    """
    return _WORDS[kind][0]


def type_word(kind: Numpy) -> str:
    """Return the name of a dtype in messages that come from C++.

    >>> type_word(np.dtype("int64"))
    'long int'
    """
    return _WORDS[kind][1]


BOOL, INT64 = bool_.numpy, int64.numpy
F16, F32, F64 = float16.numpy, float32.numpy, float64.numpy

_ARRAYS = (np.ndarray, Shadow)

_process_default = [float32]


def get_default_dtype() -> dtype:
    """Return the dtype of real Python numbers, ``float32`` unless ``set_default_dtype`` changed it.

    >>> get_default_dtype()
    torch.float32
    """
    return _process_default[0]


def set_default_dtype(d: dtype) -> None:
    """Make ``d`` the dtype of real Python numbers from now on, in every thread.

    Raises TypeError for a dtype that is not real.

    >>> set_default_dtype(float32)
    """
    if not isinstance(d, dtype) or not d.is_floating_point:
        raise TypeError(
            "set_default_dtype(): only floating-point types are supported as the default type; got "
            f"{d!r}"
        )
    _process_default[0] = d


def default() -> Numpy:
    """Return the default dtype as NumPy's."""
    return _process_default[0].numpy


def of(array: Any) -> dtype:
    """Return the dtype of an array.

    Raises TypeError for a dtype that Tensors do not have, and for a masked array.
    """
    if isinstance(array, np.ma.MaskedArray):
        raise TypeError(
            "a Tensor has no mask, and a masked array would lose it: use x.filled(number)"
        )
    try:
        return OF_NUMPY[array.dtype]
    except KeyError:
        raise TypeError(
            f"can't convert np.ndarray of type {array.dtype}. The only supported types are: "
            "float64, float32, float16, int64, int32, int16, int8, uint8, and bool."
        ) from None


def constant(x: object) -> Any:
    """Return an operand that is not a Tensor: a real number, or an array of a dtype of Tensors.

    Raises TypeError for anything else.  NumPy would compute with the real part of complex numbers,
    the days of dates and the order of strings.

    >>> constant(2.5), constant(1j)
    Traceback (most recent call last):
        ...
    TypeError: operands are Tensors, real numbers and arrays of these; 1j is none
    """
    if isinstance(x, np.ndarray):
        of(x)
    elif not isinstance(x, float | int | np.generic) or (
        isinstance(x, np.generic) and x.dtype.kind not in "biuf"
    ):
        raise TypeError(f"operands are Tensors, real numbers and arrays of these; {x!r} is none")
    return x


def of_number(value: object) -> Numpy:
    """Return the dtype of a Python number alone."""
    if isinstance(value, bool):
        return BOOL
    return INT64 if isinstance(value, int) else default()


# Promotion --------------------------------------------------------------------------------------


def promote_types(a: dtype, b: dtype) -> dtype:
    """Return the smallest dtype to which ``a`` and ``b`` convert: category first, then width.

    >>> promote_types(int64, float32), promote_types(uint8, int8)
    (torch.float32, torch.int16)
    """
    for place, d in enumerate((a, b), 1):
        if not isinstance(d, dtype):
            raise TypeError(
                f"promote_types(): argument 'type{place}' (position {place}) must be torch.dtype, "
                f"not {type(d).__name__}"
            )
    return OF_NUMPY[wider(a.numpy, b.numpy)]


def wider(a: Numpy, b: Numpy) -> Numpy:
    """Return the result of ``promote_types`` for NumPy's dtypes."""
    if (a.kind == "f") != (b.kind == "f"):
        return a if a.kind == "f" else b
    return np.promote_types(a, b)


def _raised(higher: Numpy | None, lower: Numpy | None) -> Numpy | None:
    """Return ``higher``, widened if ``lower`` is of a higher category."""
    if higher is None or lower is None:
        return higher or lower
    if higher.kind == "f":
        return higher
    if higher.kind == "b" or lower.kind == "f":
        return wider(higher, lower)
    return higher


def promoted(operands: Iterable[object]) -> Numpy:
    """Return the common dtype of arrays and Python numbers."""
    ranks: list[Numpy | None] = [None, None, None]
    for x in operands:
        if isinstance(x, _ARRAYS):
            rank, d = 0 if x.ndim else 1, x.dtype
        else:
            rank, d = 2, of_number(x)
        known = ranks[rank]
        ranks[rank] = d if known is None or known is d else wider(known, d)
    result = _raised(_raised(ranks[0], ranks[1]), ranks[2])
    assert result is not None
    return result


def promoted_real(operands: Iterable[object]) -> Numpy:
    """Return the common dtype, or the default dtype instead of an integer one."""
    result = promoted(operands)
    return result if result.kind == "f" else default()


def can_cast(from_: dtype, to: dtype) -> bool:
    """Whether a result of dtype ``from_`` may be written in place into a tensor of dtype ``to``.

    >>> can_cast(float64, float32), can_cast(float32, int64)
    (True, False)
    """
    order = "biuf"
    a, b = from_.numpy.kind, to.numpy.kind
    a, b = ("i" if k == "u" else k for k in (a, b))
    return order.index(a) <= order.index(b)
