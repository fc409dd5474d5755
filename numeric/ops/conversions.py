"""Convert Tensors to numbers, lists, arrays, other dtypes and copies; attributes of memory."""

from __future__ import annotations

import copy
import math
from operator import index
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from numeric.eager.dtypes import OF_NUMPY
from numeric.eager.dtypes import dtype as Dtype  # noqa: N812  # the name is an argument's
from numeric.eager.operations import Op
from numeric.eager.recording import TO, apply
from numeric.eager.refusals import refuse
from numeric.eager.tensor import Size, Tensor, attach, blank, counter, method, values_of, wrap
from numeric.eager.traced_arrays import Shadow
from numeric.guesses import TENSOR
from numeric.modes import current
from numeric.ops.creation import CPU, as_kind, from_numpy, kind_of
from numeric.ops.creation import device as Device  # noqa: N812
from numeric.ops.dim_arguments import axis_of, is_index
from symdiff.guesses import without

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numeric.eager.types import DeviceLike, DtypeLike, Operand
    from numeric.types import Dims


__all__ = ["clone", "contiguous_format", "detach", "is_same_size", "preserve_format"]

# What memory_format= takes.
contiguous_format, preserve_format = "torch.contiguous_format", "torch.preserve_format"


# Numbers, lists, arrays ---------------------------------------------------------------------------


def _read(self: Tensor, name: str) -> np.ndarray:
    """Return the array of a tensor whose values a method gives to the user's program.

    In a trace it raises: the program's use of the values would hold for every later call.
    """
    trace = current().tracing
    if trace is not None and not trace.readable(self):
        branch = ", in data-dependent control flow" if name == "__bool__" else ""
        refuse(f"the values of a tensor are needed ({name}){branch}")
    return self._array


@method("item")
def _item(self: Tensor) -> Any:
    """Return the only element as a Python number.  Raises RuntimeError for more or no elements."""
    a = _read(self, "item")
    if a.size != 1:
        raise RuntimeError(f"a Tensor with {a.size} elements cannot be converted to Scalar")
    return a.item()


@method("tolist")
def _tolist(self: Tensor) -> Any:
    """Return the elements as nested lists of Python numbers; a number if there are no axes."""
    return _read(self, "tolist").tolist()


@method("numpy")
def _numpy(self: Tensor, *, force: bool = False) -> np.ndarray:
    """Return the array of the tensor, on the same memory.

    Raises RuntimeError for a tensor that requires gradients while operations are recorded, unless
    ``force``.
    """
    if self._rg and not force and current().grad:
        raise RuntimeError(
            "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
        )
    return _read(self, "numpy")


def _as_array(self: Tensor, dtype: np.dtype | None = None, copy: bool | None = None) -> np.ndarray:
    return np.array(_numpy(self), dtype=dtype, copy=copy)


def _of_array(
    self: Tensor, array: np.ndarray, context: object = None, return_scalar: bool = False
) -> Tensor:
    """Convert results of NumPy's functions of tensors; bools become ``uint8``, as in PyTorch."""
    array = np.asarray(array)
    return from_numpy(array.astype(np.uint8) if array.dtype == bool else array)


def _truth(self: Tensor) -> bool:
    a = _read(self, "__bool__")
    if a.size != 1:
        many = "more than one value" if a.size else "no values"
        raise RuntimeError(f"Boolean value of Tensor with {many} is ambiguous")
    return bool(a)


def _number(kind: type[Any]) -> Callable[[Tensor], Any]:
    name = f"__{kind.__name__}__"

    def converted(self: Tensor) -> Any:
        a = _read(self, name)
        if a.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return kind(a.item())

    return converted


def _index(self: Tensor) -> int:
    a = _read(self, "__index__")
    if a.size != 1 or a.dtype.kind == "f":
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(a.item())


def _length(self: Tensor) -> int:
    if not self._array.ndim:
        raise TypeError("len() of a 0-d tensor")
    return len(self._array)


def _iterator(self: Tensor) -> Iterator[Tensor]:
    if not self._array.ndim:
        raise TypeError("iteration over a 0-d tensor")
    return iter(self.unbind(0))


def _reversed(self: Tensor) -> Tensor:
    return self.flip(0) if self._array.ndim else self


def _contains(self: Tensor, element: Operand) -> bool:
    if not isinstance(element, Tensor | bool | int | float | np.number):
        raise RuntimeError(
            "Tensor.__contains__ only supports Tensor or scalar, but you passed in a "
            f"{type(element)}."
        )
    value = values_of(element) if isinstance(element, Tensor) else element
    try:
        return bool(np.equal(_read(self, "__contains__"), value).any())
    except OverflowError:  # an integer that no element can be
        return False
    except ValueError:
        raise RuntimeError(
            f"The size of tensor a {list(np.shape(value))} must match the size of tensor b "
            f"{list(self._array.shape)}"
        ) from None


_PROTOCOL = {
    "array": _as_array,
    "array_wrap": _of_array,
    "bool": _truth,
    "float": _number(float),
    "int": _number(int),
    "complex": _number(complex),
    "index": _index,
    "len": _length,
    "iter": _iterator,
    "reversed": _reversed,
    "contains": _contains,
}
for _name, _function in _PROTOCOL.items():
    attach(f"__{_name}__", _function)


# Other dtypes -------------------------------------------------------------------------------------


def convert(x: Tensor, kind: np.dtype, copy: bool = False) -> Tensor:
    """Convert ``x`` to another dtype; return ``x`` itself if it has it, unless ``copy``."""
    if x._array.dtype is kind and not copy:
        return x
    if kind.kind != "f":  # nothing that could be differentiated
        return wrap(as_kind(values_of(x), kind, copy))
    return apply(TO, (x,), (kind,))


@method("to")
def _to(
    self: Tensor,
    *args: Any,
    dtype: DtypeLike = None,
    device: DeviceLike = None,
    other: Tensor | None = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: object = None,
) -> Tensor:
    """Return the tensor in another dtype, or in another tensor's: ``to([device,] dtype)``.

    It is the tensor itself if nothing changes, unless ``copy``.  Conversions between real dtypes
    are differentiable.
    """
    rest = [*args]
    if rest and isinstance(rest[0], Tensor):
        other = rest.pop(0)
    elif rest and (rest[0] is None or isinstance(rest[0], str | Device)):
        device = rest.pop(0)
        if rest and (rest[0] is None or isinstance(rest[0], Dtype | type)):
            dtype = rest.pop(0)
    elif rest and isinstance(rest[0], Dtype | type):
        dtype = rest.pop(0)
    if len(rest) > 2 or not all(isinstance(x, bool) for x in rest):
        names = ", ".join(type(x).__name__ for x in args)
        raise TypeError(
            f"to() received an invalid combination of arguments - got ({names}); expected a dtype, "
            "a device with or without a dtype, or a Tensor, then non_blocking and copy"
        )
    if len(rest) == 2:
        copy = rest[1]
    if device is not None:
        Device(device)
    if copy is not False and not isinstance(copy, bool):
        raise TypeError(f"to(): argument 'copy' must be bool, not {type(copy).__name__}")
    if other is not None and not isinstance(other, Tensor):
        raise TypeError(f"to(): argument 'other' must be Tensor, not {type(other).__name__}")
    kind = kind_of("to", dtype)
    if kind is None:
        kind = self._array.dtype if other is None else other._array.dtype
    return convert(self, kind, copy)


_LETTERS = {
    "double": "float64",
    "float": "float32",
    "half": "float16",
    "long": "int64",
    "int": "int32",
    "short": "int16",
    "char": "int8",
    "byte": "uint8",
    "bool": "bool",
}


def _casting(name: str, kind: np.dtype) -> None:
    def cast(self: Tensor, memory_format: object = None) -> Tensor:
        return convert(self, kind)

    cast.__name__ = cast.__qualname__ = name
    cast.__doc__ = f"The tensor in {kind}; the tensor itself if it has that dtype."
    method(name)(cast)


for _name, _kind in _LETTERS.items():
    _casting(_name, np.dtype(_kind))

# "torch.FloatTensor" and so on, by dtype.
_CLASSES = {np.dtype(kind): f"torch.{name.capitalize()}Tensor" for name, kind in _LETTERS.items()}


@method("type")
def _type(self: Tensor, dtype: DtypeLike | str = None, non_blocking: bool = False) -> Any:
    """Return the tensor in a dtype, also as ``"torch.FloatTensor"``; without one, its type's name.

    Raises ValueError for an unknown name.
    """
    if dtype is None:
        return _CLASSES[self._array.dtype]
    if isinstance(dtype, str):
        for kind, name in _CLASSES.items():
            if name == dtype:
                return convert(self, kind)
        raise ValueError(f"invalid type: '{dtype}'")
    return convert(self, kind_of("type", dtype))


@method("type_as")
def _type_as(self: Tensor, other: Tensor) -> Tensor:
    """Return the tensor in the dtype of another."""
    if not isinstance(other, Tensor):
        raise TypeError(
            f"type_as(): argument 'other' (position 1) must be Tensor, not {type(other).__name__}"
        )
    return convert(self, other._array.dtype)


@method("cpu")
def _cpu(self: Tensor, memory_format: object = None) -> Tensor:
    """Return the tensor itself: all tensors are on the CPU."""
    return self


# Copies -------------------------------------------------------------------------------------------


def _copied(a: np.ndarray, order: Literal["C", "K"]) -> np.ndarray:
    """Return a copy in C order (``C``), or with the present order of axes in memory (``K``)."""
    return a.copy("C" if 0 in a.strides else order)


CLONE = Op("clone", lambda x, order: x, _copied, promotion=None, variant="ordered")


@method()
def clone(input: Tensor, *, memory_format: object = preserve_format) -> Tensor:
    """Return a differentiable copy in new memory.

    >>> import numeric as torch
    >>> torch.clone(torch.tensor([1.0], requires_grad=True))
    tensor([1.], grad_fn=<CloneBackward0>)
    """
    in_order = isinstance(memory_format, str) and memory_format == contiguous_format
    return apply(CLONE, (input,), ("C" if in_order else "K",))


@method("contiguous")
def _contiguous(self: Tensor, memory_format: object = contiguous_format) -> Tensor:
    """Return the tensor with its elements in C order in memory: itself, or a copy."""
    if self._array.flags.c_contiguous:
        return self
    return clone(self, memory_format=contiguous_format)


@method()
def detach(input: Tensor) -> Tensor:
    """Return a tensor on the same memory that requires no gradients.

    A change of it in place counts as a change of ``input``.

    >>> import numeric as torch
    >>> torch.detach(torch.tensor([1.0], requires_grad=True))
    tensor([1.])
    """
    a: Any = input._array
    if a.__class__ is Shadow:
        a = a.detached(input._rg or a.requires())
    out = blank(a)
    out._v = counter(input)
    if input._inference:
        out._inference = out._special = True
    return out


@method("detach_")
def _detach_(self: Tensor) -> Tensor:
    """Make the tensor a leaf that requires no gradients.  Raises RuntimeError for views."""
    if self._base is not None:
        raise RuntimeError(
            "Can't detach views in-place. Use detach() instead. If you are using "
            "DistributedDataParallel (DDP) for training, and gradient_as_bucket_view is set as "
            "True, gradients are views of DDP buckets, and hence detach_() cannot be called on "
            "these gradients. To fix this error, please refer to the Optimizer.zero_grad() "
            "function in torch/optim/optimizer.py as a solution."
        )
    a: Any = self._array
    if a.__class__ is Shadow:
        self._array = a.detached(self._rg or a.requires())  # type: ignore[assignment]
    self._rg, self._edge = False, None
    if self._nr:
        self._nr = 0
        self._special = self._inference or self._volatile
    if self._retains:
        self._retains = False
    return self


def _data(self: Tensor) -> Tensor:
    """The same memory as a tensor without a history; assignment replaces the memory.

    A change of it in place is not detected: gradients that need the old values become wrong.
    """
    a: Any = self._array
    if a.__class__ is Shadow:
        a = a.detached(self._rg or a.requires())
    out = blank(a)
    if self._inference:
        out._inference = out._special = True
    return out


def _set_data(self: Tensor, value: Tensor) -> None:
    if current().tracing is not None:
        refuse("data is exchanged in place")
    if not isinstance(value, Tensor):
        raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
    if self._rg and value._array.dtype.kind != "f":
        raise RuntimeError(
            "data set to a tensor that requires gradients must be floating point or complex dtype"
        )
    self._array = value._array


attach("data", property(_data, _set_data))


def own(x: Tensor) -> dict[str, object]:
    """Return the attributes that users set on a tensor."""
    attributes = {name: value for name, value in x.__dict__.items() if not hasattr(Tensor, name)}
    if x._name is not None:
        attributes["_name"] = x._name
    return attributes


def remade(cls: type[Tensor], array: np.ndarray, rg: bool, own: dict[str, object]) -> Tensor:
    x = cls.__new__(cls)
    kind = OF_NUMPY[array.dtype].numpy  # unpickled dtypes may be equal without being the same
    x._array = array if array.dtype is kind else array.view(kind)
    x._rg, x._edge, x._v, x._special = rg, None, None, False
    x.__dict__.update(own)
    return x


def _copy(self: Tensor) -> Tensor:
    return remade(type(self), self._array, self._rg, own(self))


def _deepcopy(self: Tensor, memo: dict[Any, Any]) -> Tensor:
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
            "protocol at the moment."
        )
    out = remade(type(self), _array_copy(_read(self, "__deepcopy__"), memo), self._rg, {})
    memo[id(self)] = out
    out.__dict__.update(copy.deepcopy(own(self), memo))
    if self._grad is not None:
        out._grad = copy.deepcopy(self._grad, memo)
    return out


def _array_copy(a: np.ndarray, memo: dict[Any, Any]) -> np.ndarray:
    """Return a copy that shares memory with the copies of arrays that share memory with ``a``."""
    root = a
    while isinstance(root.base, np.ndarray):
        root = root.base
    flat = root.ravel(order="K")
    if root.base is not None or not np.may_share_memory(flat, root) or not a.size:
        return _copied(a, "K")
    key = ("memory", id(root))
    if key not in memo:
        memo[key] = flat.copy(), root  # a reference keeps its id unique
    new = memo[key][0]
    start = _address(a) - _address(flat)
    return np.ndarray(a.shape, a.dtype, new, start, a.strides)


def _address(a: np.ndarray) -> int:
    return int(a.__array_interface__["data"][0])


method("__copy__")(_copy)
method("__deepcopy__")(_deepcopy)


# Memory -------------------------------------------------------------------------------------------


def _axis(name: str, dim: Any, ndim: int) -> int:
    if isinstance(dim, bool) or not is_index(dim):
        raise TypeError(
            f"{name}(): argument 'dim' (position 1) must be int, not {type(dim).__name__}"
        )
    if not ndim:
        raise IndexError(f"Dimension specified as {index(dim)} but tensor has no dimensions")
    return axis_of(dim, ndim)


@method("size")
def _size(self: Tensor, dim: Dims | None = None) -> Any:
    """Return the shape, or one length of it.  Raises IndexError for an axis that does not exist."""
    shape = self._array.shape
    return Size(shape) if dim is None else shape[_axis("size", dim, len(shape))]


@method("stride")
def _stride(self: Tensor, dim: Dims | None = None) -> Any:
    """Return the distance of neighbours in elements, along each axis or one."""
    a = self._array
    if a.size:
        strides = tuple([s // a.itemsize for s in a.strides])
    else:  # NumPy's are all 0
        strides = tuple([math.prod(max(n, 1) for n in a.shape[i + 1 :]) for i in range(a.ndim)])
    return strides if dim is None else strides[_axis("stride", dim, a.ndim)]


@method("dim", "ndimension")
def _dim(self: Tensor) -> int:
    """Return the number of axes."""
    return self._array.ndim


@method("nelement")
def _nelement(self: Tensor) -> int:
    """Return the number of elements."""
    return self._array.size


@method("element_size")
def _element_size(self: Tensor) -> int:
    """Return the number of bytes of an element."""
    return self._array.itemsize


@method("is_contiguous")
def _is_contiguous(self: Tensor, memory_format: object = contiguous_format) -> bool:
    """Return whether the elements are in C order in memory."""
    return bool(self._array.flags.c_contiguous)


@method("data_ptr")
def _data_ptr(self: Tensor) -> int:
    """Return the address of the first element."""
    return _address(self._array) if self._array.size else 0


@method("storage_offset")
def _storage_offset(self: Tensor) -> int:
    """Return the number of elements in memory before the first one."""
    root = self._array
    while isinstance(root.base, np.ndarray):
        root = root.base
    return (_address(self._array) - _address(root)) // self._array.itemsize


@method()
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Return whether two tensors have the same shape.

    >>> import numeric as torch
    >>> torch.is_same_size(torch.zeros(2), torch.ones(2))
    True
    """
    return input._array.shape == other._array.shape


@method("is_signed")
def _is_signed(self: Tensor) -> bool:
    """Return whether the dtype has negative numbers."""
    return self._array.dtype.kind in "if"


@method("is_complex")
def _is_complex(self: Tensor) -> bool:
    """Return False: tensors are real."""
    return False


@method("_is_view")
def _is_view(self: Tensor) -> bool:
    """Return whether the tensor is a differentiable view."""
    return self._base is not None


@method("get_device")
def _get_device(self: Tensor) -> int:
    """Return the number of the device, -1 for the CPU."""
    return -1


def _device(self: Tensor) -> Device:
    """The device of the memory, the CPU."""
    return CPU


def _elsewhere(self: Tensor) -> bool:
    """False: tensors are dense, and on the CPU."""
    return False


def _itemsize(self: Tensor) -> int:
    """The number of bytes of one element."""
    return self._array.itemsize


def _nbytes(self: Tensor) -> int:
    """The number of bytes of all elements."""
    return self._array.nbytes


def _named(self: Tensor) -> str | None:
    """The tensor's name in expressions, or None."""
    return self._name


for _name, _getter in {
    "device": _device,
    "is_cuda": _elsewhere,
    "is_sparse": _elsewhere,
    "itemsize": _itemsize,
    "nbytes": _nbytes,
    "name": _named,
}.items():
    attach(_name, property(_getter))

without(Tensor, "a Tensor", TENSOR)
