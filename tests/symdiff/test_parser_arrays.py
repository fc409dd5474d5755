"""Arrays in text: the language beside Python's own reading of it, and the hostile rest."""

from __future__ import annotations

import contextlib
import math
import random
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import numeric as nm
import symdiff as sd
from symdiff import ParseError
from symdiff.contexts import allowance, listed
from symdiff.interchange.parser import FUNCTIONS
from symdiff.interchange.parser.arguments import PUBLIC, Kind, declared
from tests.support.cases import all_cases

x, y = sd.symbols("x y")
i, k = sd.symbol("i", dtype=int), sd.symbol("k", 2, dtype=int)
q, b, z, v = sd.symbol("q", 3), sd.symbol("b", 3), sd.symbol("z", 7), sd.symbol("v", "n")
A, B, S = sd.symbol("A", (2, 3)), sd.symbol("B", (4, 2, 3)), sd.symbol("S", (3, 3))
X, V = sd.symbol("X", ("n", 3)), sd.symbol("V", (2, 6))
SYMBOLS = [x, y, i, k, q, b, z, v, A, B, S, X, V]
NAMES = {s.name: s for s in SYMBOLS}


def parse(text):
    return sd.parse(text, SYMBOLS)


# The language -------------------------------------------------------------------------------------

# Texts that Python reads as the parser does, given the package's functions.
SAME = [
    *("q[0]", "A[1, 2]", "A[0]", "A[0][1]", "A[:, 1]", "A[..., 0]", "A[1, ::-1]", "A[0,]"),
    *("z[1:3]", "z[::2]", "z[-1]", "z[:-2]", "z[5:1:-2]", "z[1 + 1]", "z[2*3 - 1:]", "z[:]"),
    *("v[:, None]", "v[None]", "q[:, None]*q", "z[[0, 2]]", "S[[0, 1], [1, 2]]", "S[[[0], [1]]]"),
    *("q[[True, False, True]]", "z[i]", "z[i + 1]", "z[k]", "A[:, i]", "S[i, 0]", "B[0, i]"),
    *("(A @ q)[0]", "(q + b)[1:]", "sin(q)[0]", "A.T[0]", "A.T", "B.mT", "B.T", "(A.T @ A).T"),
    *("A @ q", "q @ b", "q @ S @ q", "A @ S @ q", "A @ (S @ q)", "2*X.T @ (X @ q)", "X.T @ X"),
    *("q*b", "q**2/b", "-q + 1", "A - q", "q % 2", "q // b", "q > b", "A == 0", "q @ q - 2*x"),
    *("maximum(q, b)", "maximum(q, 0)", "minimum(A, x)", "where(q > 0, q, x)", "hypot(q, b)"),
    *("exp(-q**2/2)", "sqrt(q)", "jv(0, q)", "polygamma(1, q)", "clip(q, 0, 1)", "round(q)"),
]
CALLS = [
    *("broadcast_to(q, (2, 3))", "broadcast_to(q, shape=(2, 3))", "concat([q, b])"),
    *("concat((A, A), axis=1)", "concat([A, [q]], 0)", "concat([q, b], axis=None)"),
    *("concatenate([q, z])", "diag(q)", "diag(q, 1)", "diag(S, k=-1)", "diagonal(S)"),
    *("diagonal(B, 0, 1, 2)", "expand_dims(q, 0)", "expand_dims(q, (0, -1))", "eye(3)"),
    *("flip(z)", "flip(A, axis=1)", "flip(A, axis=(0, 1))", "full((2, 3), x)", "full(4, 7)"),
    *("matrix_transpose(A)", "ones(3)", "ones((2, 3))", "zeros((2, 3))", "permute_dims(A, (1, 0))"),
    *("reshape(A, (3, 2))", "reshape(A, 3, 2)", "reshape(A, -1)", "squeeze(A[:1])"),
    *("squeeze(A[:1], 0)", "squeeze(A[:1], axis=(0,))", "stack([q, b])", "stack([q, b], axis=1)"),
    *("stack([[x, y], [y, x]])", "stack([x, 1, 2])", "transpose(A)", "transpose(B, (2, 0, 1))"),
    *("transpose(B, 2, 0, 1)", "tril(S)", "tril(S, -1)", "triu(S)", "triu(S, k=1)", "cholesky(S)"),
    *("cholesky(S, upper=True)", "eigh(S)[0]", "eigh(S)[1]", "eigh(S)[-1]", "eigvalsh(S)"),
    *("expm(S)", "logm(S)", "sqrtm(S)", "matrix_power(S, 3)", "matrix_power(S, -1)", "pinv(A)"),
    *("pinv(A, constant_rank=True)", "qr(S)[0]", "qr(S, 'reduced')[1]", "solve_triangular(S, q)"),
    *("solve_triangular(S, q, lower=True)", "svd(A)[1]", "svd(A, full_matrices=False)[0]"),
    *("svdvals(A)", "arange(3)", "getitem(z, 1)", "getitem(S, (0, 1))", "split(z, [1, 3])[1]"),
    *("split(V, 2, axis=1)[0]", "take(z, 2)", "take(z, [0, 2])", "take(S, [0, 2], axis=1)"),
    *("take(z, i)", "take(z, k)", "append(q, x)", "array_split(z, 2)[0]", "atleast_1d(x)"),
    *("atleast_2d(q)", "atleast_3d(q)", "atleast_1d(x, q)[0]", "broadcast_arrays(q, A)[0]"),
    *("column_stack([q, b])", "dsplit(B, 3)[2]", "dstack([q, b])", "fliplr(A)", "flipud(A)"),
    *("hsplit(V, 3)[1]", "hstack([q, b])", "index_add(q, 0, x)", "index_add(S, (0, 1), 1)"),
    *("index_add(q, [0, 0], x)", "index_update(q, 1, x)", "kron(A, S)", "meshgrid(q, b)[0]"),
    *("meshgrid(q, b, indexing='ij')[1]", "moveaxis(B, 0, -1)", "moveaxis(B, (0, 1), (1, 0))"),
    *("pack_tril(S)", "pad(q, 1)", "pad(q, (1, 2))", "pad(A, ((1, 0), (0, 2)))"),
    *("pad(q, 1, 'wrap')", 'pad(q, 2, mode="edge")', "pad(q, 1, constant_values=x)"),
    *("pad(q, 1, constant_values=(x, 0))", "ravel(A)", "repeat(q, 2)", "repeat(q, [1, 0, 2])"),
    *("repeat(A, 2, axis=0)", "roll(z, 2)", "roll(A, (1, 1), (0, 1))", "rollaxis(B, 2)"),
    *("rot90(A)", "rot90(A, 3, (0, 1))", "select([x < 0, x < 1], [-x, x])"),
    *(
        "select([q < 0, q < 1], [-q, q], default=x)",
        "sliding_window_view(z, 3)",
        "swapaxes(B, 0, 2)",
    ),
    *("tile(q, 2)", "tile(q, (2, 2))", "unpack_tril(V)", "unpack_tril(V, symmetric=True)"),
    *("vsplit(V, 2)[0]", "vstack([q, A])", "argmax(q)", "argmin(A, axis=1)", "argsort(z)"),
    *("argmax(A, axis=0, keepdims=True)", "cumprod(q)", "interp(x, [0, 1.5, 3], q)"),
    *("interp(x, q, b, left=0)", "logcumsumexp(q)", "median(A, axis=1)", "partition(q, 1)"),
    *("percentile(q, 25)", "quantile(q, 0.1)", "quantile(q, [0.25, 0.9])", "searchsorted(q, x)"),
    *("searchsorted(q, x, side='right')", "searchsorted(q, x, 'right')", "sort(q)"),
    *("sort(A, axis=0)", "sort(A, axis=None)", "take_along_axis(A, argsort(A))", "det(S)"),
    *("dot(A, q)", "einsum('ij,j->i', A, q)", "einsum(A, [0, 1], q, [1])", "einsum('ii', S)"),
    *("inv(S)", "inv(S) @ q", "matmul(A, q)", "outer(q, b)", "slogdet(S)[0]", "slogdet(S)[1]"),
    *(
        "solve(S, q)",
        "solve_banded((1, 1), S, q)",
        "solve_sylvester(S, S, S)",
        "tensordot(A, S, 1)",
    ),
    *("tensordot(A, A, axes=((0, 1), (0, 1)))", "trace(S)", "trace(S, offset=1)", "vdot(A, A)"),
    *("amax(A)", "amin(A, 0)", "cumsum(A, axis=0)", "log_softmax(q)", "logsumexp(A, axis=1)"),
    *("max(q)", "max(A, axis=-1, keepdims=True)", "min(A, axis=(0, 1))", "mean(v)", "mean(A, 0)"),
    *("norm(q)", "norm(A, 'fro')", "norm(A, 'nuc')", "norm(q, 1)", "norm(q, 3/2 + 1/2)"),
    *("norm(A, axis=1)", "prod(A, axis=1)", "softmax(q)", "softmax(A, axis=0)", "std(q, ddof=1)"),
    *("var(A, axis=0, correction=1)", "sum(A)", "sum(A, 0)", "sum(A, axis=(0, 1))", "sum(exp(v))"),
    *("sum(A, axis=None, keepdims=True)", "convolve(q, z)", "convolve(z, q, 'same')"),
    *("correlate(z, q, mode='full')", "fft(z)[0]", "fft(z, n=4)[1]", "fft(q, b)[0]", "fftn(A)[0]"),
    *("fftshift(z)", "finite_diff(z)", "finite_diff(z, 2, prepend=x)", "ifft(q, b)[1]"),
    *("ifftn(A, A)[0]", "ifftshift(z)", "irfft(q, b)", "irfft(q, b, n=5)", "rfft(z)[0]"),
    *("trapezoid(q)", "trapezoid(q, b)", "trapezoid(q, dx=2)", "fresnel(x)[0]", "sici(q)[1]"),
    *("shichi(x)[0]", "all(q > 0)", "any(A > 0, axis=0)", "average(A, axis=1, weights=q)"),
    *("count_nonzero(q)", "cov(A)", "cov(A, rowvar=False, ddof=0)", "cross(q, b)", "inner(q, b)"),
    *("isfinite(q)", "isinf(q)", "isnan(q)", "multi_dot([q, S, b])", "nan_to_num(q)"),
    *("nan_to_num(q, nan=1, posinf=2)", "nancumsum(q)", "nanmax(q)", "nanmean(q)", "nanmin(q)"),
    *("nanprod(q)", "nanstd(q)", "nansum(A, axis=0)", "nanvar(q)", "ptp(q)", "vander(q)"),
    *("nonzero(q)[0]", "q[q > 0]", "sum(q[b > q]**2)", "A[nonzero(A[0] > x)[0]]"),
    *("vander(q, 2, increasing=True)", "detach(q)*q", "round(q, 2)", "clip(q, min=0)"),
    *("clip(q, max=x)", "clip(q, min=None, max=1)", "lambertw(q, k=-1)", "zeta(q)"),
]


@all_cases("text", SAME + CALLS, least=309)
def test_texts_are_what_python_makes_of_them(text):
    # Python divides numbers of its own as floats, and has functions of these names.
    meant = eval(text, {**vars(sd), **NAMES, "__builtins__": {}})
    found = parse(text)
    same = found is meant
    # Data are equal only to themselves.
    assert same or (re.match("interp|irfft|arange", text) and str(found) == str(meant))


def test_every_public_function_is_called():
    called = {name for text in CALLS for name in re.findall(r"(\w+)\(", text)}
    missing = set(PUBLIC) - set(FUNCTIONS) - called
    assert not missing


def test_every_public_function_of_expressions_is_known():
    # What takes a callable makes functions; the classes are what several results are named by.
    results = {name for name in sd.functions.__all__ if isinstance(getattr(sd, name), type)}
    assert set(sd.functions.__all__) - results - {"pointwise"} == set(PUBLIC) - {"detach"}
    assert not {"custom", "from_function", "symbol", "grad", "parse"} & set(PUBLIC)


def test_arguments_are_what_annotations_say():
    kinds = {}
    for name in PUBLIC:
        function = declared(name)
        for p in function.signature.parameters.values():
            kinds.setdefault(function.kinds[p.name], set()).add(p.annotation)
    assert kinds[Kind.OPERAND] == {"Operand", "Expr", "Operand | None"}
    assert kinds[Kind.OPERANDS] == {"Sequence[Operand]", "Sequence[Values]"}
    assert kinds[Kind.POWER] == {"int", "float", "float | str | None"}
    assert kinds[Kind.ANY] == {"object"}
    for kind in (Kind.OPTION, Kind.AXES):
        assert not {a for a in kinds[kind] if re.search("Expr|Operand|Values|Any|Callable", a)} - {
            "int | Sequence[Any]"  # widths of `pad`
        }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[x, y]", sd.stack([x, y])),
        ("[[x, y], [y, 1]]", sd.stack([[x, y], sd.stack([y, 1])])),
        ("[q, b]", sd.stack([q, b])),
        ("[q, b].T", sd.stack([q, b]).T),
        ("[x, y][1]", y),
        ("[1, 2]", sd.stack([1, 2])),
        ("[1/3, 0.5]", sd.stack([sd.constant(1) / 3, 0.5])),
        ("[[1, 0], [0, 1]]", sd.stack([sd.stack([1, 0]), sd.stack([0, 1])])),
        ("[]", sd.zeros(0)),
        ("2*[x, y] - 1", 2 * sd.stack([x, y]) - 1),
        ("S @ [x, y, 1]", S @ sd.stack([x, y, 1])),
        ("sin([x, y])", sd.sin(sd.stack([x, y]))),
        ("sum([x, y])", sd.sum(sd.stack([x, y]))),
        ("max([x, y])", sd.max(sd.stack([x, y]))),
        ("[x > 0, y > 0]", sd.stack([x > 0, y > 0])),
        ("[1/3, x]", sd.stack([sd.constant(1) / 3, x])),
        ("z[[i, 2]]", z[sd.stack([i, 2])]),
        ("z[-1:None]", z[-1:]),
        ("norm(q, inf)", sd.norm(q, math.inf)),
        ("norm(q, -inf)", sd.norm(q, -math.inf)),
        ("norm(q, 1/2)", sd.norm(q, 0.5)),
        ("norm(q, 1/3)", sd.norm(q, Fraction(1, 3))),
        ("max(q, b)", sd.maximum(q, b)),
        ("max(q, b, 0)", sd.maximum(sd.maximum(q, b), 0)),
        ("max(x, 0)", sd.maximum(x, 0)),
        ("ln(q)", sd.log(q)),
        ("not q > 0", ~(q > 0)),
        ("0 < q < 1", (q > 0) & (q < 1)),
    ],
)
def test_language(text, expected):
    assert parse(text) is expected


PI, E, N, S1 = sd.symbols("pi e n sd")
T, Q = x * sd.sin(y), sd.stack([q[0], x])
OF_NAMES = [
    # Lengths of axes go by their names.
    ("sum(v)/n", SYMBOLS, sd.mean(v)),
    ("n*x", SYMBOLS, v.size * x),
    ("eye(n) @ v", SYMBOLS, v),
    ("broadcast_to(q, (n, 3)) + 0*X", SYMBOLS, sd.broadcast_to(q, ("n", 3))),
    ("v[n - 1]", SYMBOLS, v[v.size - 1]),
    ("n*x", [], N * x),
    # A symbol may be called pi.
    ("sd.pi*pi + sd.e*e", [PI, E], sd.pi * PI + sd.e * E),
    ("sd.pi*pi + sd*e", [], sd.pi**2 + S1 * sd.e),
    (str(sd.pi * PI), [PI], sd.pi * PI),
    # Lines in front define names.
    ("t1 = x*sin(y)\nt1**2 + t1", [], T**2 + T),
    ("\n t1 = x\n  t2 = t1*sin(y)\n\nt2**2 +\n t2\n", [], T**2 + T),
    ("t1 = [q[0], x]\nt2 = t1 @ t1\nexp(t2)*t1", SYMBOLS, sd.exp(Q @ Q) * Q),
    ("t = x == y\nt", [], x == y),
    ("x\n == y", [], x == y),
    ("u = w\nu*w", {"w": x + y}, (x + y) ** 2),
    # Python nests chains of what ends with a bracket, and gives up on some thousands.
    (" + ".join(["q[0]"] * 4000), SYMBOLS, 4000 * q[0]),
]


@pytest.mark.parametrize(("text", "names", "expected"), OF_NAMES, ids=lambda v: str(v)[:40])
def test_names_are_what_they_are_given_to_be(text, names, expected):
    before = list(names)
    assert sd.parse(text, names) is expected
    assert list(names) == before


def test_texts_of_numbers_are_the_same_node():
    assert parse("[[1, 2], [3, 4]] @ [x, y]") is parse("[[1, 2], [3, 4]] @ [x, y]")


# Beside NumPy -------------------------------------------------------------------------------------


class Program:
    """Random texts: what is parsed, and the same for Python's own reading with NumPy's arrays.

    The arrays hold small numbers with few binary digits, so that both computations are exact.
    """

    def __init__(self, seed):
        self.rng = random.Random(seed)

    def scalar(self, depth):
        if not depth:
            return self.rng.choice([("x", "x"), ("y", "y"), ("2", "2"), ("3/4", "0.75")])
        vector, matrix = self.vector, self.matrix
        kind = self.rng.randrange(9)
        if kind == 0:
            return self.joined("({} @ {})", vector(depth - 1), vector(depth - 1))
        if kind == 1:
            return self.joined("trace({})", matrix(depth - 1), ours="trace({})")
        if kind == 2:
            return self.joined(
                self.rng.choice(["sum({})", "max({})", "min({})"]), matrix(depth - 1)
            )
        if kind == 3:
            return self.joined("{}[" + self.place() + "]", vector(depth - 1))
        if kind == 4:
            return self.joined(f"{{}}[{self.place()}, {self.place()}]", matrix(depth - 1))
        if kind == 5:
            return self.joined(
                "where({} > {}, {}, {})", *(self.scalar(depth - 1) for _ in range(4))
            )
        return self.sum_or_product(self.scalar, depth)

    def vector(self, depth):
        if not depth:
            return self.rng.choice(
                [("q", "q"), ("b", "b"), ("S[1]", "S[1]"), ("S[:, 0]", "S[:, 0]")]
            )
        scalar, vector, matrix = self.scalar, self.vector, self.matrix
        kind = self.rng.randrange(10)
        if kind == 0:
            return self.joined("({} @ {})", matrix(depth - 1), vector(depth - 1))
        if kind == 1:
            parts = [scalar(depth - 1) for _ in range(3)]
            return (
                f"[{', '.join(p for p, _ in parts)}]",
                f"array([{', '.join(p for _, p in parts)}])",
            )
        if kind == 2:
            return self.joined(f"sum({{}}, axis={self.rng.randrange(-2, 2)})", matrix(depth - 1))
        if kind == 3:
            return self.joined(
                "{}[" + self.rng.choice(["::-1", "[2, 0, 0]", "[0, 1, -1]"]) + "]",
                vector(depth - 1),
            )
        if kind == 4:
            return self.joined(
                self.rng.choice(["{}[0]", "{}[:, -1]", "diag({})"]), matrix(depth - 1)
            )
        if kind == 5:
            return self.joined(
                "concatenate([{}[1:], {}[:1]])", vector(depth - 1), vector(depth - 1)
            )
        if kind == 6:
            name = self.rng.choice(
                ["cumsum({})", "roll({}, 2)", "flip({})", "maximum({}, 0)", "abs({})"]
            )
            return self.joined(name, vector(depth - 1))
        return self.sum_or_product(vector, depth, scalar)

    def matrix(self, depth):
        if not depth:
            return self.rng.choice(
                [("S", "S"), ("A.T[:, [0, 1, 1]]", "A.T[:, [0, 1, 1]]"), ("eye(3)", "eye(3)")]
            )
        vector, matrix = self.vector, self.matrix
        kind = self.rng.randrange(8)
        if kind == 0:
            return self.joined("({} @ {})", matrix(depth - 1), matrix(depth - 1))
        if kind == 1:
            return self.joined("{}.T", matrix(depth - 1))
        if kind == 2:
            return self.joined("outer({}, {})", vector(depth - 1), vector(depth - 1))
        if kind == 3:
            rows = [vector(depth - 1) for _ in range(3)]
            return (
                f"[{', '.join(p for p, _ in rows)}]",
                f"array([{', '.join(p for _, p in rows)}])",
            )
        if kind == 4:
            return self.joined("({}[:, None] + {})", vector(depth - 1), vector(depth - 1))
        if kind == 5:
            name = self.rng.choice(["tril({})", "triu({}, 1)", "{}[::-1]", "reshape({}, (3, 3))"])
            return self.joined(name, matrix(depth - 1))
        return self.sum_or_product(matrix, depth, self.scalar)

    def sum_or_product(self, part, depth, factor=None):
        form = self.rng.choice(["({} + {})", "({} - {})", "({} + {}/2)", "({} * {})", "(-{} - {})"])
        other = factor if factor and self.rng.random() < 0.5 else part
        return self.joined(form, other(depth - 1), part(depth - 1))

    def place(self):
        return str(self.rng.randrange(-3, 3))

    def joined(self, form, *parts, ours=None):
        return (form.format(*(p for p, _ in parts)), form.format(*(p for _, p in parts)))


@pytest.mark.slow
@given(st.integers(0, 10**9), st.sampled_from(["scalar", "vector", "matrix"]), st.integers(1, 3))
def test_programs_have_numpys_values(seed, kind, depth):
    program = Program(seed)
    text, meant = getattr(program, kind)(depth)
    numbers = np.random.default_rng(seed)
    at = {s: numbers.integers(-6, 7, s.shape) / 2 for s in (x, y, q, b, A, S)}
    names = {s.name: value for s, value in at.items()}
    expected = eval(meant, {**vars(np), **names, "__builtins__": {}})
    assert (
        np.abs(expected).max() < 2.0**30
    )  # so that nothing was rounded: few bits behind the point
    found = parse(text)
    value = nm.lower(found, list(at))(*at.values())
    np.testing.assert_array_equal(value, expected)
    assert parse(text) is found


# What is refused ----------------------------------------------------------------------------------


@all_cases(
    ("text", "position", "says"),
    [
        ("A[0, 5]", 2, "out of bounds for axis 1 of length 3"),
        ("z[1.5]", 2, "neither an integer"),
        ("z[x]", 2, "indices are integers"),
        ("z['a']", 2, "neither an integer"),
        ("z[1:x]", 2, "integers"),
        ("z[0, 0]", 2, "2 indices"),
        ("z[True]", 2, "single boolean"),
        ("x + y[0]", 6, "a scalar has no subscripts"),
        ("A @ A", 4, "letter j would be both"),
        ("1 + (A + q + z)", 13, "broadcast"),
        ("[q, z]", 0, "shapes .* differ"),
        ("[x, (y, x)]", 4, "comma"),
        ("[x, 'a']", 4, "strings"),
        ("[slogdet(S)]", 1, "2 results"),
        ("2*slogdet(S)", 2, "2 results; take one of them"),
        ("slogdet(S)[2]", 11, "2 results"),
        ("slogdet(S)[:]", 11, "2 results"),
        ("sum(q, axis=x)", 12, "not a formula"),
        ("sum(q, axis=2)", 0, "axis 2 is out of bounds"),
        ("sum(q, axes=0)", 0, "unexpected keyword argument 'axes'"),
        ("sum()", 0, "missing a required argument: 'x'"),
        ("sum(q, axis=0, axis=0)", 0, "twice"),
        ("sum(x=q)", 0, "positional"),
        ("sin(x=q)", 0, "positional"),
        ("log(x, base=2)", 0, "unexpected keyword"),
        ("sec(x=q)", 0, "by position"),
        ("sum(*q)", 0, "by position"),
        ("sum(**q)", 0, "by position"),
        ("max(A, 0)", 7, r"write max\(x, axis=0\)"),
        ("zeros((m, 3))", 6, "its name in"),
        ("concat(q)", 7, "list"),
        ("pad(q, 1, 'sideways')", 0, "mode 'sideways'"),
        ("sin('q')", 4, "strings"),
        ("quantile(q, 'fro')", 12, "quantile: a formula has no strings"),
        ("roll(q, (1, 'fro'))", 0, "shift 'fro' of type str"),
        ("repeat(q, x)", 10, "not a formula"),
        ("round(q, 1/2)", 11, "round: decimals is an integer"),
        ("sin((q, b))", 4, "comma"),
        ("sin(None)", 4, "keyword"),
        ("True", 0, "keyword"),
        ("q + ...", 4, "subscript"),
        ("q.shape", 1, r"attributes but .T and .mT"),
        ("q.Tx", 1, "attributes"),
        ("q.T.real", 3, "attributes"),
        ("q.T()", 0, "only functions"),
        ("sd.sin(x)", 2, "attributes"),
        ("(1:2)", 2, "subscript"),
        ("sin(q:2)", 5, "subscript"),
        ("q = 1", 2, "== compares"),
        ("(q = 1)", 3, "== compares"),
        ("sin(2*q = 1)", 8, "== compares"),
        ("sin(2 = 1)", 6, "== compares"),
        ("q[axis=0]", 6, "== compares"),
        ("[i] = q", 4, "index notation is not read back"),
        ("t1[i,j] = q", 8, "index notation is not read back"),
        ("sum[k](A[i,k])", 0, "index notation is not read back"),
        ("q[0)", 3, "does not match"),
        ("q[0", 1, "never closed"),
        ("q[]", 2, "invalid syntax"),
        ("q[1:2:3:4]", 7, "invalid syntax"),
        ("[x for x in q]", 3, "keyword"),
        ("q[lambda: 0]", 2, "keyword"),
        ("symbol('x')", 0, "not a function"),
        ("custom(x)", 0, "not a function"),
        ("pointwise('f', x)", 0, "not a function"),
        ("grad(q @ q, q)", 0, "not a function"),
        ("solv(S, q)", 0, "did you mean solve"),
        ("'\\x41'", 0, "strings"),
        ("pad(q, 1, '{x}')", 10, "strings"),
        ("pad(q, 1, f'wrap')", 11, "invalid syntax"),
        ("pad(q, 1, b'wrap')", 11, "invalid syntax"),
        ("inv(A)", 0, "not square"),
        ("meshgrid(" + "q, " * 65 + ")[0]", 0, "more than 64 operands"),
        ("reshape(q, (" + "1, " * 64 + "3))", 11, "more than 64 axes"),
        ("q" + "[None]" * 64, 0, "more than 64 axes"),
    ],
    least=75,
)
def test_refused(text, position, says):
    with pytest.raises(ParseError, match=says) as caught:
        parse(text)
    assert (caught.value.text, caught.value.position) == (text, position)
    assert set(str(caught.value).split("\n")[-1]) == {" ", "^"}


@pytest.mark.parametrize("text", ["A @ A", "q + z", "[q, z]", "sum([q, z])", "solve(S, z)", "q.mT"])
@pytest.mark.parametrize("kind", [ParseError, sd.ShapeError])
def test_shapes_that_do_not_fit_are_both_errors(text, kind):
    with pytest.raises(kind, match=r"\^"):
        parse(text)


def test_a_name_is_not_that_of_a_symbol_and_of_a_length():
    with pytest.raises(
        sd.ShapeError, match=r"'n' is a symbol of shape \(\) and a length of v, .*\(n,\)"
    ):
        sd.parse("n*v", [v, N])
    assert sd.parse("n*t", [v, N]) is N * sd.symbol("t")
    assert sd.parse("sum(v)", [v, N]) is sd.sum(v)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "repeat(q, [10**9, 1, 1])",
        "repeat(q, [10**30, 1, 1])",
        "pad(q, 10**9, 'wrap')",
        "pack_tril(ones((10**6, 10**6)))",
        "unpack_tril(ones(5000050000))",
        "unpack_tril(ones(5000050000), symmetric=True)",
        "zeros((10**5, 10**5))[[0, 1], [1, 2]]",
        "outer(ones(10**6), full(10**6, x))[[0, 1], 0]",
        "outer(z, full(10**6, x))[[" + "0, " * 9 + "], 1:]",
        "take(full(10**9, x), [0])",
        "index_add(full((10**5, 10**5), x), [0, 1], y)",
        "index_update(full((10**5, 10**5), x), [0, 0], y)",
        "convolve(full(10**5, x), full(10**5, y))",
        "correlate(full(10**5, x), full(10**4, y))",
        "irfft(q, b, 10**9)",
        "split(full(10**9, x), 10**9)[0]",
        "array_split(full(10**9, x), 10**9)[0]",
        "hsplit(full(10**9, x), 10**9)[0]",
        "vander(q, 10**4 + 1)",
        " + ".join(f"repeat(q, [2000000, {n}, 0])[0]" for n in range(6)),
        "multigammaln(x, 10**9)",
        "matrix_power(full((2, 2), 3), 10**9)",
        "matrix_power(3*S, 10**6)",
        "norm(full(3, 7), 10**9)",
        "norm(7*q, 10**30)",
        "reshape(q, (" + "1, " * 20_000 + "3))",
        "reshape(q, " + "1, " * 20_000 + "3)",
        "expand_dims(q, (" + "0, " * 20_000 + "))",
        "q[" + "None, " * 100 + "]",
        "q" + "[None]" * 70,
        "[" * 70 + "x" + "]" * 70 + " + q",
        "meshgrid(" + "q, " * 100 + ")[0]",
        "q" + ".T" * 100_000,
        "q" + "[:]" * 20_000,
        "[" * 100_000,
        "q[[" * 50_000,
        "einsum(" + "'i', " * 20_000 + "q)",
        "zeros(10**999)[10**999]",
    ],
)
def test_what_would_take_memory_or_time_is_refused(text):
    with pytest.raises(ParseError):
        parse(text)


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("eye(10**9)", (10**9, 10**9)),
        ("broadcast_to(x, (10**9, 10**9))[0, 0]", ()),
        ("tril(ones((10**9, 10**9)))", (10**9, 10**9)),
        (" @ ".join(["A.T @ A"] * 4000), (3, 3)),
        ("S" + " @ S" * 4000, (3, 3)),
    ],
    ids=lambda v: str(v)[:40],
)
def test_a_shape_is_no_memory_and_a_chain_no_depth(text, shape):
    assert parse(text).shape == shape


def test_what_may_be_listed_is_counted():
    with allowance(1000):
        listed("a", 500)
        listed("b", 300, 2)
        with pytest.raises(ValueError, match=r"c: 1 elements .* list 1000"):
            listed("c", 1)
    listed("d", 10**30)
    with pytest.raises(
        ValueError, match="e: makes expressions one by one, and no more than 1000000"
    ):
        listed("e", expressions=10**7)
    for call in (
        lambda: sd.array_split(sd.symbol("u", 5), 10**9),
        lambda: sd.split(sd.symbol("u", 0), 10**9),
        lambda: sd.multigammaln(sd.symbol("x"), 10**400),
    ):
        with pytest.raises(ValueError, match="one by one"):
            call()
    X = sd.symbol("X", (10**4, 10**4))
    with pytest.raises(ParseError, match="one by one"):
        sd.parse("X[[0, 1]]", [X])
    assert sd.parse("X[:, [0, 1]]", [X]).shape == (10**4, 2)


@pytest.mark.slow
@pytest.mark.parametrize("n", [64, 65, 66, 130, 3000])
def test_long_chains_in_brackets(n):
    terms = [f"v{j}" for j in range(n)]
    values = sd.symbols(terms)
    added = " + ".join(terms)
    total = parse(added)
    assert parse(f"[{added}, x][0]") is total
    assert parse(f"[x, {added}]") is sd.stack([x, total])
    assert parse(f"sum([{added}, x], axis={' + '.join(['0'] * n)})") is sd.stack([total, x]).sum()
    assert parse(f"z[{' + '.join(['1'] * n)} - {n - 2}:]") is z[2:]
    assert parse(f"z[{' + '.join(['0'] * n)}:{' + '.join(['1'] * n)} - {n - 2}]") is z[:2]
    assert parse(f"[{', '.join(terms)}]") is sd.stack(values)
    parts = [f"q[{k % 3}]*x" for k in range(n)]
    assert len(parse(f"[{' - '.join(parts)}, x]").shape) == 1
    assert parse(" - ".join(parts)) is parse(" - ".join(parts).replace("q[1]", "(q[1])"))


@pytest.mark.parametrize("n", [63, 64, 65, 200])
def test_long_products_of_matrices_associate_from_the_left(n):
    product = S
    for _ in range(n):
        product = product @ S.T
    assert parse("S" + " @ S.T" * n) is product
    assert parse("2*S" + " @ S.T" * n + " - S") is 2 * product - S


# Definitions --------------------------------------------------------------------------------------


def test_thousands_of_lines():
    many = "".join(f"t{k + 1} = t{k}*sin(t{k})\n" for k in range(2000))
    assert len(sd.nodes(sd.parse(f"t0 = x\n{many}t2000"))) == 4001


@pytest.mark.parametrize(
    ("text", "position", "says"),
    [
        ("t1 = x", 3, "== compares"),
        ("t1 = x\n", 7, "empty"),
        ("t1 =\nt1", 4, "empty"),
        ("t1 = x +\n y\nt1", 5, "no formula"),
        ("t1 = x\nt1 = y\nt1", 7, "t1 has a meaning already"),
        ("pi = x\npi", 0, "pi has a meaning already"),
        ("q = x\nq", 0, "q has a meaning already"),
        ("n = x\nn", 0, "n has a meaning already"),
        ("t1 = x\nt2 = t1[0]\nt2", 15, "a scalar has no subscripts"),
        ("t1 = x\nx + = y", 11, "== compares"),
        ("t1[i] = x\nt1", 6, "index notation"),
        ("t1 = slogdet(S)\nt1[0]", 5, "2 results"),
        ("2t = x\nt", 0, "is not a name"),
        ("lambda = x\nlambda", 0, "keyword"),
        ("not = x\nx", 0, "keyword"),
        ("None = x\nx", 0, "keyword"),
        ("__t = x\nx", 0, "underscores"),
        ("t1 = 9**999\nt2 = t1*t1\nt2", 20, "digits"),
    ],
)
def test_definitions_that_are_refused(text, position, says):
    with pytest.raises(ParseError, match=says) as caught:
        parse(text)
    assert (caught.value.text, caught.value.position) == (text, position)


# Anything -----------------------------------------------------------------------------------------

WORDS = ["x", "q", "A", "S", "z", "i", "0", "1", "2", "-1", "1/2", "q", "A", "S", "z"]
WORDS += ["[", "]", "[", "]", "(", ")", ",", ":", ",", "+", "*", " @ ", ".T", ".mT", "None", "..."]
WORDS += ["[0]", "[:, 1]", "[::-1]", "[x, y]", "[[0, 1]]", "True", "axis=", "axis=0", "'fro'", "="]
WORDS += [
    "sum(",
    "max(",
    "norm(",
    "concat([",
    "])",
    "slogdet(",
    "pad(",
    "reshape(",
    "take(",
    "eye(",
]
WORDS += [
    "einsum('ij,j',",
    "where(",
    "repeat(",
    "matrix_power(",
    "split(",
    "sd.pi",
    "roll(",
    "inv(",
]


@given(st.lists(st.sampled_from(WORDS), max_size=25).map("".join))
def test_any_words_are_an_expression_or_a_parse_error(text):
    with contextlib.suppress(ParseError):
        assert isinstance(parse(text), sd.Expr)


NAMED = sorted(PUBLIC)
ARGUMENTS = ["x", "q", "A", "S", "z", "B", "0", "1", "2", "-1", "1/2", "0.1", "None", "True", "inf"]
ARGUMENTS += [
    "[0, 1]",
    "(0, 1)",
    "[q, b]",
    "[x, 2]",
    "((0, 1), (1, 0))",
    "'fro'",
    "q > 0",
    "i",
    "k",
]


@given(st.sampled_from(NAMED), st.lists(st.sampled_from(ARGUMENTS), max_size=4), st.data())
def test_any_arguments_give_expressions_or_a_parse_error(name, given_, data):
    parameters = list(declared(name).signature.parameters)
    words = data.draw(st.lists(st.sampled_from(parameters), max_size=2))
    named = [f"{word}={data.draw(st.sampled_from(ARGUMENTS))}" for word in words]
    with contextlib.suppress(ParseError):
        found = parse(f"{name}({', '.join([*given_, *named])})")
        assert isinstance(found, sd.Expr)


@pytest.mark.parametrize(
    "text", ["None[0]", "1[0]", "'a'[0]", "(1)(2)", "[1][x]", "'a' is 1", "sum(1 in q)"]
)
def test_nothing_warns(text):
    with pytest.raises(ParseError):
        parse(text)
