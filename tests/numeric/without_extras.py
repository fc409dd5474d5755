"""Which functions are lowered where no extra is installed: their names are the arguments.

Run as a script, of a process that can import none of the optional packages: what another test has
lowered before is known, and asks for nothing.  It prints, as JSON, what each said, None where it
was lowered, and whether its value and derivative have digits.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from tests.check.bare import Bare


def called(name: str) -> tuple[Any, Any]:
    """The function of one symbol: its other arguments are numbers."""
    import symdiff as sd

    x, function = sd.symbol("x"), getattr(sd, name)
    for before in ((), (1,), (1, 2)):
        try:
            value = function(*before, x)
        except TypeError:
            continue
        return x, value[0] if isinstance(value, tuple) else value
    raise AssertionError(f"{name} takes none of these arguments")


def main() -> None:
    """Lower and evaluate all of them."""
    sys.meta_path[:] = [Bare(sys.meta_path)]
    import numeric as nm
    import symdiff as sd

    answers: dict[str, tuple[str | None, bool]] = {}
    for name in sys.argv[1:]:
        x, value = called(name)
        refused = None
        try:
            nm.lower(value, x)
        except sd.Unsupported as error:
            refused = str(error)
        digits = [f.evalf(20, {x: "0.3"}) for f in (value, sd.diff(value, x))]
        answers[name] = refused, all(d != 0 for d in digits)
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
