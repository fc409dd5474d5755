"""Text in: the accepted language, and the hostile rest."""

import ast
import contextlib
import string
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import symdiff as sd
from symdiff import ParseError, parse
from symdiff.interchange.parser import CONSTANTS, FUNCTIONS
from symdiff.scalars.vocabulary import FACTS
from tests.support.cases import all_cases
from tests.support.orders import order_count

x, y, z = sd.symbols("x y z")
HALF = Fraction(1, 2)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x", x),
        ("  x\t", x),
        ("x\n + y", x + y),
        ("((x))", x),
        ("2", sd.constant(2)),
        ("1_000", sd.constant(1000)),
        ("0.5", sd.constant(HALF)),
        ("0.1", sd.constant(0.1)),
        (".5e1", sd.constant(5)),
        ("2.*x", 2 * x),
        ("1e-3*x", 0.001 * x),
        ("1/3", sd.constant(Fraction(1, 3))),
        ("x/3", x / 3),
        ("x + y - z", x + y - z),
        ("x - (y - z)", x - y + z),
        ("2*x/3/y*z", 2 * x / 3 / y * z),
        ("-x**2", -(x**2)),
        ("(-x)**2", x**2),
        ("2**-x", 2 ** (-x)),
        ("x**y**z", x ** (y**z)),
        ("x**(1/2)", sd.sqrt(x)),
        ("x**0.5", sd.sqrt(x)),
        ("--+x", x),
        ("x // y", x // y),
        ("x % y", x % y),
        ("x < y", x < y),
        ("x > y", x > y),
        ("x >= 1", x >= 1),
        ("0 < x <= y < z", (x > 0) & (x <= y) & (y < z)),
        ("x == y", x == y),
        ("x != y", x != y),
        ("x > 0 and y > 0 or not z > 0", (x > 0) & (y > 0) | ~(z > 0)),
        ("x > 0 and y > 0 and z > 0", (x > 0) & (y > 0) & (z > 0)),
        ("where(x > 0, log(x), 0)", sd.where(x > 0, sd.log(x), 0)),
        ("pi*e", sd.pi * sd.e),
        ("e**x", sd.exp(x)),
        ("ln(x)", sd.log(x)),
        ("log(x)", sd.log(x)),
        ("log(x, 2)", sd.log(x) / sd.log(2)),
        ("arccos(x/y)", sd.acos(x / y)),
        ("atan2(y, x)", sd.arctan2(y, x)),
        ("pow(x, 2)", x**2),
        ("sqrt(x)", x**HALF),
        ("square(x)", x**2),
        ("max(x, y, 0)", sd.maximum(sd.maximum(x, y), 0)),
        ("Min(x, y)", sd.minimum(x, y)),
        ("Abs(x)", abs(x)),
        ("cot(x)", 1 / sd.tan(x)),
        ("deg2rad(x)", sd.deg2rad(x)),
        ("round(x)", sd.round(x)),
        ("clip(x, 0, 1)", sd.clip(x, 0, 1)),
        ("polygamma(2, x)", sd.polygamma(2, x)),
        ("lambertw(x) + lambertw(x, -1)", sd.lambertw(x) + sd.lambertw(x, -1)),
        ("zeta(x) + zeta(x, 2)", sd.zeta(x) + sd.zeta(x, 2)),
        ("gamma*gamma(x)", sd.symbol("gamma") * sd.gamma(x)),
        (
            "beta + lambda_ + E_n + I + N + S",
            sum(sd.symbols("beta lambda_ E_n I N S"), start=sd.constant(0)),
        ),
        ("sin + x1", sd.symbol("sin") + sd.symbol("x1")),
        ("x1*sin(theta/2)**2", sd.symbol("x1") * sd.sin(sd.symbol("theta") / 2) ** 2),
        ("sin (x)", sd.sin(x)),
        ("_a*é", sd.symbol("_a") * sd.symbol("é")),
    ],
)
def test_language(text, expected):
    assert parse(text) is expected


MICRO, MU, V = "\u00b5", "\u03bc", sd.symbol("v", 3)
OF_NAMES = [
    ("alpha + 2*I", [], sd.symbol("alpha") + 2 * sd.symbol("I")),
    ("2*v", [V], 2 * V),
    ("2*v", {"v": x + y}, 2 * (x + y)),
    ("e*pi", [sd.symbol("e")], sd.symbol("e") * sd.pi),
    # Identifiers are normalised as Python does.
    (MICRO, [], sd.symbol(MU)),
    (MU, [], sd.symbol(MU)),
    (f"2*{MICRO} + ﬁ*x", [], 2 * sd.symbol(MU) + sd.symbol("fi") * x),
    (f"{MICRO}*x", {MICRO: y}, y * x),
]


@pytest.mark.parametrize(("text", "names", "expected"), OF_NAMES)
def test_names_are_symbols_or_what_is_given(text, names, expected):
    assert parse(text, names) is expected


@pytest.mark.parametrize(
    ("error", "says", "call"),
    [
        (sd.ShapeError, None, lambda: parse("v + w", [V, sd.symbol("w", 4)])),
        (AttributeError, None, lambda: parse("x", [x + y])),
        (TypeError, "bytes", lambda: parse(b"x")),
        (ParseError, "1000000 are the limit", lambda: parse("x" * 1_000_001)),
    ],
)
def test_what_is_no_text_and_no_name(error, says, call):
    with pytest.raises(error, match=says):
        call()


ORDERS = {
    written: order_count(name)
    for name, facts in FACTS.items()
    for written in (name, *facts.aliases.split())
}


@all_cases("name", sorted(FUNCTIONS), least=221)
def test_functions_are_those_of_the_package(name):
    function, fixed = FUNCTIONS[name], [1] * ORDERS.get(name, 0)
    operands = [*fixed, *sd.symbols("a b c d")[len(fixed) : function.least]]
    if name == "multigammaln":  # whose constant comes last
        operands = [operands[0], 2]
    expr = parse(f"{name}({', '.join(map(str, operands))})")
    public = getattr(sd, name, None)
    if public is not None and name not in ("max", "min"):
        assert public(*operands) is expr


def test_every_alias_of_an_elementwise_function_is_known():
    from symdiff.functions import elementwise, special

    pairs = {"sici", "shichi", "fresnel"}  # of functions that a text calls one by one
    names = {*elementwise.__all__, *special.__all__} - pairs - {"pointwise"}
    missing = names - set(FUNCTIONS)
    assert not missing


def test_constants():
    assert set(CONSTANTS) == {"pi", "e", "inf", "nan"}
    assert float(parse("inf")) == float("inf")


# Long chains --------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("n", [64, 65, 66, 129, 130, 10_000])
def test_long_sums_are_one_node(n):
    terms = sd.symbols([f"v{k}" for k in range(n)])
    expr = parse(" + ".join(v.name for v in terms))
    assert all(found is term for found, term in zip(expr.args, terms, strict=True))
    signs = parse("-v0 - " + " - ".join(v.name for v in terms[1:]))
    assert signs.op.coefs == (-1,) * n
    assert parse(f"x*({' + '.join(v.name for v in terms)})/2") is x * expr / 2
    assert parse(f"sin({' + '.join(v.name for v in terms)}) < x") is (sd.sin(expr) < x)
    compared = parse(f"x < -{' + '.join(v.name for v in terms)} < y").args[0]
    assert compared.args[1].op.coefs == (-1, *[1] * (n - 1))


@pytest.mark.slow
@pytest.mark.parametrize("n", [64, 65, 66, 129, 130, 10_000])
def test_long_products_associate_from_the_left(n):
    terms = sd.symbols([f"v{k}" for k in range(n)])
    product = quotient = terms[0]
    for v in terms[1:]:
        product, quotient = product * v, quotient / v
    names = [v.name for v in terms]
    assert parse("*".join(names)) is product
    assert parse("/".join(names)) is quotient
    assert parse(f"x - {'*'.join(names)} + y") is x - product + y
    assert parse(f"x < -{'*'.join(names)}") is (x < -product)
    assert parse(f"where(x > {'*'.join(names)}, x, y)") is sd.where(x > product, x, y)


@pytest.mark.slow
def test_chains_in_chains():
    n = 200
    text = " + ".join("(" + "*".join(f"(v{k} - {j})" for j in range(n)) + ")" for k in range(n))
    expr = parse(text)
    assert len(expr.args) == n


@pytest.mark.slow
@given(st.integers(0, 10**6), st.integers(1, 300))
def test_mixed_chains_equal_pythons(seed, n):
    import random

    rng = random.Random(seed)
    words = [rng.choice("xyz")]
    for _ in range(n):
        words += [
            rng.choice(["+", "-", "*", "*-", "/", "- -"]),
            rng.choice(["x", "y", "z", "2", "(x - y)"]),
        ]
    text = " ".join(words)
    # The oracle is Python's tree of the text; values are compared: wide sums differ in structure.
    at = {"x": Fraction(3, 7), "y": Fraction(-5, 11), "z": Fraction(13, 17)}
    exact = _evaluated(ast.parse(text, mode="eval").body, at)
    assert _value(parse(text), at) == exact


def _evaluated(node, at):
    """The exact value of a tree of Python's."""
    match node:
        case ast.Name():
            return at[node.id]
        case ast.Constant():
            return Fraction(node.value)
        case ast.UnaryOp():
            return -_evaluated(node.operand, at)
    left, right = _evaluated(node.left, at), _evaluated(node.right, at)
    match node.op:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
    return left / right


def _value(expr, at):
    return sd.substitute(expr, {sd.symbol(k): v for k, v in at.items()}).op.const


# What is refused ----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "position", "says"),
    [
        ("", 0, "empty"),
        (" \n ", 0, "empty"),
        ("x^2", 1, r"\*\*, not \^"),
        ("x.real", 1, "attributes"),
        ("(x).real", 3, "attributes"),
        ("1.real", 2, "runs into 'real'"),
        ("1..real", 2, "attributes"),
        ("x[0]", 2, "subscripts"),
        ("[x, None]", 4, "keyword"),
        ("{x}", 0, "sets"),
        ("'x'", 0, "strings"),
        ('f"{x}"', 1, "strings"),
        ("x = 1", 2, "== compares"),
        ("(x := 1)", 3, ": has no place"),
        ("x @ y", 4, "matmul"),
        ("x & y", 2, "`and`"),
        ("|x|", 0, "abs"),
        ("~x", 0, "`not`"),
        ("n!", 1, "gamma"),
        ("x; y", 1, "; has no place"),
        ("x # y", 2, "# has no place"),
        ("x \\\n y", 2, "no place"),
        ("x\0", 1, r"U\+0000"),
        ("x\ud800", 0, "is not a name"),
        ("x\u200b", 0, "is not a name"),
        ("🐍", 0, "is not a name"),
        ("x − y", 2, "write -"),
        ("x²", 0, r"x\*\*2"),
        ("2x", 1, r"write \*"),
        ("2 x", 2, r"side by side: write \*"),
        ("sin x", 4, r"or sin\(x\) for a function"),
        ("sin(2 x)", 4, "side by side"),
        ("x**", 0, r"nothing follows \*\*"),
        ("x +* y", 3, "no formula: invalid syntax"),
        ("1j", 1, "runs into 'j'"),
        ("0x1f", 1, "runs into 'x1f'"),
        ("007", 0, "leading zeros"),
        ("1e1001", 0, "more than 1000 digits"),
        ("1e-1001", 0, "more than 1000 digits"),
        ("1e-999999", 0, "more than 5 digits"),
        ("x +", 0, r"no formula: nothing follows \+"),
        ("(x", 0, "never closed"),
        ("x)", 1, "unmatched"),
        ("x y", 2, "side by side"),
        ("x, y", 0, "comma"),
        ("x + (y, z)", 4, "comma"),
        ("()", 0, "comma"),
        ("*x", 0, "no formula|no place"),
        ("sin(*x)", 0, "by position"),
        ("sin(**x)", 0, "by position"),
        ("lambda t: t", 0, "lambda_"),
        ("lambda*x", 0, "lambda_"),
        ("x if y else z", 2, "keyword"),
        ("sin(x for x in y)", 6, "keyword"),
        ("x is y", 2, "keyword"),
        ("x in y", 2, "keyword"),
        ("await x", 0, "keyword"),
        ("True", 0, "keyword"),
        ("None", 0, "keyword"),
        ("__import__('os')", 0, "underscores"),
        ("x + __class__", 4, "underscores"),
        ("__part0", 0, "underscores"),
        ("_＿x", 0, "underscores"),
        ("eval(x)", 0, "not a function"),
        ("sinn(x)", 0, "did you mean sin"),
        ("x(y)", 0, r"write \*"),
        ("pi(x)", 0, r"write \*"),
        ("sin(x)(y)", 0, "only functions"),
        ("2(x)", 0, "only functions"),
        ("1 + sin()", 4, "sin takes 1 operand, not 0"),
        ("1 + sin(x, y)", 4, "sin takes 1 operand, not 2"),
        ("hypot(x)", 0, "hypot takes 2 operands, not 1"),
        ("log(x, y, z)", 0, "log takes 1 to 2 operands, not 3"),
        ("max(x)", 0, "max takes at least 2 operands, not 1"),
        ("polygamma(x, y)", 0, "polygamma"),
        ("eval_legendre(x, y)", 0, "eval_legendre"),
        ("9**9**9**9", 6, "1000 digits"),
        ("x + 1" + 1000 * "0", 4, "1000 digits"),
        ("(9**1000)**1000", 11, "1000 digits"),
        ("(2*x)**9999999999", 7, "1000 digits"),
        ("(x**10**999)**10**999", 14, "1000 digits"),
        ("((x**10**300)**10**300)**(10**300*10**200)", 15, "1000 digits"),
        ("pow(10, 1001)", 0, "1000 digits"),
        ("*".join(["9**999"] * 3), 7, "1000 digits"),
        ("(" * 300 + "x" + ")" * 300, 200, "nested"),
        ("-" * 100_000 + "x", 0, "nested"),
        ("**".join("x" * 10_000), 0, "nested"),
        ("sin(" * 100_000, 803, "nested"),
        ("+".join(f"1/{k}" for k in range(1, 5000)), 33879, "digits"),
    ],
)
def test_refused(text, position, says):
    with pytest.raises(ParseError, match=says) as caught:
        parse(text)
    error = caught.value
    assert error.text == text
    assert error.position == position
    message, line, caret = str(error).split("\n")
    assert set(caret) == {" ", "^"}
    assert len(line) < 100
    assert len(message) < 200


def test_the_caret_is_under_the_place():
    text = "a*" * 100 + "b^2" + "*c" * 100
    with pytest.raises(ParseError) as caught:
        parse(text)
    _, line, caret = str(caught.value).split("\n")
    assert line[caret.index("^")] == "^"
    assert line.strip().startswith("...")
    assert line.endswith("...")


def test_positions_in_later_parts_and_after_wide_characters():
    text = "é + " + " + ".join(["µ"] * 500) + " + sin(x, y)"
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert caught.value.position == text.index("sin")


@pytest.mark.parametrize("text", ["1if x else y", "1or x", "0in x", "'\\d'", "x is 1"])
def test_nothing_warns_or_escapes(text):
    with pytest.raises(ParseError):
        parse(text)


SAFE = string.ascii_letters + string.digits + "+-*/%<>=!(),.^_ \n&|~[]{}'\"\\:;@#$?\0éµ²"


@given(st.text(SAFE, max_size=60) | st.text(max_size=30))
@example("(x")
@example("1e")
@example("1.e5.")
def test_any_text_is_an_expression_or_a_parse_error(text):
    try:
        expr = parse(text)
    except ParseError as error:
        caught = error
    else:
        assert isinstance(expr, sd.Expr)
        return
    assert 0 <= caught.position <= len(text)
    assert "^" in str(caught).split("\n")[-1]


WORDS = [
    "x",
    "2",
    "9",
    "10",
    "0",
    "0.1",
    "1/3",
    "sin(",
    "power(",
    "gamma(",
    "mod(",
    "floor(",
    "(",
    ")",
    ",",
]
WORDS += [
    "+",
    "-",
    "*",
    "/",
    "**",
    "//",
    "%",
    "<",
    "==",
    " and ",
    " not ",
    "exp2(",
    "polygamma(",
    "round(",
    "inf",
]


@given(st.lists(st.sampled_from(WORDS), max_size=25).map("".join))
def test_any_words_are_an_expression_or_a_parse_error(text):
    with contextlib.suppress(ParseError):
        assert isinstance(parse(text), sd.Expr)
