"""Random tensors, with the numbers of PyTorch's CPU generator for the same seed.

A Mersenne twister generates 32 bits at a time.  A number of float32 takes 24 of them, one of
float64 53 bits of two draws.

The Box-Muller method generates normal numbers in pairs.  Fewer than 16 are generated one by one,
and the second of a pair is saved for the next call.  16 or more are generated in blocks of 16; if
the last block would not be full, the last 16 numbers are drawn again.  Blocks of float32 use
PyTorch's approximations of logarithm, sine and cosine, blocks of float64 the C library's.  So every
number agrees to the last bit if the C library agrees.
"""

from __future__ import annotations

import copy
import math
import os
from typing import TYPE_CHECKING, Any, SupportsIndex, SupportsInt

import numpy as np

from numeric.eager import dtypes
from numeric.eager.dtypes import F32, F64
from numeric.eager.tensor import Tensor, method, values_of, wrap
from numeric.modes import current
from numeric.ops.creation import fused, integer, kind_of, made, number, sizes
from symdiff.locks import fork_safe_lock

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numeric.eager.types import DeviceLike, DtypeLike, Operand
    from numeric.types import SizeLike, Values


__all__ = [
    "Generator",
    "bernoulli",
    "initial_seed",
    "manual_seed",
    "normal",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "randperm",
    "seed",
]

# From so many values on, whole numbers take 64 bits.
_WIDE = 1 << 28
# Fewer normal numbers are made one by one.
_BLOCK = 16


class Generator:
    """A source of random numbers; functions without a ``generator`` share one.

    >>> rand(2, generator=Generator().manual_seed(0))
    tensor([0.4963, 0.7682])
    """

    def __init__(self, device: DeviceLike = None) -> None:
        self.lock = fork_safe_lock()
        self._seed = 0
        self._bits: np.random.MT19937 | None = None
        self._kept: float | None = None
        self.manual_seed(67280421310721)

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in vars(self).items() if name != "lock"}

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update(state, lock=fork_safe_lock())

    def __copy__(self) -> Generator:
        return copy.deepcopy(self)  # two sources that shared their state would be one

    def manual_seed(self, seed: SupportsInt) -> Generator:
        """Restart from ``seed``, of which the last 32 bits count."""
        seed = int(seed)
        if not -(1 << 63) <= seed < 1 << 64:
            raise ValueError("Overflow when unpacking long long")
        with self.lock:
            self._seed = seed % (1 << 64)
            self._bits = None  # made when they are first drawn: NumPy loads a dozen modules
            self._kept = None
        return self

    def initial_seed(self) -> int:
        """Return the last seed."""
        return self._seed

    def seed(self) -> int:
        """Restart from a random seed, and return the seed."""
        self.manual_seed(int.from_bytes(os.urandom(8), "little"))
        return self._seed

    def bits32(self, n: int) -> np.ndarray:
        """Return ``n`` numbers of 32 bits, as uint64."""
        bits = self._bits
        if bits is None:
            bits = self._bits = np.random.MT19937()
            np.random.RandomState(bits).seed(self._seed % (1 << 32))
        return np.asarray(bits.random_raw(n), dtype=np.uint64)

    def bits64(self, n: int) -> np.ndarray:
        """Return ``n`` numbers of 64 bits, as uint64."""
        pairs = self.bits32(2 * n).reshape(n, 2)
        return np.asarray((pairs[:, 0] << np.uint64(32)) | pairs[:, 1])

    def uniform(self, n: int, kind: np.dtype) -> np.ndarray:
        """Return ``n`` numbers from 0 up to 1, exclusive."""
        if kind is F64:
            return (self.bits64(n) & np.uint64((1 << 53) - 1)) * 2.0**-53
        return ((self.bits32(n) & np.uint64((1 << 24) - 1)) * 2.0**-24).astype(kind)

    def below(self, bound: int, n: int) -> np.ndarray:
        """Return ``n`` integers from 0 up to ``bound``, exclusive, as uint64."""
        bits = self.bits32(n) if bound < _WIDE else self.bits64(n)
        return np.asarray(bits % np.uint64(bound))

    def normal(self, n: int, kind: np.dtype, mean: float = 0.0, std: float = 1.0) -> np.ndarray:
        """Return ``n`` numbers of a normal distribution."""
        if n < _BLOCK:
            ones = np.array([self._one() for _ in range(n)], dtype=F64)
            return fused(ones, std, mean, F64).astype(kind)
        whole = n - n % _BLOCK
        # The draws that are not used have been made, but for float16.
        u = self.uniform(n if kind.itemsize > 2 else whole, F64 if kind is F64 else F32)
        out = _blocks(u[:whole], mean, std)
        if whole < n:
            last = _blocks(self.uniform(_BLOCK, u.dtype), mean, std)
            out = np.concatenate([out[: n - _BLOCK], last])
        return out.astype(kind)

    def _one(self) -> float:
        """Return one number of the standard normal distribution."""
        kept, self._kept = self._kept, None
        if kept is not None:
            return kept
        a, b = self.uniform(2, F64).tolist()
        radius, angle = math.sqrt(-2.0 * math.log1p(-b)), 2.0 * math.pi * a
        self._kept = radius * math.sin(angle)
        return radius * math.cos(angle)


def _blocks(u: np.ndarray, mean: float, std: float) -> np.ndarray:
    """Convert blocks of 16 uniform numbers to normal ones: 8 radii, 8 angles."""
    real = u.dtype.type
    u = u.reshape(-1, 2, 8)
    a, angle = real(1) - u[:, 0], real(2 * math.pi) * u[:, 1]
    if real is np.float64:
        logarithm, sine, cosine = _each(math.log, a), _each(math.sin, angle), _each(math.cos, angle)
    else:
        logarithm, (sine, cosine) = _log(a), _sincos(angle)
    radius = np.sqrt(real(-2) * logarithm)
    pairs = np.stack([radius * cosine, radius * sine], 1).ravel()
    if real is np.float64:
        return fused(pairs, std, mean, F64)
    return _fma(pairs, real(std), real(mean))


def _each(function: Callable[[float], float], x: np.ndarray) -> np.ndarray:
    """Return a function of the C library, whose last bit may differ from NumPy's."""
    return np.fromiter(map(function, x.ravel().tolist()), F64, x.size).reshape(x.shape)


# The approximations of the Cephes library in single precision, with fused multiplications.
_LOG = (
    7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
    -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
)  # fmt: skip
_LN2 = (-2.12194440e-4, 0.693359375)
_SIN = (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
_COS = (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
_QUARTER = (-0.78515625, -2.4187564849853515625e-4, -3.77489497744594108e-8)  # of pi, in parts


def _fma(a: np.ndarray, b: Values, c: Values) -> np.ndarray:
    return fused(a, b, c, F32)


def _polynomial(x: np.ndarray, coefficients: Sequence[float]) -> np.ndarray:
    y: Values = np.float32(coefficients[0])
    for c in coefficients[1:]:
        y = _fma(x, y, np.float32(c))
    return np.asarray(y)


def _log(x: np.ndarray) -> np.ndarray:
    """Return logarithms of positive numbers."""
    m, e = np.frexp(x)
    low = m < np.float32(math.sqrt(0.5))
    m = np.where(low, m + m, m) - np.float32(1)
    power = (e - low).astype(F32)
    z = m * m
    y = _fma(power, np.float32(_LN2[0]), _polynomial(m, _LOG) * m * z)
    y = _fma(z, np.float32(-0.5), y)
    return _fma(power, np.float32(_LN2[1]), m + y)


def _sincos(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return sines and cosines of numbers that are not negative."""
    eighth = ((x * np.float32(4 / math.pi)).astype(np.int32) + 1) & ~1
    for part in _QUARTER:
        x = _fma(eighth.astype(F32), np.float32(part), x)
    z = x * x
    cosine = _fma(_polynomial(z, _COS) * z, z, -(z * np.float32(0.5))) + np.float32(1)
    sine = _fma(_polynomial(z, _SIN) * z, x, x)
    straight = eighth & 2 == 0
    s, c = np.where(straight, sine, cosine), np.where(straight, cosine, sine)
    return np.where(eighth & 4 != 0, -s, s), np.where((eighth - 2) & 4 == 0, -c, c)


_shared = Generator()
_shared.seed()


# Functions --------------------------------------------------------------------------------------


def manual_seed(seed: SupportsInt) -> Generator:
    """Restart the shared generator from ``seed``, and return it.

    >>> _ = manual_seed(0)
    >>> rand(2)
    tensor([0.4963, 0.7682])
    """
    return _shared.manual_seed(seed)


def seed() -> int:
    """Restart the shared generator from a random seed, and return the seed.

    >>> seed() == initial_seed()
    True
    """
    return _shared.seed()


def initial_seed() -> int:
    """Return the last seed of the shared generator.

    >>> _ = manual_seed(3)
    >>> initial_seed()
    3
    """
    return _shared.initial_seed()


def _source(generator: Generator | None) -> Generator:
    if generator is None:
        return _shared
    if not isinstance(generator, Generator):
        raise TypeError(f"expected a Generator for 'generator', not {type(generator).__name__}")
    return generator


def _real(name: str, dtype: DtypeLike, otherwise: np.dtype | None = None) -> np.dtype:
    kind = kind_of(name, dtype) or otherwise or dtypes.default()
    if kind.kind != "f":
        raise NotImplementedError(f'"{name}" not implemented for {dtypes.OF_NUMPY[kind]}')
    return kind


def _uniform(shape: tuple[int, ...], kind: np.dtype, generator: Generator | None) -> np.ndarray:
    source = _source(generator)

    def fresh(shape: tuple[int, ...]) -> np.ndarray:
        with source.lock:
            return source.uniform(math.prod(shape), kind).reshape(shape)

    return _drawn(shape, fresh)


def _normal(
    shape: tuple[int, ...],
    kind: np.dtype,
    generator: Generator | None,
    mean: float = 0.0,
    std: float = 1.0,
) -> np.ndarray:
    source = _source(generator)

    def fresh(shape: tuple[int, ...]) -> np.ndarray:
        with source.lock:
            return source.normal(math.prod(shape), kind, mean, std).reshape(shape)

    return _drawn(shape, fresh)


def _drawn(shape: tuple[int, ...], fresh: Callable[[tuple[int, ...]], np.ndarray]) -> np.ndarray:
    """Draw new numbers, in a ``vmap`` with "different" randomness other ones for each slice."""
    trace = current().tracing
    numbers: np.ndarray = fresh(shape) if trace is None else trace.drawn(shape, fresh)
    return numbers


def _shape(name: str, args: Sequence[object], size: SizeLike | None) -> tuple[int, ...]:
    if size is None and not args:
        raise TypeError(f'{name}() missing 1 required positional arguments: "size"')
    return sizes(name, args if size is None else (size,))


def rand(
    *args: SizeLike,
    size: SizeLike | None = None,
    dtype: DtypeLike = None,
    requires_grad: bool = False,
    device: DeviceLike = None,
    generator: Generator | None = None,
    out: object = None,
) -> Tensor:
    """Return uniformly distributed numbers between 0 and 1.

    >>> _ = manual_seed(0)
    >>> rand(2, 2)
    tensor([[0.4963, 0.7682],
            [0.0885, 0.1320]])
    """
    shape, kind = _shape("rand", args, size), _real("rand", dtype)
    return made(_uniform(shape, kind, generator), requires_grad, device, out)


def randn(
    *args: SizeLike,
    size: SizeLike | None = None,
    dtype: DtypeLike = None,
    requires_grad: bool = False,
    device: DeviceLike = None,
    generator: Generator | None = None,
    out: object = None,
) -> Tensor:
    """Return numbers of the standard normal distribution.

    >>> _ = manual_seed(0)
    >>> randn(3)
    tensor([ 1.5410, -0.2934, -2.1788])
    """
    shape, kind = _shape("randn", args, size), _real("randn", dtype)
    return made(_normal(shape, kind, generator), requires_grad, device, out)


def randint(
    *args: SizeLike,
    low: SupportsIndex | None = None,
    high: SupportsIndex | None = None,
    size: SizeLike | None = None,
    dtype: DtypeLike = None,
    requires_grad: bool = False,
    device: DeviceLike = None,
    generator: Generator | None = None,
    out: object = None,
) -> Tensor:
    """Return integers from ``low`` (0) up to ``high``, exclusive: ``randint([low,] high, size)``.

    Raises RuntimeError if there are none.

    >>> _ = manual_seed(0)
    >>> randint(10, (4,))
    tensor([4, 9, 3, 0])
    """
    given: list[Any] = [*args]
    if size is None and given:
        size = given.pop()
    if high is None and given:
        high = given.pop()
    if low is None:
        low = given.pop() if given else 0
    first, last = integer(low), integer(high)
    if given or first is None or last is None or not isinstance(size, tuple | list):
        raise TypeError(
            "randint() received an invalid combination of arguments; expected "
            "randint(high, size) or randint(low, high, size)"
        )
    kind = kind_of("randint", dtype) or dtypes.INT64
    array = _whole(first, last, sizes("randint", (size,)), kind, generator)
    return made(array, requires_grad, device, out)


def _whole(
    low: int, high: int, shape: tuple[int, ...], kind: np.dtype, generator: Generator | None
) -> np.ndarray:
    if low >= high:
        raise RuntimeError(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
        )
    if kind.kind != "f":
        info = np.iinfo(kind) if kind.kind != "b" else None
        least, most = (0, 1) if info is None else (int(info.min), int(info.max))
        for name, value in (("from", low), ("to - 1", high - 1)):
            if not least <= value <= most:
                raise RuntimeError(f"{name} is out of bounds for {dtypes.OF_NUMPY[kind]}")
    if high - low >= 1 << 64:
        raise RuntimeError(f"random_: the range from {low} to {high} has more than 2**64 numbers")
    source = _source(generator)

    def fresh(shape: tuple[int, ...]) -> np.ndarray:
        with source.lock:
            drawn = source.below(high - low, math.prod(shape))
        # Unsigned arithmetic wraps around to the right negative numbers.
        return (drawn + np.uint64(low % (1 << 64))).astype(np.int64).astype(kind).reshape(shape)

    return _drawn(shape, fresh)


def randperm(
    n: SupportsIndex,
    *,
    dtype: DtypeLike = None,
    requires_grad: bool = False,
    device: DeviceLike = None,
    generator: Generator | None = None,
    out: object = None,
) -> Tensor:
    """Return the numbers 0 to n - 1 in random order.

    >>> _ = manual_seed(0)
    >>> randperm(4)
    tensor([0, 1, 3, 2])
    """
    count = integer(n)
    if count is None:
        raise TypeError(
            f"randperm(): argument 'n' (position 1) must be int, not {type(n).__name__}"
        )
    (count,) = sizes("randperm", (count,))
    source = _source(generator)
    kind = kind_of("randperm", dtype) or dtypes.INT64

    def fresh(shape: tuple[int, ...]) -> np.ndarray:
        lines = [_order(source, count) for _ in range(math.prod(shape[:-1]))]
        return np.array(lines, dtype=kind).reshape(shape)

    return made(_drawn((count,), fresh), requires_grad, device, out)


def _order(source: Generator, count: int) -> list[int]:
    """Return the numbers below ``count`` in random order."""
    with source.lock:
        bits = source.bits32(max(count - 1, 0))
    jumps = (bits % np.arange(count, 1, -1, dtype=np.uint64)).tolist()
    order = list(range(count))
    for i, jump in enumerate(jumps):
        order[i], order[i + jump] = order[i + jump], order[i]
    return order


def normal(
    mean: Operand = 0.0,
    std: Operand = 1.0,
    size: SizeLike | None = None,
    *,
    dtype: DtypeLike = None,
    requires_grad: bool = False,
    device: DeviceLike = None,
    generator: Generator | None = None,
    out: object = None,
) -> Tensor:
    """Return normal numbers of a mean and a standard deviation: tensors, or numbers and a size.

    Raises RuntimeError for a negative deviation.

    >>> _ = manual_seed(0)
    >>> normal(1.0, 2.0, (2,)), normal(Tensor(2, 3), 1.0).shape
    (tensor([4.0820, 0.4131]), torch.Size([2, 3]))
    """
    tensors = [x for x in (mean, std) if isinstance(x, Tensor)]
    if not tensors and size is None:
        raise TypeError("normal() received an invalid combination of arguments: a size is missing")
    a: Any
    b: Any
    a, b = (
        values_of(x) if isinstance(x, Tensor) else number("normal", name, x)
        for name, x in (("mean", mean), ("std", std))
    )
    low = np.min(b, initial=0.0) if isinstance(std, Tensor) else b
    if low < 0.0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {low:g}")
    if not tensors:
        kind = _real("normal", dtype)
        array = _normal(sizes("normal", (size,)), kind, generator, a, b)
        return made(array, requires_grad, device, out)
    kind = _real("normal", None, tensors[0]._array.dtype)
    try:
        shape = np.broadcast_shapes(np.shape(a), np.shape(b))
    except ValueError:
        raise RuntimeError(
            f"normal: the shapes {list(np.shape(a))} and {list(np.shape(b))} do not broadcast: "
            "each size must match the other's"
        ) from None
    if isinstance(std, Tensor):
        array = _normal(shape, kind, generator) * b + a
    else:
        array = _normal(shape, kind, generator, 0.0, b) + a
    return made(array.astype(kind), requires_grad, device, out)


@method("normal_")
def _normal_(
    self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Generator | None = None
) -> Tensor:
    """Fill the tensor with normal numbers."""
    if std < 0.0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    kind = _real("normal_", None, self._array.dtype)
    out: Tensor = self.copy_(wrap(_normal(self._array.shape, kind, generator, mean, std)))
    return out


@method("uniform_")
def _uniform_(
    self: Tensor, *args: float, generator: Generator | None = None, **bounds: float
) -> Tensor:
    """Fill the tensor with uniformly distributed numbers between ``from`` (0) and ``to`` (1)."""
    given = dict(zip(("from", "to"), args, strict=False)) | bounds
    low, high = given.pop("from", 0.0), given.pop("to", 1.0)
    if given:
        raise TypeError(f"uniform_() got an unexpected keyword argument '{next(iter(given))}'")
    if low > high:
        raise RuntimeError(
            f"uniform_ expects to return a [from, to) range, but found from={low} > to={high}"
        )
    kind = _real("uniform_", None, self._array.dtype)
    u = _uniform(self._array.shape, F64 if kind is F64 else F32, generator)
    start, end = u.dtype.type(low), u.dtype.type(high)
    out: Tensor = self.copy_(wrap(fused(u, end - start, start, u.dtype)))
    return out


def bernoulli(input: Tensor, *, generator: Generator | None = None, out: object = None) -> Tensor:
    """Return ones and zeros: each element is the probability of a one.

    >>> _ = manual_seed(0)
    >>> bernoulli(Tensor([0.5, 0.2]))
    tensor([1., 0.])
    """
    p = values_of(input)
    if not bool(((p >= 0) & (p <= 1)).all()):
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
    u = _uniform(p.shape, F64 if p.dtype is F64 else F32, generator)
    return made((u < p).astype(p.dtype), False, None, out)


def _like(name: str, input: object, dtype: DtypeLike) -> tuple[tuple[int, ...], np.dtype]:
    if not isinstance(input, Tensor):
        raise TypeError(
            f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}"
        )
    return input._array.shape, kind_of(name, dtype) or input._array.dtype


def rand_like(
    input: Tensor,
    *,
    dtype: DtypeLike = None,
    requires_grad: bool = False,
    device: DeviceLike = None,
    generator: Generator | None = None,
    memory_format: object = None,
) -> Tensor:
    """Return the numbers of ``rand`` in another tensor's shape and dtype.

    >>> rand_like(Tensor(2, 3)).shape
    torch.Size([2, 3])
    """
    shape, kind = _like("rand_like", input, dtype)
    kind = _real("rand_like", None, kind)
    return made(_uniform(shape, kind, generator), requires_grad, device)


def randn_like(
    input: Tensor,
    *,
    dtype: DtypeLike = None,
    requires_grad: bool = False,
    device: DeviceLike = None,
    generator: Generator | None = None,
    memory_format: object = None,
) -> Tensor:
    """Return the numbers of ``randn`` in another tensor's shape and dtype.

    >>> randn_like(Tensor(2, 3)).shape
    torch.Size([2, 3])
    """
    shape, kind = _like("randn_like", input, dtype)
    kind = _real("randn_like", None, kind)
    return made(_normal(shape, kind, generator), requires_grad, device)


def randint_like(
    input: Tensor,
    *args: SizeLike,
    low: SupportsIndex | None = None,
    high: SupportsIndex | None = None,
    dtype: DtypeLike = None,
    requires_grad: bool = False,
    device: DeviceLike = None,
    generator: Generator | None = None,
    memory_format: object = None,
) -> Tensor:
    """Return the numbers of ``randint`` in another tensor's shape and dtype.

    >>> randint_like(Tensor(2, 3), 5).dtype
    torch.float32
    """
    shape, kind = _like("randint_like", input, dtype)
    return randint(
        *args,
        low=low,
        high=high,
        size=shape,
        dtype=dtypes.OF_NUMPY[kind],
        requires_grad=requires_grad,
        device=device,
        generator=generator,
    )
