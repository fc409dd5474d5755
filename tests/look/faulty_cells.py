"""Cells of a saved notebook with planted faults, and what has to be said of each.

Those without a fault must pass.  Nothing is executed; ``python -m tests.look --self-test``.
"""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

from tests.look.faults import LONG, WIDE


def _png(width: int, height: int) -> str:
    """A white picture of this size."""
    rows = (b"\0" + b"\xff" * width) * height
    parts = (
        (b"IHDR", struct.pack(">2I5B", width, height, 8, 0, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows)),
        (b"IEND", b""),
    )
    chunks = (
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in parts
    )
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(chunks)).decode()


RIGHT = r"""## Right

*Costs* of `$x` and **$\$2$**, $x_1$ | y, a_b*c:

$$\begin{aligned} x &= 1 \\ y &= 2 \end{aligned}$$

| a | b |
|---|---|
| 1 | $\frac{1}{2}$ |

```python
x = "$y$ **z** \alpha"
```

```mermaid
flowchart TD
  a --> b
```
"""

PROSE = {
    "right": (RIGHT, ""),
    "a dollar": ("It costs $3.", "not rendered"),
    "a command outside of a formula": (r"The angle \alpha is small.", "not rendered"),
    "stars": ("This is **not bold.", "not rendered"),
    "a backquote": ("This is `no code.", "not rendered"),
    "a table without its line": ("| a | b |\n| 1 | 2 |", "not rendered"),
    "a link": ("See [there](an address with blanks).", "not rendered"),
    "a command that is not known": (r"The angle $\nosuchangle{x}$.", "not known"),
    "a wrong formula": (r"Half: $\frac{x}$.", "MathJax"),
    "no image": ("![x](nowhere.png)", "broken image"),
    "too wide a formula": (f"$${LONG}$$", "overflows"),
    "too wide a table": (f"| {'wide | ' * 100}\n|{'---|' * 100}\n| 1 |", "overflows"),
    "wrong Mermaid": ("```mermaid\nflowchart TD\n a[ --> ((b\n```", "Mermaid"),
}
"""Markdown cells, and a word of the fault that is to be found."""

SAVED = {
    "right": ({"text/latex": "$x$", "text/plain": "x"}, ""),
    "a picture": ({"image/png": _png(800, 20)}, ""),
    "too large a picture": ({"image/png": _png(4000, 20)}, "not legible"),
    "a broken picture": ({"image/png": "AAAA"}, "broken image"),
    "a wrong formula": ({"text/latex": r"$\frac{x}$"}, "MathJax"),
    "wrong Mermaid": ({"text/vnd.mermaid": "nonsense"}, "Mermaid"),
    "too wide a table": ({"text/html": f"<table><tr>{WIDE}</tr></table>"}, "overflows"),
    "an object without a repr": ({"text/plain": "<object at 0x7f00a1b2c3d4>"}, "as text"),
    "nothing": ({"text/html": "<p></p>"}, "empty"),
}
"""Saved outputs, and a word of the fault that is to be found."""


def cells() -> dict[str, tuple[Any, str]]:
    """The cells by name, and a word of the fault of each; "" for none."""
    from nbformat import v4

    found = {}
    for name, (text, word) in PROSE.items():
        found[f"prose: {name}"] = v4.new_markdown_cell(text), word
    for name, (data, word) in SAVED.items():
        outputs = [v4.new_output("display_data", data)]
        found[f"output: {name}"] = v4.new_code_cell("x", outputs=outputs), word
    warning = v4.new_output("stream", name="stderr", text="planted")
    error = v4.new_output("error", ename="ValueError", evalue="planted", traceback=[])
    found["code: right"] = v4.new_code_cell("x + 1"), ""
    found["code: too wide"] = v4.new_code_cell("1 + " * 100 + "1"), "overflows"
    found["code: a warning"] = v4.new_code_cell("x", outputs=[warning]), "stderr"
    found["code: an exception"] = v4.new_code_cell("x", outputs=[error]), "ValueError"
    return found
