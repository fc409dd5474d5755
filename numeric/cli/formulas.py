"""The commands about formulas: values, derivatives, steps, LaTeX and NumPy functions."""

from __future__ import annotations

import argparse
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Any, NamedTuple

import mpmath
import numpy as np

import symdiff as sd
from numeric.cli import reading
from numeric.cli.failures import Failure, note
from numeric.lowering.function import lower

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_DIGITS = 15


class _Command(NamedTuple):
    run: Callable[[argparse.Namespace], None]
    summary: str
    example: str
    arguments: Sequence[str]
    more: str = ""


def add(commands: Any) -> None:
    """Add the commands to the subparsers of argparse."""
    for name, command in _COMMANDS.items():
        parser = commands.add_parser(
            name,
            help=command.summary,
            description=f"{command.summary[0].upper()}{command.summary[1:]}.\n{command.more}",
            epilog="examples:\n" + command.example,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        for argument in command.arguments:
            # further words distinguish arguments with the same flag
            flag = argument.partition(" ")[0]
            parser.add_argument(flag, **_ARGUMENTS[argument])
        parser.set_defaults(run=command.run, command=parser)


_ARGUMENTS: dict[str, dict[str, object]] = {
    "formula": {"metavar": "FORMULA", "help": 'such as "exp(-x**2/2)*sin(y)"'},
    "variable": {"metavar": "VARIABLE", "help": "the variable, or an element q[0]"},
    "variables counted": {
        "metavar": "VARIABLE",
        "nargs": "+",
        "help": "variables, each with a count if not 1",
    },
    "variables": {
        "metavar": "VARIABLE",
        "nargs": "*",
        "help": "variables, arrays or elements q[0] (default: all, as they occur)",
    },
    "--at": {
        "action": "append",
        "default": [],
        "metavar": "x=1,y=2",
        "help": "the values of variables",
    },
    "--digits": {
        "type": reading.digits,
        "metavar": "N",
        "help": f"digits of values (default {_DIGITS})",
    },
    "--inputs": {
        "default": "",
        "metavar": "q=3,A=2x2",
        "help": "the shapes of arrays; arrays in --at need none",
    },
    "--inputs in their order": {
        "default": "",
        "metavar": "x,q=3,A=2x2",
        "help": "the arguments in their order (default: as they occur), with the shapes of arrays",
    },
    "--latex": {"action": "store_true", "help": "write formulas as LaTeX"},
    "--order": {
        "type": reading.order,
        "default": 1,
        "metavar": "N",
        "help": "the order of the derivative",
    },
    "--full": {"action": "store_true", "help": "every step of a large formula"},
    "--gradient": {
        "action": "store_true",
        "help": "the value, then the derivative by each argument",
    },
    "--source": {"action": "store_true", "help": "the Python source"},
}


# Values and derivatives ---------------------------------------------------------------------------


def _eval(options: argparse.Namespace) -> None:
    task = reading.task(options)
    _check_names(task, ())
    print(_value(task.formula, options, task.values))


def _diff(options: argparse.Namespace) -> None:
    task = reading.task(options)
    orders = reading.variables(options.variables, task.arrays)
    _check_names(task, [x for x, _ in orders])
    derivative = sd.diff(task.formula, *(word for pair in orders for word in pair))
    lines = [_written(derivative, options)]
    if task.values or options.digits:
        lines.append(_value(derivative, options, task.values))
    print(*lines, sep="\n")


def _grad(options: argparse.Namespace) -> None:
    task, xs = _of_a_number(options)
    parts = sd.grad(task.formula, xs)
    _print_named(options, task, {(x,): part for x, part in zip(xs, parts, strict=True)})


def _hessian(options: argparse.Namespace) -> None:
    task, xs = _of_a_number(options)
    blocks = sd.hessian(task.formula, xs)
    pairs = combinations_with_replacement(range(len(xs)), 2)
    _print_named(options, task, {(xs[i], xs[j]): blocks[i][j] for i, j in pairs})


def _of_a_number(options: argparse.Namespace) -> tuple[reading.Task, tuple[sd.Expr, ...]]:
    """Return a task whose formula is a number, and its variables: the named ones, or all."""
    task = reading.task(options)
    _check_number(task.formula)
    xs = [reading.symbol(word, task.arrays) for word in options.variables]
    _check_names(task, xs)
    xs = xs or task.symbols
    if not xs:
        raise Failure("the formula has no variables")
    return task, tuple(xs)


def _check_number(formula: sd.Expr) -> None:
    if formula.shape:
        raise Failure(
            f"the formula is {reading.written(formula.shape)}; take a number of it, such as "
            "sum(...) or an element"
        )


def _print_named(
    options: argparse.Namespace, task: reading.Task, parts: dict[tuple[sd.Expr, ...], sd.Expr]
) -> None:
    """Print every derivative after its name, with its value where there are values."""
    lines = []
    for xs, part in parts.items():
        *definitions, formula = _written(part, options).split("\n")
        line = f"{_name(xs, options.latex)} = {formula}"
        if task.values or options.digits:
            try:
                line += f" = {_value(part, options, task.values)}"
            except Failure as failure:
                raise Failure(f"{_name(xs)}: {failure}") from None
        lines += [*definitions, line]
    print(*lines, sep="\n")


def _name(xs: tuple[sd.Expr, ...], latex: bool = False) -> str:
    """Write the name of a derivative: ``df/dx``, ``d2f/dx dy``."""
    order = len(xs) if len(xs) > 1 else ""
    if not latex:
        return f"d{order}f/" + " ".join(f"d{x}" for x in xs)
    power = f"^{{{order}}}" if order else ""
    below = r" \, ".join(rf"\partial {x.latex()}" for x in xs)
    return rf"\frac{{\partial{power} f}}{{{below}}}"


def _written(expr: sd.Expr, options: argparse.Namespace) -> str:
    return expr.latex(full=True) if options.latex else sd.text(expr, full=True)


def _value(expr: sd.Expr, options: argparse.Namespace, values: dict[str, sd.Expr]) -> str:
    result = reading.value(expr, options.digits or _DIGITS, values)
    if any(map(mpmath.isnan, np.ravel(result))):
        note("nan means that there is no real value")
    return str(result.tolist() if isinstance(result, np.ndarray) else result)


def _check_names(task: reading.Task, variables: Iterable[sd.Expr]) -> None:
    """Note variables that do not occur in the formula; refuse values of other names."""
    known = [x.name for x in task.symbols]
    absent = [x.name for x in sd.free_symbols(list(variables)) if x.name not in known]
    for name in absent:
        note(f"{name} does not occur in the formula")
    for name in task.values:
        if name not in known + absent:
            there = f"there are {', '.join(known)}" if known else "it has no variables"
            raise Failure(f"--at {name}: {name} does not occur in the formula; {there}")


# Steps, LaTeX and functions -----------------------------------------------------------------------


def _steps(options: argparse.Namespace) -> None:
    # The views import more than the other commands need.
    from numeric.show.stepwise import steps

    task = reading.task(options)
    _check_number(task.formula)
    x = reading.symbol(options.variable, task.arrays)
    _check_names(task, [x])
    missing = [s.name for s in task.symbols if s.name not in task.values]
    if task.values and missing:
        raise reading.missing(missing)
    at = {s: _float(task.values[s.name]) for s in task.symbols} if task.values else None
    result = steps(task.formula, x, at=at, order=options.order)
    print(result.latex(options.full) if options.latex else result.text(options.full))


def _float(value: sd.Expr) -> Any:
    return np.asarray(reading.value(value, 17, {}), dtype=float)[()]


def _latex(options: argparse.Namespace) -> None:
    formula, _ = reading.formula(options.formula, reading.inputs(options.inputs))
    print(formula.latex(full=True))


def _lower(options: argparse.Namespace) -> None:
    inputs = reading.inputs(options.inputs)
    formula, symbols = reading.formula(options.formula, inputs)
    inputs = inputs or symbols
    missing = [x.name for x in symbols if x not in set(inputs)]
    if missing:
        named = ",".join([options.inputs, *missing])
        raise Failure(f"the formula depends on {', '.join(missing)}, too: write --inputs {named}")
    outputs = [formula]
    if options.gradient and inputs:
        _check_number(formula)
        outputs += sd.grad(formula, inputs)
    function = lower(outputs if options.gradient else formula, inputs)
    print(function.source if options.source else function.explain())


# The commands -------------------------------------------------------------------------------------

_COMMANDS = {
    "eval": _Command(
        _eval,
        "the value of a formula, to any number of digits",
        """\
  symdiff eval "sqrt(2)*pi" --digits 40
  symdiff eval "exp(-x**2/2)*sin(y)" --at x=0.1,y=pi/4
  symdiff eval "q @ A @ q" --at "q=[1, 1/3],A=[[2, 1], [1, 2]]"
""",
        ("formula", "--at", "--digits", "--inputs"),
        "All digits are right, and the values of variables are exact: 0.1 is 1/10.",
    ),
    "diff": _Command(
        _diff,
        "a derivative by one variable after the other; with --at, also its value",
        """\
  symdiff diff "exp(-x**2/2)*sin(y)" x x y --at x=1,y=2 --digits 30
  symdiff diff "x**5/(1 + x)" x 2 --latex
  symdiff diff "q[0]*sin(q[1])" "q[1]" --inputs q=2
""",
        ("formula", "variables counted", "--at", "--digits", "--inputs", "--latex"),
        "With --at, the last line is the value.",
    ),
    "grad": _Command(
        _grad,
        "the derivatives by every variable; with --at, also their values",
        """\
  symdiff grad "x**2*sin(y)" --at x=3,y=pi/4
  symdiff grad "x**2*sin(y)" y
  symdiff grad "log(sum(exp(q)))" --inputs q=3 --at "q=[0, 0.5, 1]"
""",
        ("formula", "variables", "--at", "--digits", "--inputs", "--latex"),
    ),
    "hessian": _Command(
        _hessian,
        "the second derivatives by every pair of variables; with --at, also their values",
        """\
  symdiff hessian "x**2*sin(y)" --at x=3,y=pi/4
  symdiff hessian "x*log(q @ q)" q --inputs q=2
""",
        ("formula", "variables", "--at", "--digits", "--inputs", "--latex"),
        "Each pair is written once; the order does not matter.",
    ),
    "steps": _Command(
        _steps,
        "a derivative by the chain rule, step by step; with --at, with values",
        """\
  symdiff steps "x*sin(x)" x --at x=2
  symdiff steps "x*sin(x)" x --order 2
""",
        ("formula", "variable", "--at", "--order", "--inputs", "--latex", "--full"),
        "Every step has its value, its derivatives, its cotangent, and the rule.",
    ),
    "latex": _Command(
        _latex,
        "a formula as LaTeX",
        """\
  symdiff latex "exp(-x**2/2)/sqrt(2*pi)"
  symdiff latex "norm(A @ x - b)**2" --inputs A=3x2,x=2,b=3
""",
        ("formula", "--inputs"),
        "symdiff diff, grad, hessian and steps take --latex, too.",
    ),
    "lower": _Command(
        _lower,
        "the NumPy function of a formula",
        """\
  symdiff lower "exp(-x**2/2)*sin(y)" --gradient --source
  symdiff lower "sum(tanh(A @ q))" --inputs A=3x2,q=2 --gradient
""",
        ("formula", "--inputs in their order", "--gradient", "--source"),
        "The output is an explanation of the function, or its source.",
    ),
}
