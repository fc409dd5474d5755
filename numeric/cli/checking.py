"""The command ``check``: an audit of derivatives in a user's module."""

from __future__ import annotations

import argparse
import os
import re
import sys
import traceback
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import symdiff as sd
from numeric.cli.failures import Failure
from numeric.cli.reading import entries, shape, whole

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numeric.check import Report

_DERIVATIVES = {
    "gradient": "gradient(*inputs) of a scalar forward: an array, or a tuple for several inputs",
    "vjp": "vjp(*inputs, cotangent)",
    "jvp": "jvp(*inputs, *tangents)",
    "hessian": "hessian(*inputs) of a scalar forward",
}
_REFERENCE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
_DOTTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)+")
_ARGUMENT = re.compile(r"\b(gradient|vjp|jvp|hessian|inputs|domain|budget)=")
_WRT = re.compile(r"\bwrt='(\w+)'")
_NOT_CHECKED = 2
_MOST = 999_999_999
_OWN = tuple(str(Path(__file__).parents[2] / name) for name in ("numeric", "symdiff"))

_DESCRIPTION = """\
Audits derivatives that were written by hand: compares them with the exact ones all over the domain,
and reports errors, their places and their causes.

    symdiff check mymodule:loss --grad mymodule:loss_grad --inputs x=5,A=3x3
    symdiff check mymodule:loss --grad mymodule:by_x --inputs x=5,A=3x3 --wrt x
    symdiff check "log(1 + exp(x))" --grad mymodule:grad --inputs x= --domain x=-50:50
"""

_EPILOG = """\
Modules are imported from the current directory, and run.  Give the inputs in the order of the
arguments: x=5 is a vector of 5 elements, A=3x3 a matrix; s=, s=scalar or s alone is a scalar.

exit status: 0 the derivatives are ok, 1 they are not, 2 they could not be checked
"""


def add(commands: Any) -> None:
    """Add the command to the subparsers of argparse."""
    check = commands.add_parser(
        "check",
        help="audit a gradient written by hand",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    check.add_argument(
        "forward", metavar="FORWARD", help='module:function, or a formula as "log(1 + exp(x))"'
    )
    for name, call in _DERIVATIVES.items():
        flags = dict.fromkeys((_flag(name), f"--{name}"))
        check.add_argument(*flags, dest=name, metavar="MODULE:FUNCTION", help=call)
    check.add_argument(
        "--inputs", metavar="x=5,A=3x3,s", required=True, help="the shape of each input"
    )
    check.add_argument(
        "--wrt", metavar="x,A", help="the inputs that the derivatives are by; all by default"
    )
    check.add_argument(
        "--domain", metavar="x=0:1", help="the range of inputs; x=0: has no upper end"
    )
    check.add_argument("--budget", type=_count, metavar="N", help="the number of evaluations")
    check.add_argument(
        "--seed", type=_seed, metavar="N", default=0, help="the seed of the random points"
    )
    check.add_argument("--json", action="store_true", help="write the report as JSON")
    check.set_defaults(run=_check, command=check)


def _flag(derivative: str) -> str:
    return "--grad" if derivative == "gradient" else f"--{derivative}"


def _check(options: argparse.Namespace) -> int:
    references = {k: getattr(options, k) for k in _DERIVATIVES if getattr(options, k) is not None}
    if not references:
        raise Failure("there is nothing to check: give --grad, --vjp, --jvp or --hessian", 2)
    inputs = dict(entries("--inputs", options.inputs, shape))
    domain = None if options.domain is None else dict(entries("--domain", options.domain, _ends))
    for name in domain or ():
        if name not in inputs:
            known = ", ".join(inputs)
            raise Failure(f"--domain {name}: no input has this name; there are {known}", 2)
    wrt = None if options.wrt is None else [name.strip() for name in options.wrt.split(",")]
    for name in wrt or ():
        if name not in inputs:
            known = ", ".join(inputs)
            raise Failure(f"--wrt {name}: no input has this name; there are {known}", 2)
    with _modules_from_here():
        forward = options.forward.strip()
        if ":" in forward:  # no formula contains a colon
            forward = _function("FORWARD", forward)
        elif forward == "-":
            forward = sys.stdin.read()
        elif _DOTTED.fullmatch(forward) and not forward.endswith((".T", ".mT")):
            module, _, name = forward.rpartition(".")
            raise Failure(f"FORWARD {forward}: write module:function, as in {module}:{name}", 2)
        functions = {k: _function(_flag(k), text) for k, text in references.items()}
        drawn = {"inputs": inputs, "wrt": wrt, "domain": domain}
        limits = {"budget": options.budget, "seed": options.seed}
        report = _audited(forward, functions | drawn | limits)
    print(report.json() if options.json else report)
    return 0 if report.ok else 1


def _audited(forward: Any, options: dict[str, Any]) -> Report:
    # The audit imports many modules; only this command needs them.
    from numeric.check.audit import audit

    try:
        report: Report = audit(forward, **options)
    except Exception as error:  # an error of the user's functions, or of the audit itself
        # The audit names arguments of a call; the command line has options instead.
        message = _described(error).removeprefix("audit: ")
        message = _ARGUMENT.sub(lambda match: _flag(match[1]), message)
        message = _WRT.sub(r"--wrt \1", message)
        raise Failure(message, _NOT_CHECKED) from error
    return report


def _described(error: BaseException) -> str:
    """Describe an error; add the place of an error in the user's code or in a library."""
    if isinstance(error, sd.ParseError | sd.ShapeError | sd.Unsupported | sd.NotDifferentiable):
        return str(error)
    message = f"{type(error).__name__}: {error}"
    last = traceback.extract_tb(error.__traceback__)[-1]
    if last.filename.startswith(_OWN) and isinstance(error, ValueError | TypeError):
        return str(error)
    if last.filename.startswith(("<", *_OWN)):
        return message
    return f"{message} ({last.filename}, line {last.lineno})"


# Arguments ----------------------------------------------------------------------------------------


@contextmanager
def _modules_from_here() -> Iterator[None]:
    """Import modules from the current directory first, as ``python -m`` does."""
    before, here = list(sys.path), os.getcwd()
    sys.path.insert(0, here)
    try:
        yield
    finally:
        sys.path[:] = before


def _function(option: str, text: str) -> Any:
    """Return the function named by ``module:function``; a usage error if there is none."""
    text = text.strip()
    module, _, path = text.partition(":")
    if module.endswith(".py"):
        name = module.removesuffix(".py").replace("/", ".").lstrip(".")
        raise Failure(f"{option} {text}: modules are named without .py, as in {name}:{path}", 2)
    if not _REFERENCE.fullmatch(text):
        raise Failure(f"{option} {text}: write module:function, as in mymodule:grad", 2)
    try:
        value: Any = import_module(module)
    except Exception as error:  # importing a module may raise anything
        message = f"cannot import {module}: {_described(error)}"
        if isinstance(error, ModuleNotFoundError) and error.name == module:
            message = f"there is no module {module}, neither installed nor here as {module}.py"
        raise Failure(f"{option} {text}: {message}", 2) from error
    for name in path.split("."):
        if not hasattr(value, name):
            raise Failure(f"{option} {text}: {module} has no {path}", 2)
        value = getattr(value, name)
    if not callable(value):
        raise Failure(f"{option} {text}: this is not a function, but {type(value).__name__}", 2)
    return value


def _ends(where: str, text: str) -> tuple[float, float]:
    """Parse ``0:1``; a missing end is infinite."""
    low, colon, high = text.partition(":")
    try:
        ends = float(low or "-inf"), float(high or "inf")
    except ValueError:
        colon = ""
    if not colon or not ends[0] < ends[1]:
        raise Failure(f"{where}: write two numbers, the smaller first, as in x=0:1", 2)
    return ends


def _count(text: str) -> int:
    return whole(text, 1, _MOST)


def _seed(text: str) -> int:
    return whole(text, 0, _MOST)
