"""Sums of products in tiles: several at once, which stay in registers and share what they read.

A sum by itself reads two numbers for each product that it adds, and its processor waits for them.
``TALL`` sums along one axis of the value read the same element of one operand, for as many lanes as
registers hold; of sums over rows, ``TALL`` read the same lanes.  The last tile of an axis has its
last element several times.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numeric.lowering.native.loops import Line
    from symdiff.graph.node import Dim

    Names: TypeAlias = dict[object, str]
    Cells: TypeAlias = Callable[[Names], Sequence[str]]

TALL = 8

_HEAD = """\
#if defined(__AVX512F__) || (defined(__AVX__) && {single})
#define PIECE 8 /* as many lanes as a register has, and no more than eight */
#elif defined(__AVX__) || {single}
#define PIECE 4
#else
#define PIECE 2
#endif
#if defined(__AVX512F__)
#define ACROSS 2 /* there are 32 registers */
#else
#define ACROSS 1
#endif
#define BYTES PIECE*sizeof(real)
typedef real piece __attribute__((vector_size(BYTES), aligned(sizeof(real)), may_alias));
#define OF(x) (*(piece *)&(x))
static inline piece some(const real *x, int n) {{
    piece z = {{0}};
    for (int k = 0; k < n && k < PIECE; k++) z[k] = x[k];
    return z;
}}
#if PIECE == 8 && defined(MIX)
#define PAIRS(a, b) (MIX(a, b, 0, 8, 2, 10, 4, 12, 6, 14) + MIX(a, b, 1, 9, 3, 11, 5, 13, 7, 15))
#define FOURS(a, b) (MIX(a, b, 0, 1, 8, 9, 4, 5, 12, 13) + MIX(a, b, 2, 3, 10, 11, 6, 7, 14, 15))
#define EIGHTS(a, b) (MIX(a, b, 0, 1, 2, 3, 8, 9, 10, 11) + MIX(a, b, 4, 5, 6, 7, 12, 13, 14, 15))
#define TOTALS(sum, z) OF(sum[0]) = EIGHTS(FOURS(PAIRS(z[0], z[1]), PAIRS(z[2], z[3])), \\
    FOURS(PAIRS(z[4], z[5]), PAIRS(z[6], z[7])))
#else
#define TOTALS(sum, z) for (int k = 0; k < 8; k++) {{ \\
    for (int w = PIECE/2; w; w /= 2) for (int j = 0; j < w; j++) z[k][j] += z[k][j + w]; \\
    sum[k] = z[k][0]; \\
}}
#endif"""


def of_tiles(single: bool) -> str:
    """What the text of tiles is over, for numbers of one precision."""
    return _HEAD.format(single=int(single))


def _loops(
    line: Line, letters: Sequence[object], names: Names, length: Callable[[Dim], str]
) -> list[str]:
    """Loops over some of a line's letters, ``TALL`` at a time along that of the tiles."""
    assert line.shared is not None
    return [
        f"for (long {names[x]} = 0; {names[x]} < {length(dim)}; {names[x]} += {TALL})"
        if x == line.shared.letter
        else f"for (long {names[x]} = 0; {names[x]} < {length(dim)}; {names[x]}++)"
        for x, dim in zip(line.letters, line.dims, strict=True)
        if x in letters
    ]


def _places(
    line: Line, names: Names, length: Callable[[Dim], str]
) -> tuple[list[str], list[Names]]:
    """The elements of a tile: lines that say where they are, and names for each."""
    assert line.shared is not None
    first, dim = names[line.shared.letter], line.dims[line.letters.index(line.shared.letter)]
    tall = range(min(TALL, dim) if isinstance(dim, int) else TALL)
    end = length(dim)
    lines = [f"const long t{k} = {first} + {k} < {end} ? {first} + {k} : {end} - 1;" for k in tall]
    return lines, [{**names, line.shared.letter: f"t{k}"} for k in tall]


def with_matrix(
    line: Line, cells: Cells, cell: Callable[[Names], str], length: Callable[[Dim], str]
) -> list[str]:
    """The product of each row with a matrix.

    ``cells`` are the operands and ``cell`` is the element of the value in lane r, at places along
    the letters.
    """
    assert line.shared is not None
    shared = line.shared.operand
    names: Names = {x: f"i{k}" for k, x in enumerate(line.letters)}
    where, places = _places(line, names, length)
    lanes = ["for (int h = 0; h < ACROSS; h++) {", "    const int r = at + PIECE*h;"]
    factors = [cells(x)[1 - shared] for x in places]
    return [
        *_loops(line, line.out, names, length),
        "for (int at = 0; at < LANES; at += PIECE*ACROSS) {",
        *[f"    {text}" for text in where],
        f"    piece z[{len(places)}][ACROSS] = {{0}};",
        *[
            f"    {text}"
            for text in (
                *_loops(line, [x for x in line.letters if x not in line.out], names, length),
                "#pragma GCC unroll 2",
                *lanes,
                f"    const piece x = OF({cells(names)[shared]});",
                *[f"    z[{k}][h] += {factor}*x;" for k, factor in enumerate(factors)],
                "}",
                "#pragma GCC unroll 2",
                *lanes,
                *[f"    OF({cell(x)}) = z[{k}][h];" for k, x in enumerate(places)],
                "}",
            )
        ],
        "}",
    ]


def over_rows(
    line: Line,
    cells: Cells,
    cell: Callable[[Names], str],
    length: Callable[[Dim], str],
    own: str,
) -> list[str]:
    """Sums over the rows of products of two; ``own`` names how many rows count.

    ``cells`` are the operands in lane r and ``cell`` is the sum, at places along the letters.
    """
    assert line.shared is not None
    shared, letter = line.shared
    names: Names = {x: f"i{k}" for k, x in enumerate(line.letters)}
    first, end = names[letter], length(line.dims[line.letters.index(letter)])
    where, places = _places(line, names, length)
    factors = [cells(x)[1 - shared] for x in places]

    def added(read: str) -> list[str]:
        return [
            f"    const piece x = {read.format(cells(names)[shared])};",
            *[f"    z[{k}] += x*{read.format(factor)};" for k, factor in enumerate(factors)],
        ]

    put = f"{cell({**names, letter: f'({first} + k)'})} += sum[k];"
    return [
        *_loops(line, line.letters, names, length),
        "{",
        *[f"    {text}" for text in where],
        f"    piece z[{TALL}] = {{0}};",
        f"    real sum[{TALL}];",
        "    int r = 0;",
        f"    for (; r + PIECE <= {own}; r += PIECE) {{",
        *[f"    {text}" for text in added("OF({})")],
        "    }",
        f"    if (r < {own}) {{",
        *[f"    {text}" for text in added(f"some(&{{}}, {own} - r)")],
        "    }",
        "    TOTALS(sum, z);",
        f"    if ({first} + {TALL} <= {end}) for (int k = 0; k < {TALL}; k++) {put}",
        f"    else for (int k = 0; {first} + k < {end}; k++) {put}",
        "}",
    ]
