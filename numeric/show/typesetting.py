r"""Formulas in LaTeX as texts of Matplotlib, which typesets a part of LaTeX without other programs.

Matplotlib has no environments.  A column or a matrix in brackets, and cases, are written in one
line; what else it cannot typeset has no such text, and the caller shows the plain text instead.
"""

from __future__ import annotations

import re
from functools import lru_cache

FONT = "cm"
"""Matplotlib's font family of formulas: Computer Modern, as in books."""

# Braces, delimiters of variable size and environments; a sign between spaces outside of all of them
# separates terms.
_TOKEN = re.compile(
    r"\\[{}]|\\(?:left|begin)\b|\\(?:right|end)\b|[{}]| (?=[+-] )|(?<=,)(?: \\quad| \\;) "
)
_ENVIRONMENT = re.compile(r"\\begin\{([a-z]+)\}((?:(?!\\begin\{|\\end\{).)*)\\end\{\1\}", re.DOTALL)
_NAMES = r"\\(?:operatorname|(?:arc)?(?:sin|cos|tan)h?|log|ln|exp|max|min|det)(?![a-zA-Z])"
_LOW = re.compile(
    r"\\left([(\[|])((?:(?!\\left|\\right|\\frac|\\sum|\\prod|\\int|\\sqrt|\^).)*)\\right([)\]|])"
)
_CALL = re.compile(rf"({_NAMES}(?:\^\{{\d+\}})?)\{{(\([^{{}}()]*\))\}}")
_FUNCTION = re.compile(rf"(?<=[\w}})\]]) ({_NAMES})")
_LONGEST = 2000  # characters of a formula whose parts have been put back
_BRACKETS = {
    "cases": (r"\{", r"\}", r";\;\; ", r"\;\; "),
    "bmatrix": ("[", "]", r";\; ", r",\; "),
}
_SIGNS = {
    r"\left\lVert": r"\left\|",
    r"\right\rVert": r"\right\|",
    r"\displaystyle": "",
    r"\mathrel{+}=": r"\;{+}{=}\;",
    r"\bigl": "",
    r"\bigr": "",
    r"\text{for}\:": r"\mathrm{for}\;",
    r"\ne ": r"\neq ",
}


def tex_number(text: str) -> str:
    r"""Write a number that is a text as LaTeX.

    >>> print(tex_number("1.5e-09"), tex_number("inf"), tex_number("−2"))
    1.5 \cdot 10^{-9} \infty -2
    """
    text = text.replace("−", "-")
    special = {"inf": r"\infty", "-inf": r"-\infty"}.get(text)
    if special or text[-1].isalpha():
        return special or rf"\text{{{text}}}"
    mantissa, _, exponent = text.partition("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if exponent else mantissa


@lru_cache(maxsize=1000)
def mathtext(tex: str) -> str | None:
    r"""Return LaTeX as a text of Matplotlib; None where Matplotlib cannot typeset it.

    >>> print(mathtext(r"\begin{bmatrix} x \\ 2 y \end{bmatrix}"))
    $[x,\; 2 y]$
    >>> mathtext(r"\underbrace{x}") is None
    True
    """
    from matplotlib.mathtext import MathTextParser

    inner = _inlined(tex)
    for sign, known in _SIGNS.items():
        inner = inner.replace(sign, known)
    before = ""
    while inner != before:  # from the innermost environment outwards
        before, inner = inner, _ENVIRONMENT.sub(_in_one_line, inner)
    # Matplotlib draws delimiters of variable size around a low formula too small.
    count = 1
    while count:
        inner, count = _LOW.subn(r"\1\2\3", inner)
    # Books have a thin space before the name of a function, and none after it.
    inner = _CALL.sub(r"\1\2", inner)
    inner = _FUNCTION.sub(r" \\, \1", inner)
    # A dollar would end the formula, and the font lacks letters of most alphabets.
    if not inner.isascii() or "$" in inner or r"\begin" in inner:
        return None
    text = f"${inner}$"
    try:
        MathTextParser("path").parse(text)
    except ValueError:
        return None
    return text


def _inlined(tex: str) -> str:
    r"""Put parts that have lines of their own back into the formula, the last line.

    >>> print(_inlined(r"f = \begin{aligned} t_{1} &= x + y \\ &t_{1} - 2 t_{1} \end{aligned}"))
    f = x + y - 2 \left(x + y\right)
    """
    head, _, rest = tex.partition(r"\begin{aligned}")
    body, end, tail = rest.partition(r"\end{aligned}")
    if not end or tail.strip():
        return tex
    lines: list[str] = []
    for row in map(str.strip, body.split(r"\\")):
        if row.startswith(r"&\quad ") and lines:  # the line before goes on
            lines[-1] += row.removeprefix(r"&\quad")
        else:
            lines.append(row)
    formula = lines.pop().removeprefix("&").strip()
    for part in reversed(lines):
        name, sign, value = part.partition(" &= ")
        if not sign or len(formula) > _LONGEST:
            return tex
        formula = _replaced(formula, name, value.strip())
    return f"{head.strip()} {formula}".strip()


def _replaced(formula: str, name: str, value: str) -> str:
    """Replace a name by its value, in parentheses where a sum or a power needs them."""
    single = len(_terms(value)) == 1 and value[0] != "-"

    def put(match: re.Match[str]) -> str:
        after = match[2]
        alone = match[0] == formula or (not match.start() and after == " ")
        if after != "^" and (single or alone):
            return value + after
        return rf"\left({value}\right){after}"

    return re.sub(rf"({re.escape(name)})(\^| (?=[+-] )|)", put, formula)


def _in_one_line(match: re.Match[str]) -> str:
    kind, rows = match[1], [row.split("&") for row in match[2].split(r"\\")]
    before, after, between, inside = _BRACKETS.get(kind, ("", "", "", ""))
    if not before:
        return match[0]
    if kind == "bmatrix" and all(len(row) == 1 for row in rows):
        between = inside
    inner = between.join(inside.join(map(str.strip, row)) for row in rows)
    return rf"\left{before}{inner}\right{after}"


def extent(text: str, size: float) -> tuple[float, float, float]:
    """Return width, height and depth of a text from ``mathtext`` in points.

    The height includes the depth, which is below the line of letters.
    """
    from matplotlib.font_manager import FontProperties
    from matplotlib.mathtext import MathTextParser

    properties = FontProperties(size=size, math_fontfamily=FONT)
    wide, high, deep, *_ = MathTextParser("path").parse(text, 72, properties)
    return float(wide), float(high), float(deep)


def typeset(tex: str, points: float, size: float, lines: int = 1) -> str | None:
    r"""Return LaTeX as lines of Matplotlib's text, each at most so many points wide.

    Lines end between terms.  Dots replace terms that do not fit.  Return None where Matplotlib
    cannot typeset the formula, or where a single term is wider than a line.

    >>> print(typeset("x + y + z", 100, 10))
    $x + y + z$
    >>> print(typeset("x + y + z", 25, 10, lines=2))
    $x + y$
    $+ z$
    >>> print(typeset("x + y + z + u", 32, 10))
    $x + \cdots$
    """
    whole = mathtext(tex)
    if whole is None or extent(whole, size)[0] <= points:
        return whole
    rows: list[str] = []
    terms = _terms(_inlined(tex))
    while terms and len(rows) < lines:
        last = len(rows) == lines - 1
        for count in range(len(terms), 0, -1):
            more = r" + \cdots" if last and count < len(terms) else ""
            row = mathtext(" ".join(terms[:count]) + more)
            if row is not None and extent(row, size)[0] <= points:
                rows.append(row)
                terms = terms[count:]
                break
        else:
            return None
    return "\n".join(rows)


def _terms(tex: str) -> list[str]:
    r"""Split LaTeX at signs outside of braces, delimiters and environments.

    >>> _terms(r"x = -a \left(b + c\right) - d^{e + 1} + 2, \quad y = 3")
    ['x = -a \\left(b + c\\right)', '- d^{e + 1}', '+ 2,', 'y = 3']
    """
    terms, depth, start = [], 0, 0
    for token in _TOKEN.finditer(tex):
        if token[0] in ("{", r"\left", r"\begin"):
            depth += 1
        elif token[0] in ("}", r"\right", r"\end"):
            depth -= 1
        elif token[0][0] == " " and depth == 0:
            terms.append(tex[start : token.start()])
            start = token.end()
    return [*terms, tex[start:]]
