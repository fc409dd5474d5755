"""What type checkers know of the packages in a user's file: every public name, and no other."""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import numeric as nm
import symdiff as sd
from numeric.eager import tensor
from tests import tensor_stub

ROOT = Path(__file__).parent.parent
MODULES = {
    "sd": "symdiff",
    "nm": "numeric",
    "nn": "numeric.nn",
    "nnf": "numeric.nn.functional",
    "nnu": "numeric.nn.utils",
    "fn": "numeric.func",
    "la": "numeric.linalg",
    "op": "numeric.optim",
    "ag": "numeric.autograd",
    "agf": "numeric.autograd.functional",
    "agg": "numeric.autograd.graph",
    "agc": "numeric.autograd.function",
    "ex": "numeric.export",
    "ck": "numeric.check",
    "sh": "numeric.show",
}
CLASSES = {"x": sd.Expr, "t": nm.Tensor, "f": nm.Function}
EXPR, TENSOR = "symdiff.graph.expr.Expr", "numeric.eager.tensor.Tensor"
# What an expression of a user's is, to mypy.
REVEALED = {
    **dict.fromkeys(
        [
            *("x", "x + 1", "2 * x", "x / x", "x**2", "-x", "abs(x)", "x % 2", "x // 2", "x @ x"),
            *("x[0]", "x[1:, None]", "x > 0", "x == 0", "~(x > 0)", "x.T", "x.mT", "2.5 - x"),
            *("x.sum(axis=0)", "x.mean()", "x.reshape(2, -1)", "x.diff(x, 2)", "x.subs({x: 1})"),
            *("sd.sin(x)", "sd.exp(2)", "sd.sum(x, axis=0)", "sd.stack([x, x])", "sd.det(x)"),
            *("sd.where(x > 0, x, 0)", "sd.solve(x, x)", "sd.norm(x)", "sd.einsum('i,i', x, x)"),
            *("sd.parse('x')", "sd.constant(3)", "sd.symbol('z', (2, 'n'))", "sd.diff(x, x)"),
            *("sd.pi", "sd.clip(x, 0, 1)", "sd.concat([x, x])", "sd.cumsum(x)", "sd.sort(x)"),
            *("sd.matmul(x, x)", "sd.logsumexp(x, axis=0)", "sd.softmax(x)", "sd.eigvalsh(x)"),
            *("sd.jv(1, x)", "sd.gammaln(x)", "sd.maximum(x, 0)", "sd.interp(x, x, x)"),
            *("sd.function('g')(x, 1)", "x.subs({sd.function('g'): lambda s: s + 1})"),
            *("x.subs(sd.function('g'), sd.sin)", "sd.integrate(x, x, 0, 1)", "t.expr"),
        ],
        EXPR,
    ),
    **dict.fromkeys(
        [
            *("t", "t + 1", "1 + t", "t * 2", "t - t", "t / 2", "1 / t", "t**2", "t @ t", "-t"),
            *("t[0]", "t[1:]", "t > 0", "t == t", "t != t", "t % 2", "t // 2", "t & t", "~t"),
            *("t.sin()", "t.sum()", "t.sum(dim=0)", "t.mean(0)", "t.reshape(2, 3)", "t.T"),
            *("t.view(-1)", "t.detach()", "t.clone()", "t.add_(1)", "t.to(nm.float32)", "t.exp_()"),
            *("t.unsqueeze(0)", "t.double()", "t.requires_grad_()", "t.matmul(t)", "t.softmax(0)"),
            *("t.data", "t.abs()", "t.float()", "abs(t)", "t.masked_fill(t > 0, 0.0)"),
            *("nm.sin(t)", "nm.tensor([1.0])", "nm.zeros(2)", "nm.rand(2)", "nm.cat([t, t])"),
            *("nm.norm(t)", "nm.softmax(t, 0)", "nm.std(t)", "nm.matmul(t, t)", "nm.sum(t)"),
            *("nnf.relu(t)", "nnf.mse_loss(t, t)", "nnf.softmax(t, dim=0)", "nnf.pad(t, (1, 1))"),
            *("nm.where(t > 0, t, 0.0)", "nm.cumsum(t, 0)", "nm.argmax(t)", "nm.full((2,), t)"),
            *("la.det(t)", "la.solve(t, t)", "nm.linalg.inv(t)", "nm.nn.functional.gelu(t)"),
        ],
        TENSOR,
    ),
    "t.grad": f"{TENSOR} | None",
    "t.shape": "numeric.eager.tensor.Size",
    "t.dtype": "numeric.eager.dtypes.dtype",
    "t.device": "numeric.ops.creation.device",
    "t.requires_grad": "bool",
    "t.numel()": "int",
    "t.backward()": "None",
    "t.unbind()": f"tuple[{TENSOR}, ...]",
    "nm.where(t > 0)": f"tuple[{TENSOR}, ...]",
    "x.shape": "tuple[int | str, ...]",
    "x.ndim": "int",
    "x.latex()": "str",
    "sd.text(x)": "str",
    "sd.grad(x, x)": EXPR,
    "sd.simplify(x)": EXPR,
    "sd.collect(2, x)": EXPR,
    "sd.collect((x, (x, x)), [x])": "tuple[Any, ...]",
    "sd.factor(sd.grad(x, [x]))": "tuple[Any, ...]",
    "sd.text((x, x))": "str",
    "nm.lower(x, x)": "numeric.lowering.function.Function",
    "sd.count_nodes(x)": "int",
    "nm.pi": "float",
    "nm.newaxis": "None",
    "sd.__version__": "str",
}
# Misspelt: each is an error, and no other line is.
UNKNOWN = [
    *(f"{alias}.sinn" for alias in (*MODULES, *CLASSES)),
    # What is answered at run time, with the name here.
    *("sd.Symbol", "sd.lambdify", "sd.Piecewise", "sd.taylor", "nm.symbol", "nm.nothing"),
    *("nn.Linear", "nnf.embedding", "op.LBFGS", "ag.forward_ad", "fn.linearize", "ex.sympy"),
    *("ck.bounds", "sh.latex", "x.sin()", "x.lambdify()", "x.norm()", "f.gradient", "f.save"),
    *("nm.linalg.nosuch", "nm.vmapp", "t.sin().nosuch", "(t + 1).nosuch", "sd.sin(x).nosuch"),
]
# Errors of use that the types show.
MISUSED = [
    *("sd.sin()", "t.sum(dims=0, keepdims='yes').nosuch", "x.reshape(shape='n', m=1)"),
    *("nm.sum(t, dim='rows')", "nm.zeros(2, dtype='float')", "t.reshape(2.5)", "nm.mul(t, None)"),
]


def users_file() -> str:
    """A file that imports and touches every public name."""
    lines = [f"import {module} as {alias}" for alias, module in MODULES.items()]
    for alias, module in MODULES.items():
        names = importlib.import_module(module).__all__
        lines += [f"from {module} import {name} as {alias}_{name}" for name in names]
        lines += [f"{alias}.{name}" for name in names]
    lines += ["x = sd.symbol('x', (2, 2))", "t = nm.tensor([1.0])", "f = nm.lower(x, x)"]
    for alias, cls in CLASSES.items():
        names = [name for name in dir(cls) if not name.startswith("_") and hasattr(cls, name)]
        lines += [f"{alias}.{name}" for name in names]
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], list[tuple[int, str]]]:
    """The lines of a user's file, and what mypy --strict says: the line and the message."""
    folder = tmp_path_factory.mktemp("user")
    revealed = [f"reveal_type({text})" for text in REVEALED]
    text = users_file() + "\n".join([*revealed, *UNKNOWN, *MISUSED]) + "\n"
    (folder / "program.py").write_text(text)
    arguments = ["--strict", "--follow-imports=silent", "--no-pretty", "--config-file="]
    run = subprocess.run(
        [sys.executable, "-m", "mypy", *arguments, "program.py"],
        cwd=folder,
        env={**os.environ, "MYPYPATH": str(ROOT), "MYPY_CACHE_DIR": str(folder / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    said = re.findall(r"^program\.py:(\d+): (.*)$", run.stdout, re.MULTILINE)
    assert said, run.stdout + run.stderr
    return text.split("\n"), [(int(line), message) for line, message in said]


@pytest.mark.slow
def test_every_public_name_is_known_and_no_other(reported):
    lines, said = reported
    wrong = Counter(lines[n - 1] for n, message in said if message.startswith("error"))
    assert wrong.keys() - {*UNKNOWN, *MISUSED} == set()
    assert wrong.keys() >= {*UNKNOWN, *MISUSED}


def test_types_are_what_a_user_expects(reported):
    lines, said = reported
    found = {
        lines[n - 1][len("reveal_type(") : -1]: message.split('"')[1].replace("builtins.", "")
        for n, message in said
        if message.startswith("note: Revealed")
    }
    assert found == REVEALED


def test_the_declared_methods_of_tensors_are_those_at_run_time():
    declared = ast.parse(tensor_stub.PATH.read_text())
    assert ast.dump(declared) == ast.dump(ast.parse(tensor_stub.declarations())), (
        "python -m tests.tensor_stub writes them again"
    )


def test_the_listed_names_of_tensors_are_those_at_run_time():
    assert tensor_stub.NAMES.read_text() == tensor_stub.names(), (
        "python -m tests.tensor_stub writes them again"
    )


@pytest.mark.parametrize("module", MODULES.values())
def test_the_public_list_is_what_is_there(module):
    thing = importlib.import_module(module)
    assert sorted(set(thing.__all__)) == sorted(thing.__all__)
    assert not [name for name in thing.__all__ if not hasattr(thing, name)]


@pytest.mark.parametrize("package", [sd, nm], ids=lambda package: package.__name__)
def test_dir_shows_public_names_only(package):
    public = [name for name in dir(package) if not name.startswith("__")]
    assert sorted(public) == sorted(name for name in package.__all__ if not name.startswith("__"))
    assert not inspect.ismodule(getattr(package, "__all__", None))


def test_the_class_of_tensors_says_from_where_its_members_come():
    modules = {
        tensor_stub.behind(member).__module__
        for member in vars(tensor.Tensor).values()
        if inspect.isfunction(member) or isinstance(member, property)
    }
    assert modules - {"numeric.eager.tensor", "symdiff.guesses"} == set(tensor.FAMILIES)
    with pytest.raises(ValueError, match="FAMILIES"):
        tensor.attach("elsewhere", lambda self: self)
    assert not hasattr(tensor.Tensor, "elsewhere")
