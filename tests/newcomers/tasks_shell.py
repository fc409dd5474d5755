"""What users of a shell try."""

import io
import shlex
from contextlib import redirect_stderr, redirect_stdout
from functools import partial

import mpmath

from numeric.cli import main
from tests.newcomers import task

shell_user = partial(task, "the command line")


def typed(line):
    """What a command prints; an error with its message if it fails."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = main(shlex.split(line)[1:])
    if status:
        raise RuntimeError(err.getvalue().strip())
    return out.getvalue().strip()


@shell_user("a value to thirty digits", lambda: "0.479425538604203000273287935216")
def value():
    return typed("symdiff eval 'sin(x)' --at x=0.5 --digits 30")


@shell_user("all derivatives at a point", lambda: [6.0, 9.0])
def gradient():
    found = typed("symdiff grad 'x**2*y' --at x=3,y=1")
    return [float(line.split(" = ")[-1]) for line in found.splitlines()]


@shell_user("the second derivatives at a point", lambda: [2.0, 6.0, 0.0])
def hessian():
    found = typed("symdiff hessian 'x**2*y' --at x=3,y=1")
    return [float(line.split(" = ")[-1]) for line in found.splitlines()]


@shell_user("a formula as LaTeX", lambda: r"\frac{x^{2}}{2}")
def latex():
    return typed("symdiff latex 'x**2/2'")


def twice_the_cosine():
    with mpmath.workdps(40):
        return "2*cos(2*x)\n" + mpmath.nstr(2 * mpmath.cos(1), 30)


@shell_user("a derivative to thirty digits", twice_the_cosine)
def digits():
    return typed("symdiff diff 'sin(2*x)' x --at x=0.5 --digits 30")
