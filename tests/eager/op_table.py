"""Every operation and form of call, as rows that run in any module with PyTorch's API.

A row's cases differ in shapes, memory layout and edge points; each runs in double and single
precision and yields facts: the results, a gradient weighted with fixed random numbers, and the
gradient of a weighted sum of that, to operands and weights.  ``facts(row, case, dtype, torch)``
computes them; ``record.py`` writes PyTorch's down, ``test_op_table.py`` compares ``numeric``'s.
"""

# ruff: noqa: E501  # rows of a table

import itertools
import math
import operator
import random
import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

# --- operands ------------------------------------------------------------------------------------

# Numbers are multiples of 1/1024, so that both precisions get exactly the same ones.
DOMAINS = {
    "real": (-2.0, 2.0),
    "positive": (0.25, 3.0),
    "unit": (-0.9, 0.9),
    "half": (0.1, 0.9),
    "above1": (1.1, 3.0),
    "nonzero": (0.5, 3.0),  # of either sign
    "wide": (-6.0, 6.0),
}

_TINY = 2.0**-100
EDGES = (
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 2.0, 3.0, 6.0, -3.0, _TINY, -_TINY, 20.5, 40.0,
    -40.0, 800.0, -800.0, math.inf, -math.inf, math.nan,
)  # fmt: skip
EDGES_OF_PAIRS = (
    0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -2.5, 3.0, _TINY, 40.0, -800.0, math.inf, -math.inf, math.nan,
)  # fmt: skip


@dataclass(frozen=True)
class Operand:
    """Shape, and a domain, ``int`` with numbers below ``high``, or ``bool``."""

    shape: tuple
    domain: str = "real"
    high: int = 0

    def values(self, seed):
        """An array of these operands, the same for the same seed."""
        rng = random.Random(seed)
        n = math.prod(self.shape)
        if self.domain == "int":
            out = np.array([rng.randrange(self.high) for _ in range(n)], np.int64)
        elif self.domain == "bool":
            out = np.array([rng.random() < 0.5 for _ in range(n)], bool)
        else:
            low, high = DOMAINS[self.domain]
            out = np.array([round(rng.uniform(low, high) * 1024) / 1024 for _ in range(n)], float)
            if self.domain == "nonzero":
                out *= [rng.choice((-1, 1)) for _ in range(n)]
        return out.reshape(self.shape)


def X(*shape, domain="real"):
    return Operand(shape, domain)


def I(high, *shape):  # noqa: E743
    return Operand(shape, "int", high)


def B(*shape):
    return Operand(shape, "bool")


@dataclass(frozen=True)
class Case:
    """Operands of one run; ``layout`` '' or 'strided'.

    ``points`` are given numbers, one after the other; ``given`` are whole operands, or None.
    """

    name: str
    operands: tuple
    points: tuple = ()
    given: tuple = ()
    layout: str = ""
    orders: int = 2
    seed: int = 0


@dataclass(frozen=True)
class Row:
    """One operation in one form: ``call(torch, *operands)``."""

    name: str
    call: Callable
    operands: tuple = ()
    pointwise: bool = False
    edges: tuple = ()
    more: tuple = ()  # further shapes of all operands
    orders: int = 2
    exact: bool = False  # the results are selected, not computed
    brief: bool = False  # another form of an operation with a row of its own
    kinds: bool = False  # also with every dtype, for promotion
    named: bool = True
    strided: bool = True
    given: tuple = ()  # the operands themselves, None where they are random
    cases: tuple = field(init=False, default=())

    def __post_init__(self):
        object.__setattr__(self, "cases", tuple(self._cases()))

    def _cases(self):
        yield Case("main", self.operands, given=self.given, orders=self.orders)
        if self.brief or not self.operands:
            return
        if self.strided:
            yield Case("strided", self.operands, layout="strided", orders=min(self.orders, 1))
        shapes = list(self.more)
        n = len(self.operands)
        if self.pointwise:
            shapes += [((),) * n, ((0, 3),) * n]
            if n > 1:
                some = [(2, 3), (3,), (2, 1), (2, 1, 3)]
                shapes += [tuple(some[(k + j) % len(some)] for j in range(n)) for k in range(4)]
                shapes += [
                    ((1, 3), (), (2, 1))[:n],
                    ((), (2, 3), (3,))[:n],
                    ((0, 3), (3,), (1,))[:n],
                ]
        for k, s in enumerate(shapes):
            operands = tuple(
                Operand(tuple(shape), o.domain, o.high)
                for shape, o in zip(s, self.operands, strict=True)
            )
            yield Case(f"shape {k}", operands, orders=self.orders)
        if self.edges:
            grid = list(itertools.product(self.edges, repeat=n))
            points = tuple(np.array(column) for column in zip(*grid, strict=True))
            operands = tuple(Operand((len(grid),), o.domain) for o in self.operands)
            yield Case("edges", operands, points, orders=self.orders)


# --- the rows ------------------------------------------------------------------------------------


def row(name, call, *operands, **options):
    return Row(name, call, operands, **options)


def of(name, *more, **kwargs):
    """The function of a dotted name, in any module, with further arguments after the operands."""
    path = name.replace("F.", "nn.functional.", 1) if name.startswith("F.") else name
    return lambda T, *args: operator.attrgetter(path)(T)(*args, *more, **kwargs)


def method(name, *more, **kwargs):
    return lambda T, x, *args: getattr(x, name)(*args, *more, **kwargs)


def in_place(name, *more, **kwargs):
    return lambda T, x, *args: getattr(x.clone(), name)(*args, *more, **kwargs)


AUGMENTED = {
    "+=": operator.iadd, "-=": operator.isub, "*=": operator.imul, "/=": operator.itruediv,
    "**=": operator.ipow,
}  # fmt: skip


def augmented(sign):
    return lambda T, x, y: AUGMENTED[sign](x.clone(), y)


UNARY = {
    "real": "abs asinh atan ceil cos erf erfc exp exp2 expm1 floor frac neg relu round sigmoid sign "
            "sin sinc sinh square tan tanh trunc cosh nan_to_num",
    "unit": "acos asin atanh erfinv",
    "above1": "acosh",
    "positive": "digamma lgamma log log10 log1p log2 rsqrt sqrt",
    "half": "logit",
    "nonzero": "reciprocal",
}  # fmt: skip
# Those with in-place forms that have rows of their own.
WRITTEN = (
    "abs", "cos", "exp", "expm1", "floor", "log1p", "log", "neg", "reciprocal", "relu", "rsqrt", "sigmoid",
    "sin", "sqrt", "square", "tanh", "ceil", "round", "trunc", "tan", "sinh", "cosh",
)  # fmt: skip
_PAIRS = EDGES_OF_PAIRS
BINARY = {
    "add": ("real", "real"), "sub": ("real", "real"), "mul": ("real", "real"),
    "div": ("real", "nonzero"), "pow": ("positive", "real"), "atan2": ("real", "real"),
    "fmod": ("wide", "nonzero"), "remainder": ("wide", "nonzero"), "hypot": ("real", "real"),
    "maximum": ("real", "real"), "minimum": ("real", "real"), "fmax": ("real", "real"),
    "fmin": ("real", "real"), "logaddexp": ("real", "real"), "xlogy": ("real", "positive"),
}  # fmt: skip
OPERATORS = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "**": operator.pow,
}  # fmt: skip
COMPARISONS = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip

POINTWISE = (
    *(
        r
        for domain, names in UNARY.items()
        for n in names.split()
        for r in (
            row(n, of(n), X(2, 3, domain=domain), pointwise=True, edges=EDGES, kinds=True),
            row("Tensor." + n, method(n), X(2, 3, domain=domain), brief=True),
        )
    ),
    *(
        row(n + "_", in_place(n + "_"), X(2, 3, domain=d), brief=True)
        for d, names in UNARY.items()
        for n in names.split()
        if n in WRITTEN
    ),
    row("clip", lambda T, x: T.clip(x, -0.5, 0.5), X(2, 3), brief=True),
    row("absolute", of("absolute"), X(3), brief=True),
    row("positive operator", lambda T, x: +x, X(3), brief=True),
    row("negative operator", lambda T, x: -x, X(3), brief=True),
    row("abs operator", lambda T, x: abs(x), X(3), brief=True),
    row("round decimals", lambda T, x: T.round(x, decimals=1), X(2, 3), brief=True),
    row("logit eps", lambda T, x: T.logit(x, 0.25), X(3, 3, domain="half"), pointwise=True),
    row("nan_to_num values", lambda T, x: T.nan_to_num(x, nan=3.0, posinf=1.0, neginf=-1.0), X(2, 3),
        pointwise=True, edges=EDGES),
    *(
        row(n, of(n), X(2, 3), pointwise=True, edges=EDGES, orders=0, kinds=True)
        for n in ["isfinite", "isinf", "isnan", "signbit", "logical_not"]
    ),
    row("Tensor.isnan", method("isnan"), X(3), brief=True, orders=0),
    *(
        row(n, of(n), X(2, 3, domain=a), X(2, 3, domain=b), pointwise=True, edges=_PAIRS, kinds=True)
        for n, (a, b) in BINARY.items()
    ),
    *(
        row("Tensor." + n, method(n), X(2, 3, domain=a), X(3, domain=b), brief=True)
        for n, (a, b) in itertools.islice(BINARY.items(), 6)
    ),
    *(
        row(n + "_", in_place(n + "_"), X(2, 3, domain=a), X(3, domain=b), brief=True)
        for n, (a, b) in itertools.islice(BINARY.items(), 5)
    ),
    row("floor division", lambda T, x, y: x // y, X(2, 3, domain="wide"), X(3, domain="nonzero"),
        pointwise=True, edges=_PAIRS, kinds=True),
    row("modulo", lambda T, x, y: x % y, X(2, 3, domain="wide"), X(3, domain="nonzero"), kinds=True),
    row("div floor", lambda T, x, y: T.div(x, y, rounding_mode="floor"), X(2, 3), X(3, domain="nonzero"),
        kinds=True),
    row("div trunc", lambda T, x, y: T.div(x, y, rounding_mode="trunc"), X(2, 3), X(3, domain="nonzero"),
        kinds=True),
    row("max of two", of("max"), X(2, 3), X(3), brief=True),
    row("min of two", of("min"), X(2, 3), X(3), brief=True),
    row("add alpha", lambda T, x, y: T.add(x, y, alpha=2.5), X(2, 3), X(3)),
    row("sub alpha", lambda T, x, y: T.sub(x, y, alpha=2.5), X(2, 3), X(3)),
    row("add_ alpha", lambda T, x, y: x.clone().add_(y, alpha=-0.5), X(2, 3), X(3), brief=True),
    row("rsub", of("rsub"), X(2, 3), X(3)),
    row("rsub alpha", lambda T, x, y: T.rsub(x, y, alpha=2.0), X(2, 3), X(3), brief=True),
    row("dist", of("dist"), X(2, 3), X(3)),
    row("dist 1", lambda T, x, y: T.dist(x, y, 1), X(2, 3), X(2, 3)),
    *(
        r
        for n, f in OPERATORS.items()
        for r in (
            row(f"x {n} y", lambda T, x, y, f=f: f(x, y), X(2, 3, domain="positive"),
                X(3, domain="nonzero"), brief=True),
            row(f"x {n} 2", lambda T, x, f=f: f(x, 2), X(2, 3, domain="positive"), pointwise=True,
                edges=EDGES, kinds=True),
            row(f"x {n} 1.5", lambda T, x, f=f: f(x, 1.5), X(2, 3, domain="positive"), pointwise=True,
                edges=EDGES, kinds=True),
            row(f"2 {n} x", lambda T, x, f=f: f(2, x), X(2, 3, domain="positive"), pointwise=True,
                edges=EDGES, kinds=True),
            row(f"0.5 {n} x", lambda T, x, f=f: f(0.5, x), X(2, 3, domain="positive"), pointwise=True,
                edges=EDGES, kinds=True),
        )
    ),
    row("x ** 0", lambda T, x: x**0, X(2, 3), pointwise=True, edges=EDGES),
    row("x ** 1", lambda T, x: x**1, X(2, 3), pointwise=True, edges=EDGES),
    row("x ** 3", lambda T, x: x**3, X(2, 3), pointwise=True, edges=EDGES),
    row("x ** -1", lambda T, x: x**-1, X(2, 3, domain="nonzero"), pointwise=True, edges=EDGES),
    row("x ** -2", lambda T, x: x**-2, X(2, 3, domain="nonzero"), pointwise=True, edges=EDGES),
    row("x ** 0.5", lambda T, x: x**0.5, X(2, 3, domain="positive"), pointwise=True, edges=EDGES),
    row("0 ** x", lambda T, x: 0**x, X(2, 3, domain="positive"), pointwise=True, edges=EDGES),
    row("2 // x", lambda T, x: 2 // x, X(2, 3, domain="positive"), brief=True),
    row("2 % x", lambda T, x: 2 % x, X(2, 3, domain="positive"), brief=True),
    row("x // 2", lambda T, x: x // 2, X(2, 3, domain="wide"), kinds=True),
    row("x % 2", lambda T, x: x % 2, X(2, 3, domain="wide"), kinds=True),
    row("sqrt(x * x)", lambda T, x: T.sqrt(x * x), X(3), pointwise=True, edges=EDGES),
    *(
        row(f"x {n} y", augmented(n), X(2, 3, domain="positive"), X(3, domain="nonzero"), brief=True)
        for n in ["+=", "-=", "*=", "/=", "**="]
    ),
    *(
        row(n, of(n), X(2, 3), X(2, 3), pointwise=True, edges=_PAIRS, orders=0, kinds=n != "isclose")
        for n in ["eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_xor", "isclose"]
    ),
    *(
        r
        for n, f in COMPARISONS.items()
        for r in (
            row(f"x {n} y", lambda T, x, y, f=f: f(x, y), X(2, 3), X(3), orders=0, brief=True),
            row(f"x {n} 0", lambda T, x, f=f: f(x, 0), X(2, 3), orders=0, brief=True),
        )
    ),
    *(
        r
        for n, f in {"&": operator.and_, "|": operator.or_, "^": operator.xor}.items()
        for r in (
            row(f"x {n} y", lambda T, x, y, f=f: f(x, y), B(2, 3), B(2, 3), orders=0, brief=True),
            row(f"i {n} j", lambda T, x, y, f=f: f(x, y), I(8, 2, 3), I(8, 2, 3), orders=0, brief=True),
        )
    ),
    row("~x", lambda T, x: ~x, B(2, 3), orders=0, brief=True),
    row("allclose", lambda T, x, y: T.tensor([T.allclose(x, y), T.allclose(x, x)]), X(3), X(3), orders=0,
        brief=True),
    row("equal", lambda T, x, y: T.tensor([T.equal(x, y), T.equal(x, x)]), X(3), X(3), orders=0, brief=True),
    # Three operands, selections.
    row("addcmul", lambda T, x, y, z: T.addcmul(x, y, z, value=0.5), X(2, 3), X(2, 3), X(2, 3),
        pointwise=True),
    row("addcdiv", lambda T, x, y, z: T.addcdiv(x, y, z, value=0.5), X(2, 3), X(2, 3),
        X(2, 3, domain="nonzero"), pointwise=True),
    row("addcmul_", in_place("addcmul_"), X(2, 3), X(3), X(2, 1), brief=True),
    row("addcdiv_", in_place("addcdiv_"), X(2, 3), X(3), X(2, 1, domain="nonzero"), brief=True),
    row("lerp", of("lerp"), X(2, 3), X(2, 3), X(2, 3), pointwise=True),
    row("lerp number", lambda T, x, y: T.lerp(x, y, 0.25), X(2, 3), X(2, 3), pointwise=True),
    row("where", of("where"), B(2, 3), X(2, 3), X(2, 3),
        more=(((3,), (2, 1), ()), ((2, 3), (), ()), ((0, 3), (3,), ()))),
    row("where number", lambda T, c, x: T.where(c, x, 0.5), B(2, 3), X(2, 3)),
    row("where edges", lambda T, x, y: T.where(x > y, x, y), X(2, 3), X(2, 3), pointwise=True, edges=_PAIRS),
    row("where nonzero", lambda T, c: T.where(c), B(2, 3), orders=0),
    row("Tensor.where", lambda T, c, x, y: x.where(c, y), B(2, 3), X(2, 3), X(3), brief=True),
    row("clamp", lambda T, x: T.clamp(x, -1.0, 1.0), X(2, 3), pointwise=True, edges=EDGES, kinds=True),
    row("clamp low", lambda T, x: T.clamp(x, min=0.5), X(2, 3), pointwise=True, edges=EDGES, kinds=True),
    row("clamp high", lambda T, x: x.clamp(max=0.5), X(2, 3), pointwise=True, edges=EDGES, kinds=True),
    row("clamp crossed", lambda T, x: T.clamp(x, 1.0, -1.0), X(2, 3), pointwise=True, edges=EDGES),
    row("clamp int", lambda T, x: T.clamp(x, 0, 1), X(2, 3), kinds=True),
    row("clamp tensors", of("clamp"), X(2, 3), X(2, 3), X(2, 3), pointwise=True,
        edges=(0.0, 1.0, -1.0, 2.0, math.inf, math.nan)),
    row("clamp tensor low", lambda T, x, y: T.clamp(x, min=y), X(2, 3), X(2, 3), pointwise=True,
        edges=_PAIRS),
    row("clamp_", in_place("clamp_", -0.5, 0.5), X(2, 3), brief=True),
    row("clamp_min", method("clamp_min", 0.25), X(2, 3), brief=True),
    row("clamp_max", method("clamp_max", 0.25), X(2, 3), brief=True),
    row("masked_fill", lambda T, x, m: x.masked_fill(m, 0.5), X(2, 3), B(2, 3),
        more=(((2, 3), (3,)), ((0, 3), (3,)))),
    row("masked_fill tensor", lambda T, x, v, m: x.masked_fill(m, v), X(2, 3), X(), B(2, 3)),
    row("masked_fill_", lambda T, x, m: x.clone().masked_fill_(m, -1.0), X(2, 3), B(3), brief=True),
    row("masked_select", of("masked_select"), X(2, 3), B(2, 3), more=(((2, 3), (3,)), ((0,), (0,)))),
    row("masked_scatter", lambda T, x, s, m: x.masked_scatter(m, s), X(2, 3), X(6), B(2, 3)),
)  # fmt: skip

# --- reductions ----------------------------------------------------------------------------------

_DIMS = {
    "all": {}, "dim 0": {"dim": 0}, "dim -1": {"dim": -1}, "keepdim": {"dim": 1, "keepdim": True},
}  # fmt: skip
REDUCED = {
    **dict.fromkeys(("sum", "mean", "std", "var", "nansum", "nanmean", "amax", "amin", "logsumexp"), "real"),
    **dict.fromkeys(("median", "max", "min", "any", "all", "argmax", "argmin", "count_nonzero"), "real"),
    "prod": "nonzero", "norm": "nonzero",
}  # fmt: skip
COUNTING = ("any", "all", "argmax", "argmin", "count_nonzero")
OF_SOME = ("max", "min", "median", "amax", "amin", "argmax", "argmin")  # refused of nothing


def reduction(name, domain, form):
    """A reduction with the keywords of ``_DIMS``."""
    kw = _DIMS[form]
    empty = () if name in OF_SOME else (((0, 3),), ((3, 0),))
    whole = () if kw or name in ("std", "var") else (((),),)
    promoted = not kw and name not in ("std", "var", "nanmean", "norm", "median", "nansum")
    return row(f"{name} {form}", of(name, **kw), X(3, 4, domain=domain), more=(*empty, *whole, ((2, 3, 2),)),
               orders=0 if name in COUNTING else 2, kinds=promoted)  # fmt: skip


def _axis(name):
    return (0,) if name.startswith("cum") else ()


REDUCTIONS = (
    *(
        reduction(n, d, k)
        for n, d in REDUCED.items()
        for k in _DIMS
        if (n, k) not in (("logsumexp", "all"), ("count_nonzero", "keepdim"))
    ),
    *(
        row(f"Tensor.{n}", method(n, 0), X(3, 4, domain=d), orders=0 if n in COUNTING else 2, brief=True)
        for n, d in REDUCED.items()
    ),
    *(
        r
        for n in ["sum", "mean", "amax", "amin", "logsumexp", "std", "var", "norm", "nansum"]
        for r in (
            row(f"{n} dims", of(n, dim=(0, 2)), X(2, 3, 2), more=(((1, 2, 3),),)),
            row(f"{n} axis", of(n, **{"dim" if n == "norm" else "axis": 1}), X(2, 3), brief=True),
        )
    ),
    *(
        row(f"{n} dtype", lambda T, x, n=n: getattr(T, n)(x, *_axis(n), dtype=T.float64), X(2, 3),
            brief=True)
        for n in ["sum", "prod", "cumsum", "cumprod", "mean"]
    ),
    *(
        row(f"{n} dtype {t}",
            lambda T, x, n=n, t=t: getattr(T, n)(x * 90, *_axis(n), dtype=getattr(T, t)), X(2, 3), orders=0,
            brief=True, kinds=True)
        for n in ["sum", "prod", "cumsum", "cumprod"]
        for t in ("uint8", "int8", "int32", "int64", "float16")
    ),
    row("sum dtype float16 first", lambda T, x: (x * 30000).to(T.float16).sum(), X(2, 3), orders=1),
    row("mean dtype float16", lambda T, x: T.mean(x, 0, dtype=T.float16), X(2, 3), kinds=True),
)  # fmt: skip

# --- conversions ---------------------------------------------------------------------------------

CASTS = {
    "float32": lambda T, x: x.to(T.float32).to(x.dtype), "float16": lambda T, x: x.half().to(x.dtype),
    "float64": lambda T, x: (x.double() * 0.1).to(x.dtype), "int64": lambda T, x: (x * 3).long() * x,
    "float16 sin": lambda T, x: x.half().sin().to(x.dtype), "bool": lambda T, x: (x > 0).to(x.dtype) * x,
    "int8": lambda T, x: (x * 100).to(T.int32).to(T.int8) * x, "float32 square": lambda T, x: (x.float() ** 2).double(),
    "uint8": lambda T, x: (x.detach() * 100).int().to(T.uint8), "float16 end": lambda T, x: (x * 1.1).half(),
    "float16 overflow": lambda T, x: (x.half() * 60000).float(), "int to float16": lambda T, x: (x * 3000).int().half() * x,
}  # fmt: skip

CONVERSIONS = (
    *(
        row(f"through {n}", f, X(2, 3, domain="wide"), more=(((),), ((0, 3),)), orders=int(n != "uint8"))
        for n, f in CASTS.items()
    ),
    row("type mixed", lambda T, x, y: x.float() * y.half() + y.double(), X(2, 3), X(3), orders=1),
    row("0-d wider", lambda T, x, y: x.half() * y.double(), X(2, 3), X(), orders=1),
    row("0-d integer", lambda T, x, i: x.half() * i, X(2, 3), I(8), orders=1),
)  # fmt: skip

# --- ties, zeros and norms -----------------------------------------------------------------------


def ties(T, x):
    """Numbers with ties, that depend on x with a gradient of 1."""
    values = T.tensor([[1.0, 2.0, 2.0], [-1.0, 2.0, -1.0]], dtype=x.dtype)
    return x - x.detach() + values


ZEROS = {"one": [1, 0, 1, 1, 1, 1], "two": [0, 1, 1, 0, 1, 1], "row": [0, 0, 0, 1, 1, 1]}


def with_zeros(name, where, **kw):
    """Some of the numbers are 0, and depend on x."""

    def call(T, x):
        return getattr(T, name)(x * T.tensor(ZEROS[where], dtype=x.dtype).reshape(2, 3), **kw)

    return call


TIES = (
    *(
        row(f"{n} ties", lambda T, x, n=n: getattr(T, n)(ties(T, x)), X(2, 3))
        for n in ["max", "min", "amax", "amin", "median", "norm"]
    ),
    *(
        row(f"{n} ties dim", lambda T, x, n=n: getattr(T, n)(ties(T, x), 1), X(2, 3))
        for n in ["max", "min", "amax", "amin", "median", "cummax", "cummin"]
    ),
    row("maximum ties", lambda T, x, y: T.maximum(ties(T, x), ties(T, y)), X(2, 3), X(2, 3)),
    row("fmax ties", lambda T, x, y: T.fmax(ties(T, x), ties(T, y)), X(2, 3), X(2, 3)),
    row("fmin ties", lambda T, x, y: T.fmin(ties(T, x), ties(T, y)), X(2, 3), X(2, 3)),
    row("sort ties", lambda T, x: T.sort(ties(T, x), dim=1, stable=True), X(2, 3)),
    *(
        r
        for p in (1, 2, 3, math.inf, -math.inf, 0.5, 0)
        for r in (
            row(f"norm {p}", lambda T, x, p=p: T.norm(x, p), X(2, 3, domain="nonzero")),
            row(f"norm {p} dim", lambda T, x, p=p: x.norm(p, dim=1), X(2, 3, domain="nonzero")),
            row(f"norm {p} of zeros", lambda T, x, p=p: T.norm(x - x.detach(), p), X(2, 3), orders=1),
            row(f"norm {p} of halves", lambda T, x, p=p: T.norm((x * 200).half(), p),
                X(200, domain="nonzero"), orders=0),
            row(f"dist {p} of halves", lambda T, x, y, p=p: T.dist((x * 200).half(), y.half(), p),
                X(200, domain="nonzero"), X(200, domain="nonzero"), orders=0),
        )
    ),
    row("matrix_norm of halves", lambda T, x: T.linalg.matrix_norm((x * 300).half()), X(20, 20), orders=0),
    row("norm ties inf", lambda T, x: T.norm(ties(T, x), math.inf), X(2, 3)),
    row("std of constants", lambda T, x: T.std(x - x.detach()), X(3), orders=1),
    *(
        r
        for n in ("std", "var", "var_mean")
        for r in (
            row(f"{n} unbiased", lambda T, x, n=n: getattr(T, n)(x, dim=1, unbiased=False), X(2, 3)),
            row(f"{n} correction",
                lambda T, x, n=n: getattr(T, n)(x, dim=(0, 1), correction=2, keepdim=True), X(2, 3)),
        )
    ),
    row("var_mean", of("var_mean"), X(2, 3), more=(((2, 3, 2),),)),
    row("var_mean dim", lambda T, x: T.var_mean(x, 0), X(3, 2)),
    row("quantile", lambda T, x: T.quantile(x, 0.3), X(7)),
    row("quantile dim", lambda T, x: T.quantile(x, 0.6, dim=1, keepdim=True), X(2, 5)),
    row("quantile several", lambda T, x: T.quantile(x, T.tensor([0.25, 0.5], dtype=x.dtype), dim=0), X(5, 2)),
    row("quantile nearest", lambda T, x: T.quantile(x, 0.3, interpolation="nearest"), X(7)),
    row("trace", of("trace"), X(3, 3), more=(((2, 3),), ((0, 0),)), kinds=True),
    *(
        r
        for k in ZEROS
        for r in (
            row(f"prod with zeros: {k}", with_zeros("prod", k), X(2, 3, domain="nonzero")),
            row(f"prod dim with zeros: {k}", with_zeros("prod", k, dim=1), X(2, 3, domain="nonzero")),
            row(f"cumprod with zeros: {k}", with_zeros("cumprod", k, dim=1), X(2, 3, domain="nonzero")),
        )
    ),
)  # fmt: skip

# --- scans and orders ----------------------------------------------------------------------------

RUNNING = {
    "cumsum": "real",
    "cumprod": "nonzero",
    "logcumsumexp": "real",
    "cummax": "real",
    "cummin": "real",
}


def far(T, x):
    """Numbers as large as 1000, that depend on x."""
    return x + T.tensor([[1000.0, -1000.0, 0.0], [-1000.0, -1000.0, -1000.0]], dtype=x.dtype)


ORDERS = (
    *(
        r
        for n, d in RUNNING.items()
        for r in (
            row(n, of(n, 1), X(2, 4, domain=d),
                more=(((3, 2),), ((2, 0) if n[:4] == "cums" else (1, 1),))),
            row(f"{n} 0", of(n, dim=0), X(3, 2, domain=d), kinds=n != "logcumsumexp"),
            row(f"{n} -1 of 3", of(n, -1), X(2, 2, 3, domain=d)),
        )
    ),
    row("Tensor.cumsum", method("cumsum", 0), X(3), brief=True),
    row("diff", of("diff"), X(2, 4), more=(((3,),), ((3, 0),))),
    row("diff n dim", lambda T, x: T.diff(x, n=2, dim=0), X(4, 2)),
    row("diff around", lambda T, x, a, b: T.diff(x, prepend=a, append=b), X(2, 3), X(2, 1), X(2, 2)),
    *(
        r
        for n, o in (("sort", 2), ("argsort", 0))
        for r in (
            row(n, of(n), X(2, 4), more=(((5,),), ((0,),)), orders=o, kinds=True),
            row(f"{n} descending", of(n, dim=0, descending=True), X(4, 2), orders=o),
        )
    ),
    row("Tensor.sort", method("sort"), X(3), brief=True),
    row("topk", lambda T, x: T.topk(x, 2), X(2, 5), more=(((3,),),)),
    row("topk smallest", lambda T, x: T.topk(x, 2, dim=0, largest=False), X(4, 2)),
    row("kthvalue", lambda T, x: T.kthvalue(x, 2), X(2, 4)),
    row("kthvalue keepdim", lambda T, x: T.kthvalue(x, 3, 0, True), X(4, 2)),
    row("median even", of("median"), X(6)),
    row("softmax", lambda T, x: T.softmax(x, 1), X(2, 4), more=(((1, 3),), ((0, 3),))),
    row("softmax 0", lambda T, x: T.softmax(x, dim=0), X(3, 2)),
    row("log_softmax", lambda T, x: T.log_softmax(x, 1), X(2, 4), more=(((1, 3),), ((0, 3),))),
    row("Tensor.softmax", method("softmax", -1), X(2, 3), brief=True),
    row("Tensor.log_softmax", method("log_softmax", -1), X(2, 3), brief=True),
    *(
        row(f"{n} far", lambda T, x, n=n: getattr(T, n)(far(T, x), 1), X(2, 3))
        for n in ["softmax", "log_softmax", "logsumexp", "logcumsumexp"]
    ),
    row("logsumexp infinite",
        lambda T, x: T.logsumexp(x + T.tensor([-math.inf, 0.0, -math.inf], dtype=x.dtype), 0), X(3),
        orders=1),
)  # fmt: skip

# --- shapes --------------------------------------------------------------------------------------

SHAPING = {
    "atleast_1d": (lambda T, x: T.atleast_1d(x), X()),
    "atleast_2d": (lambda T, x: T.atleast_2d(x), X(3)),
    "broadcast_to": (lambda T, x: T.broadcast_to(x, (2, 3)), X(3)),
    "chunk": (lambda T, x: T.chunk(x, 2), X(5, 2)),
    "chunk dim": (lambda T, x: x.chunk(3, dim=1), X(2, 4)),
    "diag": (lambda T, x: T.diag(x), X(3)),
    "diag of matrix": (lambda T, x: T.diag(x), X(3, 2)),
    "diag offset": (lambda T, x: T.diag(x, 1), X(2)),
    "diag_embed": (lambda T, x: T.diag_embed(x), X(2, 3)),
    "diag_embed offset": (lambda T, x: T.diag_embed(x, offset=-1, dim1=0, dim2=2), X(2, 3)),
    "diagonal": (lambda T, x: T.diagonal(x), X(3, 2)),
    "diagonal dims": (lambda T, x: x.diagonal(1, 0, 2), X(2, 3, 4)),
    "flatten": (lambda T, x: T.flatten(x), X(2, 3, 2)),
    "flatten some": (lambda T, x: x.flatten(1), X(2, 3, 2)),
    "flatten 0-d": (lambda T, x: x.flatten(), X()),
    "flip": (lambda T, x: T.flip(x, (0, 1)), X(2, 3)),
    "Tensor.flip": (lambda T, x: x.flip(0), X(2, 3)),
    "fliplr": (lambda T, x: T.fliplr(x), X(2, 3)),
    "flipud": (lambda T, x: T.flipud(x), X(2, 3)),
    "movedim": (lambda T, x: T.movedim(x, 0, 2), X(2, 3, 4)),
    "movedim several": (lambda T, x: x.movedim((0, 1), (1, 2)), X(2, 3, 4)),
    "narrow": (lambda T, x: T.narrow(x, 1, 1, 2), X(2, 4)),
    "permute": (lambda T, x: T.permute(x, (2, 0, 1)), X(2, 3, 4)),
    "Tensor.permute": (lambda T, x: x.permute(1, 0), X(2, 3)),
    "ravel": (lambda T, x: x.ravel(), X(2, 3)),
    "repeat": (lambda T, x: x.repeat(2, 1, 2), X(2, 3)),
    "repeat_interleave": (lambda T, x: T.repeat_interleave(x, 2), X(2, 3)),
    "repeat_interleave dim": (lambda T, x: x.repeat_interleave(3, dim=0), X(2, 3)),
    "repeat_interleave counts": (lambda T, x: T.repeat_interleave(x, T.tensor([1, 0, 2]), dim=1), X(2, 3)),
    "reshape": (lambda T, x: T.reshape(x, (3, 2)), X(2, 3)),
    "Tensor.reshape": (lambda T, x: x.reshape(-1, 2), X(2, 3)),
    "reshape copying": (lambda T, x: x.t().reshape(6), X(2, 3)),
    "roll": (lambda T, x: T.roll(x, 1, 1), X(2, 3)),
    "roll flat": (lambda T, x: T.roll(x, -2), X(2, 3)),
    "roll several": (lambda T, x: x.roll((1, 2), (0, 1)), X(2, 3)),
    "rot90": (lambda T, x: T.rot90(x), X(2, 3)),
    "rot90 k": (lambda T, x: T.rot90(x, -1, (1, 2)), X(2, 3, 2)),
    "select": (lambda T, x: T.select(x, 1, -1), X(2, 3)),
    "split": (lambda T, x: T.split(x, 2), X(5, 2)),
    "split sizes": (lambda T, x: x.split([1, 3], dim=1), X(2, 4)),
    "squeeze": (lambda T, x: T.squeeze(x), X(1, 3, 1)),
    "squeeze dim": (lambda T, x: x.squeeze(0), X(1, 3, 1)),
    "squeeze nothing": (lambda T, x: x.squeeze(1), X(1, 3, 1)),
    "squeeze dims": (lambda T, x: T.squeeze(x, (0, 2)), X(1, 3, 1)),
    "swapaxes": (lambda T, x: T.swapaxes(x, 0, 1), X(2, 3)),
    "t": (lambda T, x: x.t(), X(2, 3)),
    "t of vector": (lambda T, x: x.t(), X(3)),
    "T": (lambda T, x: x.T, X(2, 3)),
    "mT": (lambda T, x: x.mT, X(2, 3, 4)),
    "tile": (lambda T, x: T.tile(x, (2,)), X(2, 3)),
    "transpose": (lambda T, x: T.transpose(x, 0, -1), X(2, 3, 4)),
    "tril": (lambda T, x: T.tril(x), X(3, 3)),
    "tril diagonal": (lambda T, x: x.tril(-1), X(2, 3, 4)),
    "triu": (lambda T, x: x.triu(1), X(3, 4)),
    "unbind": (lambda T, x: T.unbind(x), X(2, 3)),
    "unbind dim": (lambda T, x: x.unbind(1), X(2, 3)),
    "unflatten": (lambda T, x: x.unflatten(1, (2, 3)), X(2, 6)),
    "unfold": (lambda T, x: x.unfold(0, 3, 1), X(6)),
    "unfold step": (lambda T, x: x.unfold(1, 2, 2), X(2, 5)),
    "unsqueeze": (lambda T, x: T.unsqueeze(x, 1), X(2, 3)),
    "unsqueeze -1": (lambda T, x: x.unsqueeze(-1), X(2, 3)),
    "view": (lambda T, x: x.view(3, 2), X(2, 3)),
    "view -1": (lambda T, x: x.view(-1), X(2, 3)),
    "view_as": (lambda T, x: x.view_as(T.zeros(3, 2)), X(2, 3)),
    "expand": (lambda T, x: x.expand(2, -1), X(1, 3)),
    "expand new": (lambda T, x: x.expand(2, 3, 2), X(3, 1)),
    "expand_as": (lambda T, x: x.expand_as(T.zeros(2, 3)), X(3)),
    "contiguous": (lambda T, x: x.t().contiguous(), X(2, 3)),
    "clone": (lambda T, x: T.clone(x), X(2, 3)),
    "unstacked iteration": (lambda T, x: tuple(x), X(2, 3)),
    "to float64": (lambda T, x: x.to(T.float64), X(2, 3)),
    "float": (lambda T, x: x.float(), X(2, 3)),
    "double": (lambda T, x: x.double(), X(2, 3)),
    "half": (lambda T, x: x.half(), X(2, 3)),
    "type_as": (lambda T, x: x.type_as(T.zeros((), dtype=T.float32)), X(2, 3)),
    "long": (lambda T, x: x.long(), X(2, 3)),
    "int": (lambda T, x: x.int(), X(2, 3)),
    "bool": (lambda T, x: x.bool(), X(2, 3)),
}  # fmt: skip

SHAPES = (
    *(
        row(n, f, x, exact=True)
        for n, (f, x) in SHAPING.items()
    ),
    row("reshape empty", lambda T, x: x.reshape(3, 0), X(0, 2), exact=True),
    row("broadcast_tensors", lambda T, x, y: T.broadcast_tensors(x, y), X(2, 1), X(3), exact=True),
    row("meshgrid", lambda T, x, y: T.meshgrid(x, y, indexing="ij"), X(2), X(3), exact=True),
    row("meshgrid xy", lambda T, x, y: T.meshgrid(x, y, indexing="xy"), X(2), X(3), exact=True),
    row("cat", lambda T, x, y: T.cat((x, y)), X(2, 3), X(1, 3), more=(((0, 3), (2, 3)), ((3,), (2,))),
        exact=True),
    row("cat beside nothing", lambda T, x, y: T.cat((x, y)), X(0), X(2, 3), orders=0, exact=True),
    row("cat dim", lambda T, x, y: T.cat([x, y], dim=-1), X(2, 3), X(2, 1), exact=True),
    row("cat twice", lambda T, x: T.cat((x, x, x), 1), X(2, 3), exact=True),
    row("concat", lambda T, x, y: T.concat((x, y)), X(2), X(3), brief=True),
    row("stack", lambda T, x, y: T.stack((x, y)), X(2, 3), X(2, 3), more=(((), ()), ((0,), (0,))),
        exact=True),
    row("stack dim", lambda T, x, y: T.stack((x, y), dim=-1), X(2, 3), X(2, 3), exact=True),
    *(
        r
        for n in ["hstack", "vstack", "column_stack"]
        for r in (
            row(n, lambda T, x, y, n=n: getattr(T, n)((x, y)), X(3), X(3), exact=True),
            row(n + " matrices", lambda T, x, y, n=n: getattr(T, n)((x, y)), X(2, 3), X(2, 3), exact=True),
        )
    ),
)  # fmt: skip

# --- indexing ------------------------------------------------------------------------------------

INDEXING = {
    "[1]": lambda T, x: x[1],
    "[-1, 2]": lambda T, x: x[-1, 2],
    "[:, 1]": lambda T, x: x[:, 1],
    "[1:]": lambda T, x: x[1:],
    "[:, ::2]": lambda T, x: x[:, ::2],
    "[..., 0]": lambda T, x: x[..., 0],
    "[None, 1]": lambda T, x: x[None, 1],
    "[:, None]": lambda T, x: x[:, None],
    "[...]": lambda T, x: x[...],
    "[[0, 2, 0]]": lambda T, x: x[[0, 2, 0]],
    "[tensor]": lambda T, x: x[T.tensor([[0, 1], [-1, 0]])],
    "[tensor, tensor]": lambda T, x: x[T.tensor([0, 2, 0]), T.tensor([1, 1, 1])],
    "[:, tensor]": lambda T, x: x[:, T.tensor([0, 0, 3])],
    "[tensor, 1]": lambda T, x: x[T.tensor([0, 2]), 1],
    "[tensor 2-d, tensor]": lambda T, x: x[T.tensor([[0], [2]]), T.tensor([1, 3])],
    "[mask]": lambda T, x: x[T.tensor([True, False, True])],
    "[mask of all]": lambda T, x: x[x > 0],
    "[:, mask]": lambda T, x: x[:, T.tensor([True, False, True, True])],
    "[0-d tensor]": lambda T, x: x[T.tensor(1)],
    "[empty]": lambda T, x: x[0:0],
    "[tensor None]": lambda T, x: x[T.tensor([1, 0]), None],
    "[True]": lambda T, x: x[True],
}


def setting(index):
    def call(T, x, v):
        y = x.clone()
        y[index(T, y)] = v
        return y

    return call


SETTING = {
    "[1] = row": (lambda T, x: 1, (4,)),
    "[1] = 0-d": (lambda T, x: 1, ()),
    "[:, 1] = column": (lambda T, x: (slice(None), 1), (3,)),
    "[1:, ::2] = broadcast": (lambda T, x: (slice(1, None), slice(None, None, 2)), (1, 2)),
    "[...] = all": (lambda T, x: ..., (3, 4)),
    "[tensor] = rows": (lambda T, x: T.tensor([2, 0]), (2, 4)),
    "[tensor, tensor] = vector": (lambda T, x: (T.tensor([2, 0]), T.tensor([1, 1])), (2,)),
    "[mask] = 0-d": (lambda T, x: x.detach() > 0, ()),
    "[row mask] = rows": (lambda T, x: T.tensor([True, False, True]), (2, 4)),
    "[0, 1] = 0-d": (lambda T, x: (0, 1), ()),
    "[:, tensor] = columns": (lambda T, x: (slice(None), T.tensor([3, 1])), (3, 2)),
}


def _through(x, change):
    change(x)
    return x


PLACES = (
    *(
        row(n, f, X(3, 4), exact=True)
        for n, f in INDEXING.items()
    ),
    *(
        row(n, setting(f), X(3, 4), X(*s), exact=True)
        for n, (f, s) in SETTING.items()
    ),
    row("[1] = number", lambda T, x: setting(lambda T, x: 1)(T, x, 2.5), X(3, 4), exact=True),
    row("[mask] = number", lambda T, x: setting(lambda T, x: x.detach() > 0)(T, x, 2.5), X(3, 4), exact=True),
    row("gather", lambda T, x, i: T.gather(x, 1, i), X(2, 4), I(4, 2, 3),
        more=(((3, 4), (2, 5)), ((2, 4), (0, 3))), exact=True),
    row("gather 0", lambda T, x, i: x.gather(0, i), X(3, 4), I(3, 2, 4), exact=True),
    row("index_select", lambda T, x, i: T.index_select(x, 0, i), X(3, 4), I(3, 5), exact=True),
    row("index_select 1", lambda T, x, i: x.index_select(1, i), X(3, 4), I(4, 2), exact=True),
    row("take", of("take"), X(2, 3), I(6, 2, 2), exact=True),
    row("take_along_dim", lambda T, x, i: T.take_along_dim(x, i, 1), X(2, 4), I(4, 2, 3), exact=True),
    row("take_along_dim wrapping", lambda T, x, i: T.take_along_dim(x, i - 5, 1), X(2, 4), I(12, 2, 3),
        exact=True),
    row("take negative", lambda T, x, i: T.take(x, i - 6), X(2, 3), I(12, 2, 2), exact=True),
    row("[tensor] negative", lambda T, x, i: x[i - 3], X(3, 4), I(6, 5), exact=True),
    row("[:, tensor] negative", lambda T, x, i: x[:, i - 4], X(3, 4), I(8, 5), exact=True),
    row("take_along_dim flat", lambda T, x, i: T.take_along_dim(x, i), X(2, 4), I(8, 3), exact=True,
        strided=False),
    row("scatter", lambda T, x, s: x.scatter(1, T.tensor([[0, 2], [3, 1]]), s), X(2, 4), X(2, 2), exact=True),
    row("scatter number", lambda T, x: x.scatter(1, T.tensor([[0, 2], [3, 1]]), 2.5), X(2, 4), exact=True),
    row("scatter_", lambda T, x, s: x.clone().scatter_(0, T.tensor([[0, 2, 1, 1]]), s), X(3, 4), X(1, 4),
        exact=True),
    row("scatter_add", lambda T, x, s, i: x.scatter_add(1, i, s), X(2, 4), X(2, 3), I(4, 2, 3)),
    row("scatter_add_", lambda T, x, s, i: x.clone().scatter_add_(0, i, s), X(3, 4), X(2, 4), I(3, 2, 4)),
    row("index_add", lambda T, x, s, i: x.index_add(0, i, s), X(3, 4), X(5, 4), I(3, 5)),
    row("index_add alpha", lambda T, x, s, i: x.index_add(1, i, s, alpha=0.5), X(2, 4), X(2, 3), I(4, 3)),
    row("index_add_", lambda T, x, s, i: x.clone().index_add_(0, i, s), X(3, 4), X(2, 4), I(3, 2)),
    row("index_copy", lambda T, x, s: x.index_copy(0, T.tensor([2, 0]), s), X(3, 4), X(2, 4), exact=True),
    row("index_fill", lambda T, x: x.index_fill(1, T.tensor([2, 0]), 1.5), X(3, 4), exact=True),
    row("index_fill tensor", lambda T, x, v: x.index_fill(1, T.tensor([2, 0]), v), X(3, 4), X(), exact=True),
    row("index_fill_", lambda T, x: x.clone().index_fill_(0, T.tensor([1]), 1.5), X(3, 4), exact=True),
    row("index_put_", lambda T, x, v: x.clone().index_put_((T.tensor([2, 0]),), v), X(3, 4), X(4),
        exact=True),
    row("index_put_ accumulate",
        lambda T, x, v: x.clone().index_put_((T.tensor([2, 0, 2]), T.tensor([1, 1, 1])), v, accumulate=True),
        X(3, 4), X(3)),
    row("select_scatter", lambda T, x, v: T.select_scatter(x, v, 1, 2), X(3, 4), X(3), exact=True),
    row("nonzero", of("nonzero"), B(3, 4), orders=0),
    row("nonzero tuple", lambda T, x: T.nonzero(x, as_tuple=True), B(3, 4), orders=0),
    row("copy_", lambda T, x, y: x.clone().copy_(y), X(2, 3), X(3), exact=True),
    row("fill_", lambda T, x: x.clone().fill_(2.5), X(2, 3), exact=True),
    row("fill_ tensor", lambda T, x, v: x.clone().fill_(v), X(2, 3), X(), exact=True),
    row("zero_", lambda T, x: x.clone().zero_(), X(2, 3), exact=True),
    row("t_", lambda T, x: x.clone().t_(), X(2, 3), exact=True),
    row("view then mul_", lambda T, x, y: _through(x.clone(), lambda z: z[0].mul_(y)), X(2, 3), X(3)),
    row("transposed add_", lambda T, x, y: _through(x.clone(), lambda z: z.t().add_(y)), X(2, 3), X(2)),
)  # fmt: skip

# --- matrices ------------------------------------------------------------------------------------

MATMULS = (
    ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 2)), ((2, 2, 3), (3, 4)), ((2, 3), (2, 3, 4)),
    ((2, 1, 2, 3), (3, 3, 2)), ((3,), (2, 3, 4)), ((2, 2, 3), (3,)), ((0, 3), (3, 2)),
)  # fmt: skip
EINSUMS = {
    "ij,jk->ik": ((2, 3), (3, 4)), "ij,ij->": ((2, 3), (2, 3)), "i,j->ij": ((2,), (3,)),
    "bij,bjk->bik": ((2, 2, 3), (2, 3, 2)), "ij->ji": ((2, 3),), "ii->": ((3, 3),),
    "ij,j": ((2, 3), (3,)), "...ij,jk->...ik": ((2, 2, 3), (3, 2)), "ij->i": ((2, 3),),
    "ij,jk,kl->il": ((2, 3), (3, 2), (2, 2)), "ii->i": ((3, 3),),
}  # fmt: skip
PINV = {
    "rtol": {"rtol": 0.5}, "atol": {"atol": 1.5}, "both": {"atol": 0.5, "rtol": 0.25},
    "none": {"rtol": 0.0},
}  # fmt: skip

PRODUCTS = (
    row("mm", of("mm"), X(2, 3), X(3, 4), more=(((0, 3), (3, 2)), ((2, 0), (0, 3)), ((1, 1), (1, 1)))),
    row("Tensor.mm", method("mm"), X(2, 3), X(3, 4), brief=True),
    row("mv", of("mv"), X(2, 3), X(3), more=(((0, 3), (3,)),)),
    row("bmm", of("bmm"), X(2, 2, 3), X(2, 3, 4), more=(((0, 2, 3), (0, 3, 2)),)),
    row("dot", of("dot"), X(3), X(3), more=(((0,), (0,)),)),
    row("inner", method("inner"), X(2, 3), X(4, 3)),
    row("outer", of("outer"), X(2), X(3), more=(((0,), (3,)),)),
    *(
        row(f"matmul {k}", of("matmul"), X(*a), X(*b))
        for k, (a, b) in enumerate(MATMULS)
    ),
    row("x @ y", lambda T, x, y: x @ y, X(2, 3), X(3, 2), brief=True),
    row("addmm", lambda T, a, x, y: T.addmm(a, x, y, beta=0.5, alpha=2.0), X(2, 4), X(2, 3), X(3, 4),
        more=(((4,), (2, 3), (3, 4)),)),
    row("addmv", of("addmv"), X(2), X(2, 3), X(3)),
    row("addr", lambda T, a, x, y: T.addr(a, x, y, alpha=0.5), X(2, 3), X(2), X(3)),
    row("baddbmm", of("baddbmm"), X(2, 2, 4), X(2, 2, 3), X(2, 3, 4)),
    row("kron", of("kron"), X(2, 2), X(3, 1), strided=False),
    row("tensordot", lambda T, x, y: T.tensordot(x, y, dims=1), X(2, 3), X(3, 2)),
    row("tensordot axes", lambda T, x, y: T.tensordot(x, y, dims=([0, 2], [1, 0])), X(2, 3, 4), X(4, 2, 5)),
    *(
        row(f"einsum {n}", lambda T, *xs, n=n: T.einsum(n, *xs), *[X(*s) for s in shapes], named=False)
        for n, shapes in EINSUMS.items()
    ),
    *(
        row(f"pinv {n}", lambda T, x, kw=kw: T.linalg.pinv(x, **kw), X(3, 2), more=(((2, 2, 3),),),
            orders=1, named=False)
        for n, kw in PINV.items()
    ),
    row("pinv hermitian", lambda T, x: T.linalg.pinv(x + x.mT, rtol=0.5, hermitian=True), X(3, 3), orders=1,
        named=False),
)  # fmt: skip

# --- nn.functional -------------------------------------------------------------------------------

ACTIVATIONS = (
    "celu", "elu", "gelu", "hardtanh", "leaky_relu", "logsigmoid", "mish", "relu", "relu6", "selu", "silu", "softplus",
    "softsign", "sigmoid", "tanh",
)  # fmt: skip

NETWORKS = (
    *(
        row("F." + n, of("F." + n), X(2, 3, domain="wide"), pointwise=True, edges=EDGES)
        for n in ACTIVATIONS
    ),
    row("F.celu alpha", lambda T, x: T.nn.functional.celu(x, 2.0), X(2, 3, domain="wide"), pointwise=True,
        edges=EDGES),
    row("F.elu alpha", lambda T, x: T.nn.functional.elu(x, alpha=2.0), X(2, 3, domain="wide"), pointwise=True,
        edges=EDGES),
    row("F.gelu tanh", lambda T, x: T.nn.functional.gelu(x, approximate="tanh"), X(2, 3, domain="wide"),
        pointwise=True, edges=EDGES),
    row("F.hardtanh bounds", lambda T, x: T.nn.functional.hardtanh(x, -2.0, 0.5), X(2, 3, domain="wide"),
        pointwise=True, edges=EDGES),
    row("F.leaky_relu slope", lambda T, x: T.nn.functional.leaky_relu(x, 0.2), X(2, 3, domain="wide"),
        pointwise=True, edges=EDGES),
    row("F.softplus beta", lambda T, x: T.nn.functional.softplus(x, beta=2.0, threshold=5.0),
        X(2, 3, domain="wide"), pointwise=True, edges=EDGES),
    row("F.relu inplace", lambda T, x: T.nn.functional.relu(x.clone(), inplace=True), X(2, 3), brief=True),
    row("F.softmax", lambda T, x: T.nn.functional.softmax(x, dim=1), X(2, 3)),
    row("F.softmin", lambda T, x: T.nn.functional.softmin(x, dim=0), X(2, 3)),
    row("F.log_softmax", lambda T, x: T.nn.functional.log_softmax(x, dim=-1), X(2, 3)),
    row("F.linear", of("F.linear"), X(2, 3), X(4, 3), X(4),
        more=(((3,), (4, 3), (4,)), ((2, 2, 3), (4, 3), (4,)), ((0, 3), (2, 3), (2,)))),
    row("F.linear no bias", of("F.linear"), X(2, 3), X(4, 3)),
    row("F.pad", lambda T, x: T.nn.functional.pad(x, (1, 2)), X(2, 3), exact=True),
    row("F.pad two", lambda T, x: T.nn.functional.pad(x, (1, 0, 0, 2), value=1.5), X(2, 3), exact=True),
    row("F.pad negative", lambda T, x: T.nn.functional.pad(x, (-1, 1)), X(2, 3), exact=True),
    row("F.one_hot", lambda T, i: T.nn.functional.one_hot(i, 4), I(4, 2, 3), orders=0),
    *(
        r
        for how in ("mean", "sum", "none")
        for r in (
            row(f"F.mse_loss {how}", lambda T, x, y, r=how: T.nn.functional.mse_loss(x, y, reduction=r),
                X(2, 3), X(2, 3)),
            row(f"F.binary_cross_entropy {how}",
                lambda T, x, y, r=how: T.nn.functional.binary_cross_entropy(x, y, reduction=r),
                X(2, 3, domain="half"), X(2, 3, domain="half")),
            row(f"F.binary_cross_entropy_with_logits {how}",
                lambda T, x, y, r=how: T.nn.functional.binary_cross_entropy_with_logits(x, y, reduction=r),
                X(2, 3), X(2, 3, domain="half")),
            row(f"F.cross_entropy {how}",
                lambda T, x, i, r=how: T.nn.functional.cross_entropy(x, i, reduction=r), X(3, 4), I(4, 3)),
            row(f"F.cross_entropy weight {how}",
                lambda T, x, w, i, r=how: T.nn.functional.cross_entropy(x, i, weight=w.detach(), reduction=r),
                X(3, 4), X(4, domain="positive"), I(4, 3)),
            row(f"F.cross_entropy probabilities {how}",
                lambda T, x, p, r=how: T.nn.functional.cross_entropy(x, p, reduction=r), X(3, 4),
                X(3, 4, domain="half")),
        )
    ),
    row("F.binary_cross_entropy weight",
        lambda T, x, y, w: T.nn.functional.binary_cross_entropy(x, y, weight=w.detach()),
        X(2, 3, domain="half"), X(2, 3, domain="half"), X(3, domain="positive")),
    row("F.binary_cross_entropy ends",
        lambda T, x: T.nn.functional.binary_cross_entropy(
            x - x.detach() + T.tensor([0.0, 1.0, 0.0, 1.0], dtype=x.dtype),
            T.tensor([0.0, 1.0, 1.0, 0.0], dtype=x.dtype), reduction="none"), X(4), orders=1),
    row("F.binary_cross_entropy_with_logits pos_weight",
        lambda T, x, y, w: T.nn.functional.binary_cross_entropy_with_logits(x, y, pos_weight=w.detach()),
        X(2, 3), X(2, 3, domain="half"), X(3, domain="positive")),
    row("F.binary_cross_entropy_with_logits weight",
        lambda T, x, y, w: T.nn.functional.binary_cross_entropy_with_logits(x, y, weight=w.detach()), X(2, 3),
        X(2, 3, domain="half"), X(3, domain="positive")),
    row("F.binary_cross_entropy_with_logits far",
        lambda T, x, y: T.nn.functional.binary_cross_entropy_with_logits(far(T, x), y, reduction="none"),
        X(2, 3), X(2, 3, domain="half")),
    row("F.cross_entropy far",
        lambda T, x: T.nn.functional.cross_entropy(far(T, x), T.tensor([1, 0]), reduction="none"), X(2, 3)),
    row("F.cross_entropy ignore_index", lambda T, x: T.nn.functional.cross_entropy(x, T.tensor([1, -100, 0])),
        X(3, 4)),
    row("F.cross_entropy smoothing", lambda T, x, i: T.nn.functional.cross_entropy(x, i, label_smoothing=0.2),
        X(3, 4), I(4, 3)),
    row("F.cross_entropy smoothing weight",
        lambda T, x, w, i: T.nn.functional.cross_entropy(x, i, weight=w.detach(), label_smoothing=0.2),
        X(3, 4), X(4, domain="positive"), I(4, 3)),
    row("F.cross_entropy one", lambda T, x: T.nn.functional.cross_entropy(x, T.tensor(2)), X(4)),
    row("F.cross_entropy images", lambda T, x, i: T.nn.functional.cross_entropy(x, i), X(2, 3, 2),
        I(3, 2, 2)),
)  # fmt: skip

# --- factories -----------------------------------------------------------------------------------

FACTORIES = {
    "arange 5": lambda T: T.arange(5), "arange floats": lambda T: T.arange(0.0, 1.0, 0.25),
    "arange step": lambda T: T.arange(5, 0, -2), "arange dtype": lambda T: T.arange(3, dtype=T.float64),
    "eye": lambda T: T.eye(3), "eye n m": lambda T: T.eye(2, 3),
    "full": lambda T: T.full((2, 2), 1.5), "full int": lambda T: T.full((2,), 3),
    "full bool": lambda T: T.full((2,), True), "linspace": lambda T: T.linspace(0, 1, 5),
    "ones": lambda T: T.ones(2, 3), "zeros": lambda T: T.zeros((2, 3)),
    "zeros dtype": lambda T: T.zeros(2, dtype=T.int64), "zeros empty": lambda T: T.zeros(0),
    "tril_indices": lambda T: T.tril_indices(3, 3), "triu_indices": lambda T: T.triu_indices(3, 4, 1),
    "tensor": lambda T: T.tensor([[1, 2], [3, 4.5]]), "tensor ints": lambda T: T.tensor([1, 2]),
    "tensor bools": lambda T: T.tensor([True, False]), "tensor 0-d": lambda T: T.tensor(1.5),
    "tensor numpy": lambda T: T.tensor(np.array([1.0, 2.0])),
    "tensor numpy scalars": lambda T: T.tensor([np.float64(1.0), 2.0]),
    "tensor empty": lambda T: T.tensor([]), "as_tensor": lambda T: T.as_tensor([1.0]),
    "from_numpy": lambda T: T.from_numpy(np.arange(3, dtype=np.int32)),
    "zeros_like": lambda T: T.zeros_like(T.ones(2, dtype=T.float64)),
    "ones_like dtype": lambda T: T.ones_like(T.ones(2), dtype=T.int64),
    "full_like": lambda T: T.full_like(T.ones(2), 2.5),
    "new_ones": lambda T: T.ones(1, dtype=T.float64).new_ones(2, 3),
    "new_zeros": lambda T: T.ones(1).new_zeros((2,)),
    "new_tensor": lambda T: T.ones(1, dtype=T.float64).new_tensor([1, 2]),
    "new_full": lambda T: T.ones(1).new_full((2,), 3),
    "result_type": lambda T: T.zeros(1, dtype=T.result_type(T.ones(1, dtype=T.int32), 1.5)),
    "promote_types": lambda T: T.zeros(1, dtype=T.promote_types(T.uint8, T.int8)),
    "finfo": lambda T: T.tensor([T.finfo(T.float32).eps, T.finfo(T.float64).max, T.iinfo(T.int32).max], dtype=T.float64),
    "numel": lambda T: T.tensor([T.numel(T.ones(2, 3)), T.ones(2, 3).dim(), len(T.ones(2, 3))]),
    "stride": lambda T: T.tensor([T.ones(2, 3).stride(), T.ones(3, 2).t().stride()]),
    "is_contiguous": lambda T: T.tensor([T.ones(2, 3).is_contiguous(), T.ones(2, 3).t().is_contiguous()]),
    "tolist": lambda T: T.tensor(T.tensor([[1, 2]]).tolist()),
}  # fmt: skip

MADE = (
    *(
        row(n, f, orders=0)
        for n, f in FACTORIES.items()
    ),
)  # fmt: skip

ROWS = (
    *POINTWISE, *REDUCTIONS, *CONVERSIONS, *TIES, *ORDERS, *SHAPES, *PLACES, *PRODUCTS, *NETWORKS, *MADE,
)  # fmt: skip
assert len({r.name for r in ROWS}) == len(ROWS), "two rows have one name"

# --- calls that are refused ----------------------------------------------------------------------

REFUSED = {
    "add of shapes": lambda T: T.ones(2) + T.ones(3),
    "mul of shapes": lambda T: T.ones(2, 3) * T.ones(2),
    "mm of shapes": lambda T: T.mm(T.ones(2, 3), T.ones(2, 3)),
    "mm of vectors": lambda T: T.mm(T.ones(3), T.ones(3, 2)),
    "matmul of shapes": lambda T: T.ones(2, 3) @ T.ones(2, 3),
    "matmul of dtypes": lambda T: T.ones(2, 2) @ T.ones(2, 2, dtype=T.float64),
    "dot of matrices": lambda T: T.dot(T.ones(2, 2), T.ones(2, 2)),
    "bmm of batches": lambda T: T.bmm(T.ones(2, 2, 2), T.ones(3, 2, 2)),
    "sum dim": lambda T: T.ones(2, 3).sum(2),
    "sum dim 0-d": lambda T: T.ones(()).sum(1),
    "sum dims twice": lambda T: T.ones(2, 3).sum((0, 0)),
    "mean of ints": lambda T: T.ones(2, dtype=T.int64).mean(),
    "max of nothing": lambda T: T.ones(0).max(),
    "amax of nothing": lambda T: T.ones(0).amax(),
    "max dim of nothing": lambda T: T.ones(0, 3).max(0),
    "argmax of nothing": lambda T: T.ones(0).argmax(),
    "median dim": lambda T: T.ones(2).median(1),
    "softmax dim": lambda T: T.softmax(T.ones(2), 1),
    "cumsum dim": lambda T: T.cumsum(T.ones(2), 1),
    "view of size": lambda T: T.ones(2, 3).view(4),
    "view of layout": lambda T: T.ones(2, 3).t().view(6),
    "reshape size": lambda T: T.ones(2, 3).reshape(4, 2),
    "reshape two -1": lambda T: T.ones(2, 3).reshape(-1, -1),
    "expand size": lambda T: T.ones(2, 3).expand(4, 3),
    "expand fewer": lambda T: T.ones(2, 3).expand(3),
    "permute twice": lambda T: T.ones(2, 3).permute(0, 0),
    "permute few": lambda T: T.ones(2, 3).permute(0),
    "transpose dim": lambda T: T.ones(2, 3).transpose(0, 2),
    "t of three": lambda T: T.ones(2, 3, 4).t(),
    "unsqueeze dim": lambda T: T.ones(2).unsqueeze(3),
    "cat of shapes": lambda T: T.cat((T.ones(2, 3), T.ones(2, 2))),
    "cat of nothing": lambda T: T.cat(()),
    "cat of 0-d": lambda T: T.cat((T.ones(()), T.ones(()))),
    "stack of shapes": lambda T: T.stack((T.ones(2), T.ones(3))),
    "stack of nothing": lambda T: T.stack(()),
    "split sizes": lambda T: T.ones(5).split([2, 2]),
    "narrow beyond": lambda T: T.ones(3).narrow(0, 2, 2),
    "select beyond": lambda T: T.ones(3).select(0, 3),
    "index beyond": lambda T: T.ones(3)[3],
    "too many indices": lambda T: T.ones(3)[0, 0],
    "index of 0-d": lambda T: T.ones(())[0],
    "index by float": lambda T: T.ones(3)[1.5],
    "index by string": lambda T: T.ones(3)["a"],
    "negative step": lambda T: T.ones(3)[::-1],
    "mask of another shape": lambda T: T.ones(3)[T.ones(2, dtype=T.bool)],
    "index tensor beyond": lambda T: T.ones(3)[T.tensor([3])],
    "gather negative": lambda T: T.ones(3).gather(0, T.tensor([-1])),
    "index_select negative": lambda T: T.ones(3).index_select(0, T.tensor([-1])),
    "scatter negative": lambda T: T.ones(3).scatter(0, T.tensor([-1]), 1.0),
    "take_along_dim flat negative": lambda T: T.take_along_dim(T.ones(3), T.tensor([-1])),
    "gather beyond": lambda T: T.ones(3).gather(0, T.tensor([3])),
    "gather of floats": lambda T: T.ones(3).gather(0, T.tensor([0.0])),
    "gather dims": lambda T: T.ones(3, 3).gather(0, T.tensor([0])),
    "index_select of floats": lambda T: T.ones(3).index_select(0, T.tensor([0.0])),
    "setitem shape": lambda T: T.ones(3).__setitem__(slice(0, 2), T.ones(3)),
    "setitem beyond": lambda T: T.ones(3).__setitem__(3, 1.0),
    "masked_fill mask": lambda T: T.ones(3).masked_fill(T.ones(3), 1.0),
    "where of shapes": lambda T: T.where(T.ones(2, dtype=T.bool), T.ones(3), T.ones(3)),
    "clamp of nothing": lambda T: T.clamp(T.ones(2)),
    "add_ grows": lambda T: T.ones(3).add_(T.ones(2, 3)),
    "add_ of floats to ints": lambda T: T.ones(3, dtype=T.int64).add_(1.5),
    "div_ of ints": lambda T: T.ones(3, dtype=T.int64).div_(2),
    "mul_ of expanded": lambda T: T.ones(1).expand(3).mul_(2),
    "bool of several": lambda T: bool(T.ones(2)),
    "bool of none": lambda T: bool(T.ones(0)),
    "item of several": lambda T: T.ones(2).item(),
    "float of several": lambda T: float(T.ones(2)),
    "len of 0-d": lambda T: len(T.ones(())),
    "iter of 0-d": lambda T: iter(T.ones(())),
    "integers % 0": lambda T: T.tensor([7, -7]) % 0,
    "integers // 0": lambda T: T.tensor([7, -7]) // 0,
    "integers fmod 0": lambda T: T.fmod(T.tensor([7, -7]), 0),
    "lt of shapes": lambda T: T.ones(2) < T.ones(3),
    "logical_and of a number": lambda T: T.logical_and(T.ones(2), 1),
    "logical_or of a number": lambda T: T.logical_or(T.ones(2), 1),
    "logical_xor of a number": lambda T: T.logical_xor(T.ones(2), 1),
    "& of text": lambda T: T.tensor([5, 6]) & "a",
    "| of floats": lambda T: T.tensor([5, 6]) | T.ones(2),
    "^ of floats": lambda T: T.tensor([5, 6]) ^ T.ones(2),
    "fill_ of several": lambda T: T.ones(2).fill_(T.ones(2)),
    "int power": lambda T: T.tensor([2]) ** -1,
    "neg of bool": lambda T: -T.tensor([True]),
    "sub of bool": lambda T: T.tensor([True]) - T.tensor([True]),
    "~ of floats": lambda T: ~T.ones(2),
    "& of floats": lambda T: T.ones(2) & T.ones(2),
    "requires_grad of ints": lambda T: T.ones(2, dtype=T.int64, requires_grad=True),
    "numpy of tracked": lambda T: T.ones(2, requires_grad=True).numpy(),
    "leaf in place": lambda T: T.ones(2, requires_grad=True).add_(1),
    "view of leaf in place": lambda T: T.ones(2, requires_grad=True)[0].add_(1),
    "backward of several": lambda T: (T.ones(2, requires_grad=True) * 2).backward(),
    "backward of constant": lambda T: T.ones(()).backward(),
    "backward shape": lambda T: (T.ones(2, requires_grad=True) * 2).backward(T.ones(3)),
    "grad of nothing": lambda T: T.autograd.grad(T.ones((), requires_grad=True) * 2, []),
    "grad of unused": lambda T: T.autograd.grad(T.ones((), requires_grad=True) * 2, T.ones((), requires_grad=True)),
    "grad of constant": lambda T: T.autograd.grad(T.ones((), requires_grad=True) * 2, T.ones(())),
    "topk beyond": lambda T: T.ones(2).topk(3),
    "kthvalue beyond": lambda T: T.ones(2).kthvalue(3),
    "diag of three": lambda T: T.diag(T.ones(2, 2, 2)),
    "tril of vector": lambda T: T.tril(T.ones(2)),
    "einsum letters": lambda T: T.einsum("ij,jk->ik", T.ones(2, 3), T.ones(2, 3)),
    "einsum operands": lambda T: T.einsum("ij,jk->ik", T.ones(2, 3)),
    "mse_loss of shapes": lambda T: T.nn.functional.binary_cross_entropy(T.full((2,), 0.5), T.ones(3)),
    "bce logits of shapes": lambda T: T.nn.functional.binary_cross_entropy_with_logits(T.ones(2), T.ones(3)),
    "cross_entropy of shapes": lambda T: T.nn.functional.cross_entropy(T.ones(2, 3), T.tensor([1, 0, 1])),
    "bce beyond 1": lambda T: T.nn.functional.binary_cross_entropy(T.full((2,), 1.5), T.ones(2)),
    "unknown reduction": lambda T: T.nn.functional.mse_loss(T.ones(2), T.ones(2), reduction="most"),
    "linspace steps": lambda T: T.linspace(0, 1, -1),
    "arange sign": lambda T: T.arange(0, 5, -1),
    "tensor ragged": lambda T: T.tensor([[1.0], [1.0, 2.0]]),
    "tensor of strings": lambda T: T.tensor(["a"]),
    "repeat few": lambda T: T.ones(2, 3).repeat(2),
    "roll dims": lambda T: T.roll(T.ones(2, 3), (1, 2), (0,)),
    "flip twice": lambda T: T.flip(T.ones(2, 3), (0, 0)),
    "unfold beyond": lambda T: T.ones(3).unfold(0, 4, 1),
    "squeeze dim": lambda T: T.ones(3).squeeze(1),
    "movedim lengths": lambda T: T.ones(2, 3).movedim((0, 1), (0,)),
    "var of no correction": lambda T: T.var(T.ones(2), dim=5),
    "quantile beyond": lambda T: T.quantile(T.ones(3), 1.5),
}  # fmt: skip

# Key phrases of the rules: if PyTorch says one, so must we.
PHRASES = (
    "out of range", "out of bounds", "must match", "dtype", "same dtype", "ambiguous", "negative",
    "ZeroDivisionError", "not implemented for", "a leaf Variable that requires grad", "a view of a leaf Variable", "can't be cast", "broadcast",
    "single memory location", "requires grad", "floating point", "0-d", "leaf variables",
    "grad can be implicitly created only for scalar outputs", "Mismatch in shape", "empty",
    "does not require grad", "allow_unused=True", "too many indices", "invalid for input of size",
    "not compatible", "at least one", "Target size", "target size",
)  # fmt: skip


# --- facts ---------------------------------------------------------------------------------------


@dataclass
class Fact:
    """One array that was computed: ``label`` is f0… of results, g0… of gradients, h0… of second."""

    label: str
    dtype: str
    values: np.ndarray
    flags: tuple = ()  # requires_grad and the node's name, of results


def seeded(row, case, what):
    """What random numbers of a case start from."""
    return f"{row.name}/{case.name}/{what}" + (f"/{case.seed}" if case.seed else "")


def arrays_of(row, case):
    """The operands of a case as arrays, in double precision."""
    if case.points:
        return [p.reshape(o.shape) for p, o in zip(case.points, case.operands, strict=True)]
    found = [o.values(seeded(row, case, k)) for k, o in enumerate(case.operands)]
    return [a if g is None else g for a, g in zip(found, case.given or found, strict=True)]


def tensors_of(arrays, case, dtype, torch, orders):
    """The operands as leaves, those of real numbers requiring gradients."""
    out = []
    for a in arrays:
        kind = getattr(torch, dtype) if a.dtype.kind == "f" else getattr(torch, str(a.dtype))
        if case.layout and a.ndim > 1:
            t = torch.tensor(np.ascontiguousarray(a.T), dtype=kind)
            t = t.permute(*range(a.ndim - 1, -1, -1)).detach()
        elif case.layout and a.ndim == 1:
            t = torch.tensor(np.repeat(a, 2), dtype=kind)[::2].detach()
        else:
            t = torch.tensor(a, dtype=kind)
        out.append(t.requires_grad_() if orders and a.dtype.kind == "f" else t)
    return out


def listed(results):
    return list(results) if isinstance(results, tuple | list) else [results]


def real(t):
    return str(t.dtype).startswith("torch.float") or "float" in str(t.dtype)


def array_of(t):
    """The numbers of a tensor, also of one that PyTorch knows to be zero without having memory."""
    if getattr(t, "_is_zerotensor", bool)():
        return np.zeros(tuple(t.shape), str(t.dtype).split(".")[-1])
    return np.array(t.detach().numpy())


def fact(label, t, flags=()):
    return Fact(label, str(t.dtype).split(".")[-1], array_of(t), flags)


def facts(row, case, dtype, torch, arrays=None):
    """The facts of a case in a module; an error ends them, as a fact with its class for a dtype."""
    arrays = arrays_of(row, case) if arrays is None else arrays
    out = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            _compute(row, case, dtype, torch, arrays, out)
        except Exception as error:  # part of what is compared
            out.append(Fact("error", error_class(error), np.zeros(0), (str(error)[:200],)))
    return out


# --- comparing -----------------------------------------------------------------------------------

# Units of rounding that a result may be off, times its size and its response to rounded operands.
ROUNDINGS = 16
UNIT = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11}
_STEP = 2.0**-30


def scales(row, case, torch, expected):
    """For each fact in double precision, how large rounding errors are, as exponents of 2.

    The size of a number, and its response to changes of the operands of relative size 2**-30 and
    of random signs, over 2**-30: the condition numbers that backward stable arithmetic has to pay.
    At a kink the response to changes to one side is meant, that which is smaller.
    """
    arrays = arrays_of(row, case)
    responses = [np.zeros(f.values.shape) for f in expected]
    for draw in range(4):
        rng = random.Random(seeded(row, case, f"change {draw}"))
        signs = [
            np.array([rng.choice((-1.0, 1.0)) for _ in range(a.size)]).reshape(a.shape)
            for a in arrays
        ]
        sides = []
        for side in (_STEP, -_STEP):
            changed = [
                a * (1 + side * s) if a.dtype.kind == "f" else a
                for a, s in zip(arrays, signs, strict=True)
            ]
            sides.append(_response(expected, facts(row, case, "float64", torch, changed)))
        for k, (a, b) in enumerate(zip(*sides, strict=True)):
            responses[k] = np.fmax(responses[k], np.fmin(a, b))
    responses = _at_least_single(row, case, torch, expected, responses)
    sizes = _at_least_normwise(row, case, expected, responses)
    with np.errstate(all="ignore"):
        return [np.clip(np.ceil(np.log2(s)), -1100, 1100).astype(np.int16) for s in sizes]


def _at_least_normwise(row, case, expected, responses):
    """Second derivatives cancel inside: errors there are relative to the largest of the numbers.

    At edge points, which have nothing to do with each other, to the first derivative, or to 1.
    """
    with np.errstate(all="ignore"):
        sizes = [np.abs(np.where(np.isfinite(f.values), f.values, 0)) + r
                 for f, r in zip(expected, responses, strict=True)]  # fmt: skip
    first = [s for s, f in zip(sizes, expected, strict=True) if f.label[0] == "g" and s.size]
    largest = max([float(s.max()) for s in first], default=0.0)
    out = []
    for s, f in zip(sizes, expected, strict=True):
        if f.label[0] == "h":
            if case.name == "edges":
                s = np.maximum(s, min(1.0, largest))
                for g in first:
                    s = np.maximum(s, g) if g.shape == s.shape else s
            else:
                s = np.maximum(s, max(largest, float(s.max()) if s.size else 0.0))
        out.append(np.maximum(s, 8.0) if row.name in ABSOLUTE and s.size else s)
    return out


def _at_least_single(row, case, torch, expected, responses):
    """Not less than what PyTorch itself is off in single precision: some formulas are not stable."""
    single = {f.label: f.values for f in facts(row, case, "float32", torch)}
    out = []
    for f, r in zip(expected, responses, strict=True):
        other = single.get(f.label)
        if f.values.dtype.kind == "f" and other is not None and other.shape == f.values.shape:
            with np.errstate(all="ignore"):
                off = np.abs(other - f.values.astype(np.float32)) / UNIT["float32"]
                off = np.where(np.isfinite(off), off, 0)
                size = np.abs(f.values) + r
                if case.name != "edges" and off.size:  # any element might have been hit
                    off = np.maximum(off, np.nanmax(np.where(size > 0, off / size, 0)) * size)
            r = np.fmax(r, off)
        out.append(r)
    return out


def _response(expected, found):
    by_label = {f.label: f.values for f in found}
    out = []
    for f in expected:
        other = by_label.get(f.label)
        if other is None or other.shape != f.values.shape:
            other = f.values
        with np.errstate(all="ignore"):
            change = np.abs(other.astype(float) - f.values.astype(float)) / _STEP
        out.append(np.where(np.isfinite(change), change, np.nan))
    return out


def case_differences(row, case, recorded, torch):
    """What differs in a case from facts by dtype, and exponents, as texts."""
    by_dtype, exponents = recorded
    double = {f.label: f.values for f in by_dtype["float64"]}
    scale = dict(zip(double, exponents, strict=True))
    for dtype, expected in by_dtype.items():
        found = facts(row, case, dtype, torch)
        sizes = [scale.get(f.label, np.int16(0)) for f in expected]
        better = double if dtype == "float32" else None
        wrong = disagreement(row, case, dtype, found, expected, sizes, better)
        if wrong:
            yield f"{row.name}, {case.name}, {dtype}: {wrong}"


def disagreement(row, case, dtype, found, expected, exponents, double=None):
    """What is wrong with facts beside PyTorch's, as a text; None if nothing is.

    In single precision the facts may be closer to PyTorch's in ``double`` precision instead.
    """
    by_label = {f.label: f for f in found}
    # What PyTorch cannot differentiate, though it computes it, is not a fact about derivatives.
    limited = bool(expected) and expected[-1].label == "error" and len(expected) > 1
    ours_ended = found[-1] if found and found[-1].label == "error" else None
    for e, exponent in zip(expected, exponents, strict=True):
        if e.label == "error":
            if limited or (ours_ended is not None and ours_ended.dtype == e.dtype):
                return None
            return f"raises {found[-1].dtype if ours_ended else 'nothing'}, expected {e.dtype} {e.flags}"
        f = by_label.get(e.label)
        if f is None:
            if e.label[0] == "h" and not np.any(e.values[np.isfinite(e.values)]):
                continue
            return f"{e.label} is missing" + (
                f": {ours_ended.dtype} {ours_ended.flags}" if ours_ended else ""
            )
        wrong = _disagree(row, case, f, e, exponent, (double or {}).get(e.label))
        if wrong:
            return f"{e.label}: {wrong}"
    known = {e.label for e in expected}
    for f in found:
        if f.label not in known and not limited and np.any(f.values):  # zeros may stand for None
            return f"{f.label} is not in PyTorch: {f.dtype} {f.flags}"
    return None


@np.errstate(all="ignore")
def _disagree(row, case, f, e, exponent, better):
    if f.dtype != e.dtype or f.values.shape != e.values.shape:
        return f"{f.dtype} {f.values.shape}, expected {e.dtype} {e.values.shape}"
    nameless = case.name != "main" or "NotImplemented" in e.flags
    if tuple(f.flags)[: 1 if nameless else 2] != tuple(e.flags)[: 1 if nameless else 2]:
        return f"requires_grad and grad_fn {f.flags}, expected {e.flags}"
    if (
        e.flags and e.flags[2] and not f.flags[2] and not row.pointwise
    ):  # one could view it under other shapes
        return "not contiguous"
    a, b = f.values, e.values
    if b.dtype.kind != "f" or (row.exact and e.label[0] == "f"):
        same = (a == b) | ((a != a) & (b != b))
    else:
        same = _close(a.astype(float), b.astype(float), exponent, e.dtype, e.label[0])
    if better is not None and better.shape == a.shape and a.dtype.kind == "f":
        with np.errstate(all="ignore"):
            rounded = better.astype(a.dtype).astype(float)
        same = same | _close(a.astype(float), rounded, exponent, e.dtype, e.label[0])
    same = same | _departs(row, case, e.label, a, b)
    if e.label[0] != "f":
        granted = next((v for k, v in LOOSER.items() if row.name.startswith(k)), 0.0)
        size = np.abs(b) if case.points or not b.size else np.abs(b).max()
        if row.name.startswith(NORMWISE):
            granted, size = ROUNDINGS * UNIT[e.dtype], np.abs(b).max(initial=0)
        same = same | (np.abs(a - b) <= granted * size)
    if case.points and a.shape == case.operands[0].shape:
        finite = np.isfinite(np.array(case.points)).all(0)
        if e.label[0] == "h":  # no derivatives at infinity
            same = same | ~finite
        for rows, where, _ in DEPARTURES:
            if row.name in rows:
                same = same | where(e.label, *case.points)
    if np.all(same):
        return None
    k = int(np.argmin(same.ravel()))
    where = (
        ""
        if not case.points
        else f" at {[float(p[k]) for p in case.points] if k < case.points[0].size and a.size == case.points[0].size else '?'}"
    )
    return f"[{k}]{where} {a.ravel()[k]!r}, expected {b.ravel()[k]!r} ({int(np.sum(~same))} of {a.size})"


def _close(a, b, exponent, kind, order):
    with np.errstate(all="ignore"):
        allowed = ROUNDINGS * UNIT[kind] * np.exp2(exponent.astype(float))
        allowed = allowed + np.finfo(kind).smallest_normal
        close = np.abs(a - b) <= allowed
        # Beyond the largest number of the precision, rounding decides between it and infinity.
        large = np.abs(b) >= float(np.finfo(kind).max) * 0.99
        close |= (
            large & (np.abs(a) >= float(np.finfo(kind).max) * 0.99) & (np.sign(a) == np.sign(b))
        )
    close |= (a == b) | (np.isnan(a) & np.isnan(b))
    # Second derivatives where PyTorch's formula has none: the formulas are our own.
    return close | ~np.isfinite(b) if order == "h" else close


# Rows whose formula cancels in PyTorch: 1 + tanh or 1 + erf near -1; only absolute errors are small.
ABSOLUTE = ("F.gelu", "F.gelu tanh")

# Where results differ from PyTorch's by decision, at edge points: rows, where, why.
DEPARTURES = (
    (("hypot",), lambda label, x, y: ((np.abs(x) == _TINY) | (np.abs(y) == _TINY)) & (label[0] == "h"),
     "powers of the tiny divisor underflow in single precision"),
    (("abs",), lambda label, x: np.isnan(x), "the derivative at nan is nan, PyTorch's 0"),
    (("fmod",), lambda label, x, y: np.isinf(x) & (label == "g1"), "nan, as the rest; PyTorch's infinite"),
    (("acosh",), lambda label, x: ~(x >= 1), "no derivative outside the domain"),
    (("logit",), lambda label, x: ~((x > 0) & (x < 1)), "no derivative outside the domain"),
    (("hypot",), lambda label, x, y: ((x == 0) & (y == 0)) | np.isinf(x) | np.isinf(y),
     "0 at the kink, as of the 2-norm; PyTorch's nan"),
    (("xlogy",), lambda label, x, y: (x == 0) & ((y == 0) | (label == "h0")), "rule 53: 0"),
    (("pow",), lambda label, x, y: np.isnan(x) & (y == 0), "the derivative at nan is nan"),
    (("pow",), lambda label, x, y: (y == 0) & (label[0] == "h"), "the limit at exponent 0 is nan"),
    (("digamma", "lgamma"), lambda label, x: (x <= 0) & (x == np.floor(x)), "infinite at the poles, not large"),
    (("clamp tensors",), lambda label, x, low, high: low >= high, "bounds that meet still have a gradient"),
    (("logaddexp",), lambda label, x, y: np.isinf(x) & (x == y), "equal infinities share; PyTorch's nan"),
    (("sinc",), lambda label, x: (np.abs(x) < 1e-9) & (label[0] != "f"), "exact where PyTorch has 0"),
    (("F.elu", "F.celu", "F.selu", "F.elu alpha", "F.celu alpha"),
     lambda label, x: (x == 0) & (label[0] == "h"), "the side of the second derivative at a kink"),
    (("F.softplus beta",), lambda label, x: (x == 2.5) & (label[0] == "h"), "the same, at the threshold"),
)  # fmt: skip

# Operations that we have for dtypes that PyTorch refuses.
WIDER = ("trace", "hypot", "logaddexp", "argmax all", "argmin all")

# Derivatives that are exact here, and not in PyTorch: a formula with a constant of 1e-12 in it, a
# trigamma function of 9 digits.  The relative errors that are granted therefore.
# Sums of halves are rounded to halves; eigenvectors are stable in the norm of the matrix, not in
# each of its elements, and beside 80 digits the second derivative of one is 3e-14 off.
LOOSER = {
    "0-d wider": 2.0**-8, "example: linalg: linalg.eigh(positive(T, x)).eigenvectors": 1e-12,
    "F.binary_cross_entropy": 1e-10, "digamma": 4e-9, "lgamma": 4e-9, "Tensor.digamma": 4e-9,
    "Tensor.lgamma": 4e-9, "example: digamma": 4e-9, "example: lgamma": 4e-9,
    "example: F.binary_cross_entropy {": 1e-10,
}  # fmt: skip

# Derivatives in which large numbers cancel: errors are relative to the largest element.
NORMWISE = ("example: linalg: qr", "example: linalg: det")

SELECTIONS = (
    "where", "maximum", "minimum", "fmax", "fmin", "clamp", "F.relu", "relu", "masked_fill",
)  # fmt: skip


def _departs(row, case, label, a, b):
    """Rule 53: below a selection an exact 0 stays 0 where PyTorch has nan."""
    if label[0] == "f" or b.dtype.kind != "f" or not row.name.startswith(SELECTIONS):
        return np.zeros(b.shape, bool)
    return np.isnan(b) & (a == 0)


def weights(row, case, label, ts, dtype, torch):
    """Cotangents: fixed numbers in [0.5, 1.5], never 0."""
    out = []
    for k, t in enumerate(ts):
        rng = random.Random(seeded(row, case, f"{label}{k}"))
        n = math.prod(t.shape)
        w = np.array([round(rng.uniform(0.5, 1.5) * 1024) / 1024 for _ in range(n)], float)
        out.append(torch.tensor(w.reshape(tuple(t.shape)), dtype=t.dtype))
    return out


def _compute(row, case, dtype, torch, arrays, out):
    xs = tensors_of(arrays, case, dtype, torch, case.orders)
    ys = listed(row.call(torch, *xs))
    for k, y in enumerate(ys):
        name = None if y.grad_fn is None else type(y.grad_fn).__name__
        flags = (y.requires_grad, name if row.named else None, y.is_contiguous())
        out.append(fact(f"f{k}", y, flags))
    ys = [y for y in ys if y.requires_grad]
    ins = [x for x in xs if x.requires_grad]
    if case.orders < 1 or not ys:
        return
    ws = [w.requires_grad_() for w in weights(row, case, "w", ys, dtype, torch)]
    second = case.orders > 1
    gs = torch.autograd.grad(ys, ins, ws, create_graph=second, allow_unused=True)
    for k, g in enumerate(gs):
        if g is not None:
            out.append(fact(f"g{k}", g))
    if not second:
        return
    gs = [g for g in gs if g is not None and g.requires_grad]
    if not gs:
        return
    vs = weights(row, case, "v", gs, dtype, torch)
    hs = torch.autograd.grad(gs, [*ins, *ws], vs, allow_unused=True)
    for k, h in enumerate(hs):
        if h is not None:
            out.append(fact(f"h{k}", h))


def saved_facts(row, torch):
    """Which operands and results may not change before the backward pass, and whether it runs twice.

    A list of truths: for each operand and each result whether a backward pass still works after it
    was changed in place, then whether a second one does after the first.
    """
    case = row.cases[0]
    arrays = arrays_of(row, case)

    def run(touch=None, twice=False):
        xs = tensors_of(arrays, case, "float64", torch, 1)
        xs = [x * 1 if x.requires_grad else x for x in xs]
        ys = [y for y in listed(row.call(torch, *xs)) if y.requires_grad]
        if touch is not None:
            changed = (xs + ys)[touch].detach()
            changed.zero_()
        ws = [torch.ones_like(y) for y in ys]
        try:
            for _ in range(1 + twice):
                torch.autograd.backward(ys, ws)
        except RuntimeError:
            return False
        return True

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if not run():
            return []
        xs = tensors_of(arrays, case, "float64", torch, 1)
        count = len(xs) + len([y for y in listed(row.call(torch, *xs)) if y.requires_grad])
        return [*(run(touch) for touch in range(count)), run(twice=True)]


# Rows that watch other tensors here, and why.
SAVED_OTHERWISE = (
    # PyTorch's views refuse to be used after the change, whatever was saved.
    "chunk", "split", "unbind", "unstacked iteration",
    # Several operations in PyTorch, that save copies.
    "matmul", "kron", "tensordot", "take_along_dim", "0-d wider",
    # Derivatives without a formula here, or without one there.
    "floor division", "div floor", "div trunc", "x ** 0", "x ** 1", "2 //", "2 %", "x //", "norm 0",
    "Tensor.norm",
    # Sources and weights, which the derivatives do not need.
    "index_add", "index_copy", "F.cross_entropy weight", "F.cross_entropy smoothing weight",
    # The same, of examples.
    *(f"example: {name}" for name in (
        "shaping: x.unbind", "shaping: x.split", "shaping: x.chunk", "another way: split", "kron", "matrices: kron",
        "matrices: tensordot", "matrices: einsum", "matrices: matmul", "matrices: op", "numbers: x ** 0", "numbers: x ** 1",
        "reading: x.index_", "writing: y.index_", "index_add", "without dimensions: index_add", "F.l1_loss", "F.mse_loss weighted", "F.cross_entropy {'label", "F.kl_div {", "F.pad", "F.smooth_l1_loss {'beta': 0.0}", "matrices: at", "F.tanhshrink", "float32 beside float64", "ordering: quantile in q",
        # A choice of expressions by the operand here.
        "numbers: fmod",
        # Of nothing, of one element, and of what is constant: what a derivative needs there differs.
        "reducing of nothing", "cumprod", "scanning: cumprod", "scanning: logcumsumexp", "reducing: var without", "sgn",
        "F.nll_loss", "linalg: linalg.solve_triangular(a, b, upper=True, left=False)",
        # Several results: which of them the derivative of one is written with.
        "reducing: std_mean", "reducing: aminmax", "linalg: qr", "linalg whole: (lambda q", "linalg: linalg.qr",
        "linalg: lstsq", "linalg: linalg.lstsq", "linalg degenerate: linalg.lstsq",
    )),
)  # fmt: skip


def saved_differences(row, found, expected):
    """What differs in what is saved, as texts; indices are not watched here."""
    if not expected or row.name.startswith(SAVED_OTHERWISE):
        return
    watched = [o.domain != "int" for o in row.operands]
    watched += [True] * (len(expected) - len(watched))
    if len(found) != len(expected):
        yield f"{row.name}: saved {found}, expected {expected}"
    elif any(w and f != e for w, f, e in zip(watched, found, expected, strict=True)):
        yield f"{row.name}: unchanged tensors needed {found}, expected {expected}"


# Every dtype beside every other, as tensors, 0-d tensors and numbers.
KINDS = (
    *("bool", "uint8", "int8", "int16", "int32", "int64"),
    *("float16", "float32", "float64"),
)
NUMBERS = (True, 2, 1.5)


def kind_facts(row, torch, every=1):
    """Results for operands of every dtype: {text: (dtype, values) or the error's class}.

    Only ``every`` so many of them, others for each row.
    """
    n = len(row.operands)
    base = np.array([[1, 2, 3], [2, 1, 1]])

    def operand(kind, shape):
        a = base.reshape(shape) if shape else np.array(2)
        return torch.tensor(a, dtype=getattr(torch, kind))

    runs = {}
    shape = row.operands[0].shape if math.prod(row.operands[0].shape) == 6 else (2, 3)
    for a in KINDS:
        if n == 1:
            runs[a] = (a, shape), ()
            continue
        for b in KINDS:
            runs[f"{a}, {b}"] = (a, shape), (b, shape)
            runs[f"{a}, 0-d {b}"] = (a, shape), (b, ())
        for c in NUMBERS if row.name in WITH_NUMBERS else ():
            runs[f"{a}, {c}"] = (a, shape), c
    out = {}
    first = zlib.crc32(row.name.encode()) % every
    for text, (x, y) in itertools.islice(
        runs.items(), first if n > 1 else 0, None, every if n > 1 else 1
    ):
        args = [operand(*x)]
        if n > 1:
            args.append(operand(*y) if isinstance(y, tuple) else y)
        out[text] = _outcome(lambda args=args: listed(row.call(torch, *args))[0])
    return out


def kind_differences(row, found, expected):
    """What differs in the results for operands of every dtype, as texts."""
    for text, f in found.items():
        e = expected[text]
        if isinstance(e, str) or isinstance(f, str):
            if f != e and not (row.name in WIDER and e == "RuntimeError"):
                yield f"{row.name}, {text}: {f}, expected {e}"
            continue
        a, b = np.asarray(f[1], float), np.asarray(e[1], float)
        unit = UNIT.get(e[0], 0.0)
        if f[0] != e[0]:
            yield f"{row.name}, {text}: {f[0]}, expected {e[0]}"
        elif a.shape != b.shape:
            yield f"{row.name}, {text}: {a.shape}, expected {b.shape}"
        elif not np.allclose(a, b, ROUNDINGS * unit, unit, equal_nan=True):
            yield f"{row.name}, {text}: {a.tolist()}, expected {b.tolist()}"


WITH_NUMBERS = (
    *[
        "add",
        "sub",
        "mul",
        "div",
        "pow",
        "remainder",
        "fmod",
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
        "xlogy",
    ],
    "floor division",
    "modulo",
)


def _outcome(run):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            t = run()
        except Exception as error:  # part of what is compared
            return error_class(error)
        return str(t.dtype).split(".")[-1], array_of(t).astype(float)


CLASSES = (
    NotImplementedError,
    RuntimeError,
    IndexError,
    TypeError,
    ValueError,
    ZeroDivisionError,
    OverflowError,
)


def error_class(error):
    """The builtin class by which errors are compared; NotImplementedError counts as RuntimeError."""
    name = next((c.__name__ for c in CLASSES if isinstance(error, c)), type(error).__name__)
    return "RuntimeError" if name == "NotImplementedError" else name


def refusal(name, torch):
    """The class of the error that a refused call raises, and its key phrases; None without one."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            REFUSED[name](torch)
        except Exception as error:  # what is asked for
            return error_class(error), [p for p in PHRASES if p in str(error)]
    return None
