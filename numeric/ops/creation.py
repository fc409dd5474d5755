"""Create Tensors from data, filled Tensors and sequences of numbers."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

import numpy as np

from numeric.eager import dtypes
from numeric.eager.dtypes import INT64, OF_NUMPY
from numeric.eager.dtypes import dtype as Dtype  # noqa: N812  # the name is an argument's
from numeric.eager.refusals import user_level
from numeric.eager.tensor import Size, Tensor, counter, edge_of, method, values_of, wrap
from numeric.eager.traced_arrays import Shadow
from numeric.warnings_off import SILENCE, noise, set_noise

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numeric.eager.types import DeviceLike, DtypeLike, Operand, TensorLike
    from numeric.types import SizeLike, Values


__all__ = [
    "arange",
    "as_tensor",
    "asarray",
    "device",
    "empty",
    "empty_like",
    "eye",
    "finfo",
    "from_numpy",
    "full",
    "full_like",
    "iinfo",
    "is_floating_point",
    "is_inference",
    "is_tensor",
    "linspace",
    "logspace",
    "ones",
    "ones_like",
    "result_type",
    "scalar_tensor",
    "tensor",
    "zeros",
    "zeros_like",
]


# Arguments --------------------------------------------------------------------------------------


class device:  # noqa: N801  # the name by which programs know it
    """The device of tensors: the CPU.

    >>> device("cpu"), device("cpu").type
    (device(type='cpu'), 'cpu')
    """

    __slots__ = ("type",)

    index = None

    type: str

    def __init__(self, type: DeviceLike = "cpu") -> None:
        name = type.type if isinstance(type, device) else type
        if not isinstance(name, str) or name.split(":")[0] != "cpu":
            raise RuntimeError(f"Expected one of cpu device type at start of device string: {name}")
        self.type = "cpu"

    def __repr__(self) -> str:
        return "device(type='cpu')"

    def __str__(self) -> str:
        return "cpu"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device)

    def __hash__(self) -> int:
        return hash("cpu")

    def __reduce__(self) -> tuple[object, ...]:
        return device, ("cpu",)


CPU = device("cpu")

# Python's types stand for dtypes too.
_OF_TYPE = {float: dtypes.float64, int: dtypes.int64, bool: dtypes.bool_}


@overload
def kind_of(name: str, given: Dtype | type) -> np.dtype: ...
@overload
def kind_of(name: str, given: DtypeLike) -> np.dtype | None: ...
def kind_of(name: str, given: DtypeLike) -> np.dtype | None:
    """Return NumPy's dtype for the argument ``dtype`` of function ``name``; None for None.

    Raises TypeError for an object that is not a dtype.
    """
    if given is None:
        return None
    requested = (
        given
        if isinstance(given, Dtype)
        else _OF_TYPE.get(given)
        if isinstance(given, type)
        else None
    )
    if requested is None:
        raise TypeError(
            f"{name}(): argument 'dtype' must be torch.dtype, not {type(given).__name__}"
        )
    return requested.numpy


def integer(value: object) -> int | None:
    """Return a length or position as an int; None if it is not an integer."""
    if isinstance(value, int):
        return None if isinstance(value, bool) else value
    if isinstance(value, Tensor) and (
        value._array.size != 1 or value._array.dtype.kind not in "iu"
    ):
        return None
    if isinstance(value, Tensor):
        return int(values_of(value).reshape(()))
    return int(value) if isinstance(value, np.integer) else None


_LARGE = 2**60  # a length that no memory has bytes for


def sizes(name: str, args: Sequence[object]) -> tuple[int, ...]:
    """Return the shape in ``f(2, 3)`` or ``f((2, 3))``, for function ``name``.

    Raises TypeError for an object that is not a length, RuntimeError for a negative one.
    """
    if len(args) == 1 and isinstance(args[0], tuple | list):
        args = tuple(args[0])
    elif len(args) == 1 and integer(args[0]) is None:
        raise TypeError(
            f"{name}(): argument 'size' (position 1) must be tuple of ints, not "
            f"{type(args[0]).__name__}"
        )
    out = []
    for place, value in enumerate(args, 1):
        n = integer(value)
        if n is None:
            raise TypeError(
                f"{name}(): argument 'size' failed to unpack the object at pos {place} with error "
                f'"type must be tuple of ints,but got {type(value).__name__}"'
            )
        if n > _LARGE:
            raise RuntimeError(f"{name}: Storage size calculation overflowed with sizes={[*args]}")
        if n < 0:
            raise RuntimeError(
                f"{name}: Dimension size must be non-negative. Trying to create tensor with "
                f"negative dimension {n}: {list(args)}"
            )
        out.append(n)
    return tuple(out)


def _size(name: str, args: Sequence[object], size: SizeLike | None) -> tuple[int, ...]:
    if size is not None:
        return sizes(name, (size,))
    if not args:
        raise TypeError(f'{name}() missing 1 required positional arguments: "size"')
    return sizes(name, args)


def number(name: str, argument: str, value: object) -> float:
    """Return a Python number from a number, a NumPy scalar or a tensor without axes.

    Raises TypeError for anything else.
    """
    if isinstance(value, Tensor):
        value = values_of(value) if value._array.ndim == 0 else value
    if (
        isinstance(value, np.generic | np.ndarray | Shadow)
        and value.ndim == 0
        and value.dtype.kind in "biuf"
    ):
        python_number: float = value.item()
        return python_number
    if isinstance(value, bool | int | float):
        return value
    raise TypeError(f"{name}(): argument '{argument}' must be Number, not {type(value).__name__}")


def _tensor_argument(name: str, value: object) -> Tensor:
    if not isinstance(value, Tensor):
        raise TypeError(
            f"{name}(): argument 'input' (position 1) must be Tensor, not {type(value).__name__}"
        )
    return value


def made(
    array: np.ndarray, requires_grad: bool, where: DeviceLike = None, out: object = None
) -> Tensor:
    """Return a leaf on an array, without a copy; ``where`` and ``out`` are only checked."""
    if where is not None and not isinstance(where, device):
        device(where)
    if out is not None:
        raise TypeError("out= is not supported: use the result, or copy_ it")
    if requires_grad is not False and not isinstance(requires_grad, bool):
        raise TypeError(
            f"argument 'requires_grad' must be bool, not {type(requires_grad).__name__}"
        )
    if requires_grad and array.dtype.kind != "f":
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    x = wrap(array)
    if requires_grad:
        x._rg = True
    return x


# From data --------------------------------------------------------------------------------------


def tensor(
    data: TensorLike,
    *,
    dtype: DtypeLike = None,
    device: DeviceLike = None,
    requires_grad: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return a new leaf with a copy of the data: numbers, nested sequences of them, arrays.

    Without ``dtype``, bools become ``bool``, integers ``int64`` and real numbers the default dtype;
    NumPy's arrays keep their own.  ``name``, an identifier, is the tensor's name in expressions.
    Raises ValueError for ragged sequences.

    >>> tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    """
    if isinstance(data, Tensor):
        warnings.warn(
            "To copy construct from a tensor, it is recommended to use "
            "sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than "
            "torch.tensor(sourceTensor).",
            UserWarning,
            stacklevel=user_level(),
        )
    x = made(converted(data, kind_of("tensor", dtype), "tensor"), requires_grad, device)
    if name is not None:
        if not isinstance(name, str) or not name.isidentifier():
            raise ValueError(f"tensor(): argument 'name' must be an identifier, not {name!r}")
        x._name = name
    return x


def converted(data: object, kind: np.dtype | None, caller: str, copy: bool = True) -> np.ndarray:
    """Return the data as an array of dtype ``kind``, or of the dtype that it implies."""
    if isinstance(data, Tensor):
        data = values_of(data)
    if isinstance(data, np.generic):
        data = np.asarray(data)
    if isinstance(data, np.ndarray):
        return as_kind(_usable(data), kind, copy)
    if hasattr(data, "__array__") and not isinstance(data, list | tuple):
        return as_kind(_usable(np.asarray(data)), kind, copy)
    if isinstance(data, str):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    shape, leaves = _leaves(data)
    if isinstance(leaves, np.ndarray):
        return as_kind(_usable(leaves), kind, False)
    implied = _implied(leaves)
    return _filled(leaves, implied if kind is None else kind, shape)


def as_kind(array: np.ndarray, kind: np.dtype | None, copy: bool) -> np.ndarray:
    """Return the array in another dtype, by C's conversions; ``copy`` forces new memory."""
    before = noise()
    try:
        set_noise(SILENCE)
        return array.astype(array.dtype if kind is None else kind, copy=copy)
    finally:
        set_noise(before)


def _usable(array: np.ndarray) -> np.ndarray:
    """Return one of NumPy's arrays if a tensor can use it without a copy."""
    if array.dtype not in OF_NUMPY and array.dtype.newbyteorder("=") not in OF_NUMPY:
        raise TypeError(
            f"can't convert np.ndarray of type numpy.{array.dtype.type.__name__}. The only "
            "supported types are: float64, float32, float16, int64, int32, int16, int8, uint8, "
            "and bool."
        )
    if isinstance(array, np.ma.MaskedArray):
        dtypes.of(array)
    if any(s < 0 for s in array.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative "
            "strides are not currently supported. (You can probably work around this by making a "
            "copy of your array  with array.copy().) "
        )
    if not array.dtype.isnative:
        raise ValueError(
            "given numpy array has byte order different from the native byte order. Conversion "
            "between byte orders is currently not supported."
        )
    if array.dtype is not OF_NUMPY[array.dtype].numpy:  # equal dtypes must be one object
        array = array.view(OF_NUMPY[array.dtype].numpy)
    return array if array.__class__ is np.ndarray else array.view(np.ndarray)


def _is_sequence(x: object) -> bool:
    if isinstance(x, np.ndarray):
        return x.ndim > 0
    if isinstance(x, Tensor | str | bytes | dict | np.generic):
        return False
    return isinstance(x, list | tuple) or (hasattr(x, "__getitem__") and hasattr(x, "__len__"))


_MOST_AXES = 64  # of NumPy's arrays


def _leaves(data: Any) -> tuple[list[int], Any]:
    """Return the shape of nested sequences, and their contents as a list or one array."""
    shape: list[int] = []
    level = [data]
    while _is_sequence(level[0]):
        if len(shape) == _MOST_AXES:
            raise ValueError(f"too many dimensions: more than {_MOST_AXES}, or a list in itself")
        if all(isinstance(x, np.ndarray) for x in level):
            whole = _joined(level)
            if whole is not None:
                return [], whole.reshape(*shape, *whole.shape[1:])
        n = len(level[0])
        for x in level:
            if not _is_sequence(x):
                raise TypeError("not a sequence")
            if len(x) != n:
                raise ValueError(
                    f"expected sequence of length {n} at dim {len(shape)} (got {len(x)})"
                )
        shape.append(n)
        level = [y for x in level for y in x]
        if not level:
            break
    return shape, level


def _joined(arrays: Sequence[np.ndarray]) -> np.ndarray | None:
    """Join arrays of one shape to one; None for different shapes."""
    if len({a.shape for a in arrays}) > 1:
        return None
    kinds = [_usable(a).dtype for a in arrays]
    kind = kinds[0]
    for k in set(kinds):
        kind = dtypes.wider(kind, k)
    return np.stack([a.astype(kind) for a in arrays])


def _implied(leaves: Sequence[object]) -> np.dtype:
    """Return the dtype that numbers imply without a requested one."""
    kinds: dict[np.dtype, None] = {}
    for x in leaves:
        cls = type(x)
        if isinstance(x, Tensor):
            kinds[x._array.dtype] = None
        elif isinstance(x, np.ndarray | np.generic):
            kinds[_usable(np.asanyarray(x)).dtype] = None
        elif cls in _SCALARS or isinstance(x, bool | int | float):
            kinds[dtypes.of_number(x)] = None
        elif isinstance(x, str):
            raise ValueError(f"too many dimensions '{cls.__name__}'")
        elif _is_sequence(x):
            raise TypeError(f"'{cls.__name__}' object cannot be interpreted as an integer")
        else:
            raise RuntimeError(f"Could not infer dtype of {cls.__name__}")
    widest = None
    for k in kinds:
        widest = k if widest is None else dtypes.wider(widest, k)
    return dtypes.default() if widest is None else widest


_SCALARS = frozenset((bool, int, float))


def _filled(leaves: Sequence[object], kind: np.dtype, shape: Sequence[int]) -> np.ndarray:
    if not all(type(x) in _SCALARS for x in leaves):
        leaves = [_scalar(x) for x in leaves]
    return cast_numbers(leaves, kind).reshape(shape)


def _scalar(x: object) -> object:
    if isinstance(x, Tensor):
        if x._array.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return values_of(x).item()
    return x.item() if isinstance(x, np.ndarray | np.generic) else x


def cast_numbers(values: Sequence[Any], kind: np.dtype) -> np.ndarray:
    """Return Python numbers as an array of dtype ``kind``.

    Raises ValueError for numbers beyond 64 bits, RuntimeError for numbers beyond the dtype.
    """
    before = noise()
    try:
        set_noise(SILENCE)
        if kind.kind in "fb":
            return np.array(values, dtype=kind)
        whole = [x if isinstance(x, int) else int(x) for x in values]
        array = np.array(whole, dtype=INT64)
    except (OverflowError, ValueError):
        if any(isinstance(x, int) for x in values):
            raise ValueError("Overflow when unpacking long long") from None
        raise RuntimeError(f"value cannot be converted to type {kind} without overflow") from None
    finally:
        set_noise(before)
    if kind != INT64 and array.size:
        info = np.iinfo(kind)
        # Negative numbers wrap around in unsigned dtypes.
        low = -int(info.max) if kind.kind == "u" else int(info.min)
        if int(array.min()) < low or int(array.max()) > int(info.max):
            raise RuntimeError(f"value cannot be converted to type {kind} without overflow")
    return array.astype(kind)


def as_tensor(data: TensorLike, dtype: DtypeLike = None, device: DeviceLike = None) -> Tensor:
    """Return the data as a tensor, without a copy if possible: tensors themselves, arrays.

    >>> as_tensor([1.0, 2.0])
    tensor([1., 2.])
    """
    kind = kind_of("as_tensor", dtype)
    if isinstance(data, Tensor):
        made(np.empty(0), False, device)
        return data if kind is None or kind == data._array.dtype else data.to(OF_NUMPY[kind])
    return made(converted(data, kind, "as_tensor", copy=False), False, device)


def asarray(
    obj: TensorLike,
    *,
    dtype: DtypeLike = None,
    device: DeviceLike = None,
    copy: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return the data as a tensor, as ``as_tensor``; ``copy=True`` forces new memory.

    >>> asarray([1, 2])
    tensor([1, 2])
    """
    x = as_tensor(obj, dtype, device)
    if copy and not isinstance(obj, list | tuple | int | float):
        x = x.clone()
    return x.requires_grad_() if requires_grad else x


def from_numpy(ndarray: np.ndarray) -> Tensor:
    """Return a tensor on the memory of a NumPy array.

    >>> a = np.zeros(2)
    >>> x = from_numpy(a)
    >>> a[0] = 1.0
    >>> x
    tensor([1., 0.], dtype=torch.float64)
    """
    if not isinstance(ndarray, np.ndarray):
        cls = type(ndarray)
        name = f"numpy.{cls.__name__}" if isinstance(ndarray, np.generic) else cls.__name__
        raise TypeError(f"expected np.ndarray (got {name})")
    return wrap(_usable(ndarray))


def scalar_tensor(
    s: Operand, *, dtype: DtypeLike = None, device: DeviceLike = None, requires_grad: bool = False
) -> Tensor:
    """Return a tensor without axes, of the default dtype unless ``dtype`` is another.

    >>> scalar_tensor(3)
    tensor(3.)
    """
    kind = kind_of("scalar_tensor", dtype) or dtypes.default()
    value = number("scalar_tensor", "s", s)
    return made(cast_numbers([value], kind).reshape(()), requires_grad, device)


@method("__init__")
def construct(self: Tensor, *args: object, **kwargs: DeviceLike) -> None:
    """Return the result of ``Tensor(...)``: from lengths, a sequence, or another tensor."""
    where = kwargs.pop("device", None)
    if kwargs:
        raise TypeError(
            "new() received an invalid combination of arguments: some of the keywords were "
            f"incorrect: {', '.join(kwargs)}"
        )
    kind = dtypes.default()
    source = args[0] if len(args) == 1 and isinstance(args[0], Tensor) else None
    if source is not None:
        array = source._array
    elif len(args) == 1 and isinstance(args[0], str):
        raise TypeError(f"new(): invalid data type '{type(args[0]).__name__}'")
    elif not args:
        array = np.empty(0, kind)
    elif all(integer(a) is not None for a in args) or isinstance(args[0], Size):
        array = np.zeros(sizes("new", args), kind)
    elif len(args) == 1 and _is_sequence(args[0]):
        array = converted(args[0], kind, "new")
    else:
        raise TypeError(f"new(): data must be a sequence (got {type(args[0]).__name__})")
    x = made(array, False, where)
    self._array, self._rg, self._edge, self._v = x._array, False, None, None
    self._special = x._special
    if x._inference:
        self._inference = True
    if source is None and x._traced is not None:
        self._traced = x._traced
    if source is not None:  # another tensor on the same memory, with the same history
        self._v, self._rg, self._edge = counter(source), source._rg, edge_of(source)
        if source._special:
            self._special, self._nr, self._inference = True, source._nr, source._inference


# Filled -----------------------------------------------------------------------------------------


def zeros(
    *args: SizeLike,
    size: SizeLike | None = None,
    dtype: DtypeLike = None,
    requires_grad: bool = False,
    device: DeviceLike = None,
    out: object = None,
) -> Tensor:
    """Return a tensor of zeros.

    >>> zeros(2, 3)
    tensor([[0., 0., 0.],
            [0., 0., 0.]])
    """
    kind = kind_of("zeros", dtype) or dtypes.default()
    return made(np.zeros(_size("zeros", args, size), kind), requires_grad, device, out)


def ones(
    *args: SizeLike,
    size: SizeLike | None = None,
    dtype: DtypeLike = None,
    requires_grad: bool = False,
    device: DeviceLike = None,
    out: object = None,
) -> Tensor:
    """Return a tensor of ones.

    >>> ones((2,), dtype=dtypes.int64)
    tensor([1, 1])
    """
    kind = kind_of("ones", dtype) or dtypes.default()
    return made(np.ones(_size("ones", args, size), kind), requires_grad, device, out)


def empty(
    *args: SizeLike,
    size: SizeLike | None = None,
    dtype: DtypeLike = None,
    requires_grad: bool = False,
    device: DeviceLike = None,
    out: object = None,
) -> Tensor:
    """Return a tensor with arbitrary values, to be written later.

    >>> empty(2, 3).shape
    torch.Size([2, 3])
    """
    kind = kind_of("empty", dtype) or dtypes.default()
    return made(np.empty(_size("empty", args, size), kind), requires_grad, device, out)


def full(
    size: SizeLike,
    fill_value: Operand,
    *,
    dtype: DtypeLike = None,
    requires_grad: bool = False,
    device: DeviceLike = None,
    out: object = None,
) -> Tensor:
    """Return a tensor filled with one value, whose dtype is the default.

    >>> full((2,), 3), full((2,), 0.5)
    (tensor([3, 3]), tensor([0.5000, 0.5000]))
    """
    if not isinstance(size, tuple | list):
        raise TypeError(
            f"full(): argument 'size' (position 1) must be tuple of ints, not {type(size).__name__}"
        )
    value = number("full", "fill_value", fill_value)
    kind = kind_of("full", dtype) or dtypes.of_number(value)
    return made(_constant(sizes("full", (size,)), value, kind), requires_grad, device, out)


def _constant(shape: Sequence[int], value: float, kind: np.dtype) -> np.ndarray:
    return np.full(shape, cast_numbers([value], kind)[0], kind)


def eye(
    n: SupportsIndex,
    m: SupportsIndex | None = None,
    *,
    dtype: DtypeLike = None,
    requires_grad: bool = False,
    device: DeviceLike = None,
    out: object = None,
) -> Tensor:
    """Return the identity matrix with ``n`` rows and ``m`` columns (``n`` for None).

    >>> eye(2)
    tensor([[1., 0.],
            [0., 1.]])
    """
    lengths = []
    for name, value in (("n", n), ("m", n if m is None else m)):
        k = integer(value)
        if k is None:
            raise TypeError(
                f"eye(): argument '{name}' (position {1 + (name == 'm')}) must be int, not "
                f"{type(value).__name__}"
            )
        if k < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {k}")
        lengths.append(k)
    kind = kind_of("eye", dtype) or dtypes.default()
    return made(np.eye(*lengths, dtype=kind), requires_grad, device, out)


def arange(
    *args: Operand,
    start: Operand | None = None,
    end: Operand | None = None,
    step: Operand | None = None,
    dtype: DtypeLike = None,
    requires_grad: bool = False,
    device: DeviceLike = None,
    out: object = None,
) -> Tensor:
    """Return the numbers from ``start`` (0) up to ``end``, exclusive, by ``step`` (1).

    Integers give int64, other arguments the default dtype.  Raises RuntimeError for a step of zero
    or away from the end.

    >>> arange(3), arange(1, 2, 0.5)
    (tensor([0, 1, 2]), tensor([1.0000, 1.5000]))
    """
    given: list[Operand | None] = [*args]
    if len(given) == 1 and end is None:
        given = [0 if start is None else start, given[0]]
    elif not given:
        given = [0 if start is None else start, end]
    elif len(given) == 1:
        given.append(end)
    if len(given) == 2:
        given.append(1 if step is None else step)
    if len(given) != 3 or any(x is None for x in given):
        raise TypeError(
            "arange() received an invalid combination of arguments; expected arange(end), "
            "arange(start, end) or arange(start, end, step)"
        )
    a, b, h = (number("arange", n, x) for n, x in zip(_BOUNDS, given, strict=True))
    kind = kind_of("arange", dtype)
    if kind is None:
        kind = dtypes.default() if any(isinstance(x, float) for x in (a, b, h)) else INT64
    return made(_ranged(a, b, h, kind), requires_grad, device, out)


_BOUNDS = ("start", "end", "step")


def _ranged(a: float, b: float, h: float, kind: np.dtype) -> np.ndarray:
    if h == 0:
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(a) and math.isfinite(b)):
        raise RuntimeError(f"unsupported range: {a} -> {b}")
    if not abs((b - a) / h) <= _LARGE:  # nan, too
        raise RuntimeError(f"arange(): invalid size, possible overflow? from {a} to {b} by {h}")
    if (h > 0 and a > b) or (h < 0 and a < b):
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if kind == INT64:
        a, b, h = int(a), int(b), int(h)
        if h == 0:
            raise ValueError("step must be nonzero")
        return np.asarray(a + h * np.arange(-((a - b) // h), dtype=INT64))
    n = math.ceil((b - a) / h)
    if kind.kind == "f":
        return _stepped(float(a), float(h), n, kind)
    return np.asarray(int(a) + int(h) * np.arange(n), dtype=kind)


def _stepped(a: float, h: float, n: int, kind: np.dtype) -> np.ndarray:
    """Return ``a + h * i`` with PyTorch's roundings: full pairs of vectors from their own base."""
    i = np.arange(n)
    out = fused(i, h, a, dtypes.F64).astype(kind)
    width = 32 // max(kind.itemsize, 4)
    whole = n - n % (2 * width)
    bases = out[:whole:width, None]
    out[:whole] = fused(i[:width], h, bases, dtypes.F64).astype(kind).ravel()
    return out


def fused(x: Values, y: Values, z: Values, kind: np.dtype) -> np.ndarray:
    """Return ``x * y + z`` in a real dtype, rounded once if there is a wider dtype."""
    wide = np.longdouble if kind.itemsize == 8 else np.float64
    return np.asarray(np.multiply(x, y, dtype=wide) + z).astype(kind)


def linspace(
    start: Operand,
    end: Operand,
    steps: SupportsIndex,
    *,
    dtype: DtypeLike = None,
    requires_grad: bool = False,
    device: DeviceLike = None,
    out: object = None,
) -> Tensor:
    """Return ``steps`` equidistant numbers from ``start`` to ``end``, both included.

    >>> linspace(0, 1, 5)
    tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    a, b = number("linspace", "start", start), number("linspace", "end", end)
    kind = kind_of("linspace", dtype) or dtypes.default()
    return made(_spaced(a, b, integer(steps), kind), requires_grad, device, out)


def _spaced(a: float, b: float, n: int | None, kind: np.dtype) -> np.ndarray:
    """Compute equidistant numbers, each half from its own end, in the dtype itself."""
    if n is None:
        raise TypeError("linspace(): argument 'steps' must be int")
    if n < 0:
        raise RuntimeError("number of steps must be non-negative")
    if kind.kind != "f":
        a, b, inner = int(a), int(b), dtypes.F64
    else:
        inner = kind if kind.itemsize > 2 else dtypes.F32
    a, b = inner.type(a), inner.type(b)
    if n == 1:
        return np.full(1, a, kind)
    h = (b - a) / inner.type(max(n - 1, 1))
    i = np.arange(n)
    up, down = fused(i, h, a, inner), fused(n - 1 - i, -h, b, inner)
    return np.where(i < n // 2, up, down).astype(kind)


def logspace(
    start: Operand,
    end: Operand,
    steps: SupportsIndex,
    base: float = 10.0,
    *,
    dtype: DtypeLike = None,
    requires_grad: bool = False,
    device: DeviceLike = None,
    out: object = None,
) -> Tensor:
    """Return ``base`` to equidistant powers from ``start`` to ``end``.

    >>> logspace(0, 2, 3)
    tensor([  1.,  10., 100.])
    """
    a, b = number("logspace", "start", start), number("logspace", "end", end)
    kind = kind_of("logspace", dtype) or dtypes.default()
    if kind.kind != "f":
        a, b = int(a), int(b)
    array = (np.float64(base) ** _spaced(a, b, integer(steps), dtypes.F64)).astype(kind)
    return made(array, requires_grad, device, out)


# Like another -----------------------------------------------------------------------------------


def _like(name: str, input: Tensor, given: DtypeLike) -> tuple[tuple[int, ...], np.dtype]:
    x = _tensor_argument(name, input)
    return x._array.shape, kind_of(name, given) or x._array.dtype


def zeros_like(
    input: Tensor,
    *,
    dtype: DtypeLike = None,
    requires_grad: bool = False,
    device: DeviceLike = None,
    memory_format: object = None,
) -> Tensor:
    """Return zeros of another tensor's shape and dtype.

    >>> zeros_like(ones(2))
    tensor([0., 0.])
    """
    return made(np.zeros(*_like("zeros_like", input, dtype)), requires_grad, device)


def ones_like(
    input: Tensor,
    *,
    dtype: DtypeLike = None,
    requires_grad: bool = False,
    device: DeviceLike = None,
    memory_format: object = None,
) -> Tensor:
    """Return ones of another tensor's shape and dtype.

    >>> ones_like(zeros(2))
    tensor([1., 1.])
    """
    return made(np.ones(*_like("ones_like", input, dtype)), requires_grad, device)


def empty_like(
    input: Tensor,
    *,
    dtype: DtypeLike = None,
    requires_grad: bool = False,
    device: DeviceLike = None,
    memory_format: object = None,
) -> Tensor:
    """Return a tensor of another's shape and dtype with arbitrary values, to be written later.

    >>> empty_like(ones(2)).shape
    torch.Size([2])
    """
    return made(np.empty(*_like("empty_like", input, dtype)), requires_grad, device)


def full_like(
    input: Tensor,
    fill_value: Operand,
    *,
    dtype: DtypeLike = None,
    requires_grad: bool = False,
    device: DeviceLike = None,
    memory_format: object = None,
) -> Tensor:
    """Return a tensor of another's shape and dtype filled with one value.

    >>> full_like(ones(2), 3)
    tensor([3., 3.])
    """
    shape, kind = _like("full_like", input, dtype)
    value = number("full_like", "fill_value", fill_value)
    return made(_constant(shape, value, kind), requires_grad, device)


@method("new_tensor")
def _new_tensor(
    self: Tensor,
    data: TensorLike,
    *,
    dtype: DtypeLike = None,
    device: DeviceLike = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return a new leaf with a copy of the data, of this tensor's dtype."""
    if isinstance(data, Tensor):
        warnings.warn(
            "To copy construct from a tensor, it is recommended to use "
            "sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than "
            "tensor.new_tensor(sourceTensor).",
            UserWarning,
            stacklevel=user_level(),
        )
    kind = kind_of("new_tensor", dtype) or self._array.dtype
    return made(converted(data, kind, "new_tensor"), requires_grad, device)


def _new_method(name: str, make: Callable[..., np.ndarray]) -> None:
    def new(
        self: Tensor,
        *args: SizeLike,
        size: SizeLike | None = None,
        dtype: DtypeLike = None,
        device: DeviceLike = None,
        requires_grad: bool = False,
    ) -> Tensor:
        kind = kind_of(name, dtype) or self._array.dtype
        return made(make(_size(name, args, size), kind), requires_grad, device)

    new.__name__ = new.__qualname__ = name
    new.__doc__ = f"As ``torch.{name[4:]}``, of this tensor's dtype."
    method(name)(new)


for _name in ("zeros", "ones", "empty"):
    _new_method(f"new_{_name}", getattr(np, _name))


@method("new_full")
def _new_full(
    self: Tensor,
    size: SizeLike,
    fill_value: Operand,
    *,
    dtype: DtypeLike = None,
    device: DeviceLike = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return the result of ``torch.full``, in this tensor's dtype."""
    kind = kind_of("new_full", dtype) or self._array.dtype
    value = number("new_full", "fill_value", fill_value)
    return made(_constant(sizes("new_full", (size,)), value, kind), requires_grad, device)


# Questions --------------------------------------------------------------------------------------


def is_tensor(obj: object) -> bool:
    """Return whether an object is a Tensor.

    >>> is_tensor(zeros(1)), is_tensor(1)
    (True, False)
    """
    return isinstance(obj, Tensor)


def is_inference(input: Tensor) -> bool:
    """Return whether a tensor was created in inference mode, and no record can save it.

    >>> is_inference(zeros(1))
    False
    """
    return _tensor_argument("is_inference", input)._inference


@method()
def is_floating_point(input: Tensor) -> bool:
    """Return whether the elements are real numbers.

    >>> is_floating_point(tensor(1.0)), is_floating_point(tensor(1))
    (True, False)
    """
    return _tensor_argument("is_floating_point", input)._array.dtype.kind == "f"


def result_type(tensor1: Operand, tensor2: Operand) -> Dtype:
    """Return the common dtype of two tensors or numbers.

    >>> result_type(tensor([1]), 2.0)
    torch.float32
    """
    operands = []
    for x in (tensor1, tensor2):
        if not isinstance(x, Tensor | bool | int | float | np.number):
            raise TypeError(
                "result_type() received an invalid combination of arguments: expected Tensors or "
                f"Numbers, got {type(x).__name__}"
            )
        operands.append(x._array if isinstance(x, Tensor) else x)
    return OF_NUMPY[dtypes.promoted(operands)]


class finfo:  # noqa: N801
    """The limits of a real dtype, by default of the default dtype.

    >>> finfo(dtypes.float32).eps
    1.1920928955078125e-07
    """

    def __init__(self, type: Dtype | None = None) -> None:
        type = dtypes.get_default_dtype() if type is None else type
        if not isinstance(type, Dtype) or not type.is_floating_point:
            raise TypeError(
                "torch.finfo() requires a floating point input type. Use torch.iinfo to handle "
                "'torch.finfo'"
            )
        info = np.finfo(type.numpy)
        self.bits, self.dtype = info.bits, type.name
        self.eps, self.max, self.min = float(info.eps), float(info.max), float(info.min)
        self.tiny = self.smallest_normal = float(info.tiny)
        self.resolution = float(str(info.resolution))

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, "
            f"eps={self.eps:g}, smallest_normal={self.tiny:g}, tiny={self.tiny:g}, "
            f"dtype={self.dtype})"
        )


class iinfo:  # noqa: N801
    """The limits of an integer dtype.

    >>> iinfo(dtypes.uint8).max
    255
    """

    def __init__(self, type: Dtype) -> None:
        if not isinstance(type, Dtype) or type.numpy.kind not in "iu":
            raise TypeError(
                "torch.iinfo() requires an integer input type. Use torch.finfo to handle "
                "'torch.iinfo'"
            )
        info = np.iinfo(type.numpy)
        self.bits, self.dtype = info.bits, type.name
        self.min, self.max = int(info.min), int(info.max)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"
