r"""Whether a formula is one that MathJax sets, with amsmath, and that is safe between dollar signs.

``check`` raises ``Fault`` for what MathJax would refuse or show as an error, and for what TeX sets,
but no printer should write: commands that are not in the lists below, ``%`` and its like, raw ``<``
in front of a letter (a tag, once it is in a page), scripts on nothing.  The lists are written from
the documentation of MathJax ("Supported TeX/LaTeX commands") and of amsmath.  Nothing here comes
from the package.
"""

from __future__ import annotations

import re

from tests.display.latex_tokens import tokens


class Fault(ValueError):
    """What is wrong, with the words before it."""


def _words(names: str) -> set[str]:
    return {"\\" + name for name in names.split()}


_GREEK = """alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa varkappa
lambda mu nu xi omicron pi varpi rho varrho sigma varsigma tau upsilon phi varphi chi psi omega
Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega digamma"""
_NAMED = """sin cos tan cot sec csc sinh cosh tanh coth arcsin arccos arctan log ln lg exp det max
min sup inf lim gcd dim ker deg arg Pr hom"""
_SIGNS = """sum prod int cdot cdots ldots dots times div pm mp odot oslash oplus ominus otimes ast
star circ bullet top bot vee wedge neg lnot land lor leq le geq ge neq ne equiv approx sim propto
in notin to infty partial nabla prime forall exists emptyset backslash colon mid parallel Vert vert
lvert rvert lVert rVert lfloor rfloor lceil rceil langle rangle lbrace rbrace lbrack rbrack hbar ell
lt gt Re Im aleph beth gimel daleth wp quad qquad displaystyle textstyle limits nolimits"""
PLAIN = _words(_GREEK) | _words(_NAMED) | _words(_SIGNS)
PLAIN |= {"\\" + sign for sign in "{}_$#%&,:;!| "}
"""Commands without arguments."""

ARITY = {"\\frac": 2, "\\dfrac": 2, "\\tfrac": 2, "\\binom": 2, "\\sqrt": 1, "\\operatorname": 1}
ARITY |= dict.fromkeys(
    _words(
        "mathrm mathtt mathbf mathit mathsf mathcal mathbb mathfrak mathscr boldsymbol text dot"
        " ddot dddot ddddot hat bar tilde vec check breve acute grave mathring overline underline"
    ),
    1,
)
"""Commands with arguments in braces, and how many."""

ENVIRONMENTS = dict.fromkeys(("matrix", "bmatrix", "pmatrix", "vmatrix", "smallmatrix"), "equal")
ENVIRONMENTS |= {"aligned": "pairs", "cases": "two"}
"""Environments, and how many cells a row may have."""

_FENCES = set("()[]|./") | _words(
    "lvert rvert lVert rVert lfloor rfloor lceil rceil langle rangle lbrace rbrace vert Vert"
)
_FENCES |= {"\\{", "\\}", "\\|"}
_SIGN = set("+-*/=<>()[]|,.:;!?'@")
_MARKUP = re.compile(r"<[A-Za-z/!?]|&(?:[A-Za-z]+|#\w+);|-->|\]\]>")
# What a formula may not hold in any place: these end it, comment it out, or show nothing.
_FORBIDDEN = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]"
)
_PRIVATE = re.compile("[\ue000-\uf8ff]")


def check(latex: str) -> None:
    """Raise ``Fault`` unless ``latex`` is a formula as described above."""
    for pattern, what in ((_FORBIDDEN, "a control"), (_PRIVATE, "a private character")):
        if pattern.search(latex):
            raise Fault(what)
    if found := _MARKUP.search(latex):
        raise Fault(f"markup: {found.group()!r}")
    reader = _Reader(latex)
    reader.cell()
    if reader.k != len(reader.words):
        raise reader.fault("not expected here")


class _Reader:
    """Recursive descent: a cell is a list of atoms with their scripts."""

    def __init__(self, latex: str) -> None:
        self.words = [word for word in tokens(latex) if word != " "]
        self.k = 0

    def fault(self, reason: str) -> Fault:
        before = "".join(self.words[max(0, self.k - 20) : self.k + 1])
        return Fault(f"{reason}: ...{before}")

    def peek(self) -> str:
        return self.words[self.k] if self.k < len(self.words) else ""

    def take(self, expected: str = "") -> str:
        word = self.peek()
        if not word or (expected and word != expected):
            raise self.fault(f"{expected or 'something'} is missing")
        self.k += 1
        return word

    def cell(self) -> None:
        """Atoms with scripts, up to something that closes what is around."""
        while (word := self.peek()) not in ("", "}", "&", "\\\\", "\\end", "\\right"):
            if word in ("^", "_"):
                raise self.fault("a script on nothing")
            self.atom()
            self.scripts()

    def scripts(self) -> None:
        seen: set[str] = set()
        while (sign := self.peek()) in ("^", "_", "'"):
            kind = "_" if sign == "_" else "^"
            if kind in seen and not (sign == "'" == self.words[self.k - 1]):
                raise self.fault(f"a double script {sign}")
            seen.add(kind)
            self.take()
            if sign != "'":
                self.argument()

    def argument(self) -> None:
        """A group, which is not empty, or a single sign."""
        word = self.peek()
        if word == "{":
            self.group(empty=False)
        elif word in ARITY or word in ("\\left", "\\begin", "^", "_", "&", "\\\\", "}", ""):
            raise self.fault("an argument is missing")
        else:
            self.atom()

    def group(self, empty: bool = True) -> None:
        self.take("{")
        start = self.k
        self.cell()
        if not empty and self.k == start:
            raise self.fault("an empty argument")
        self.take("}")

    def atom(self) -> None:
        word = self.peek()
        if word == "{":
            self.group()
        elif word == "\\left":
            self.fenced()
        elif word == "\\begin":
            self.environment()
        elif word == "\\text":
            self.take()
            self.prose()
        elif word in ARITY:
            self.take()
            if word == "\\sqrt" and self.peek() == "[":
                while self.take() != "]":
                    pass
            for _ in range(ARITY[word]):
                if self.peek() != "{":
                    raise self.fault(f"{word} needs braces")
                self.group(empty=False)
        elif word in PLAIN or word in _SIGN or word.isalnum():
            self.take()
        elif len(word) == 1 and not word.isascii() and word.isprintable():
            self.take()  # a mark that combines, or a letter that is none in Unicode's eyes
        else:
            raise self.fault(f"{word!r} is not known")

    def fenced(self) -> None:
        self.take("\\left")
        for closing in (False, True):
            if closing:
                self.cell()
                self.take("\\right")
            if self.take() not in _FENCES:
                raise self.fault("no bracket that can be stretched")

    def prose(self) -> None:
        """The argument of text: letters, digits, blanks and a few signs."""
        self.take("{")
        while (word := self.take()) != "}":
            known = word.isalnum() or word in ".,:;()[]+-='\" " or word in PLAIN
            if not known:
                raise self.fault(f"{word!r} in a text")

    def name(self) -> str:
        self.take("{")
        letters = ""
        while (word := self.take()) != "}":
            letters += word
        if letters not in ENVIRONMENTS:
            raise self.fault(f"the environment {letters} is not known")
        return letters

    def environment(self) -> None:
        self.take("\\begin")
        opened = self.name()
        widths = [1]
        while True:
            self.cell()
            word = self.take()
            if word == "&":
                widths[-1] += 1
            elif word == "\\\\":
                widths.append(1)
            elif word == "\\end":
                break
            else:
                raise self.fault(f"{word!r} in {opened}")
        if self.name() != opened:
            raise self.fault(f"{opened} is closed by another name")
        allowed = {
            "equal": len(set(widths)) == 1,
            "pairs": all(width <= 2 for width in widths),
            "two": all(width <= 2 for width in widths),
        }
        if not allowed[ENVIRONMENTS[opened]]:
            raise self.fault(f"rows of {widths} cells in {opened}")
