"""``python -m tests.check.foreign_rules``: derivatives by the rules of PyTorch, JAX and autograd.

Each rule is audited against the exact derivative of its function; the table says what was found
where.  Exit status 0: what is found is for a person to look at.  Needs the extra ``crosscheck``.
"""

import argparse
import sys
import time
import warnings
from importlib import import_module, util

import mpmath
import numpy as np

import numeric as nm
import symdiff as sd
from numeric.check.candidates import candidate
from numeric.check.foreign import from_jax, from_torch
from tests.check import foreign_arrays, foreign_table

ROWS = foreign_table.ROWS + foreign_arrays.ROWS

PACKAGES = {
    "torch": (),
    "jax": ("numpy", "scipy.special", "scipy.linalg", "nn"),
    "autograd": ("numpy", "scipy.special", "scipy.stats", "scipy.linalg"),
}

CLOSE = 1e-6
"""How near derivatives at ordinary points are, relative to the largest, if they are those of one
function: no rule loses more there, and functions that are different differ by more."""


def installed():
    """The packages that are here, loaded."""
    found = {}
    for name, parts in PACKAGES.items():
        if util.find_spec(name) is not None:
            for part in parts:
                import_module(f"{name}.{part}")
            found[name] = import_module(name)
    return found


def rules(packages, only="", rows=ROWS):
    """Each rule: its row, its package's name, and the package's function."""
    for row in rows:
        for name, make in row.theirs.items():
            if name in packages and only in f"{name} {row.name},":
                yield row, name, make(packages[name])


def definition(row):
    """The expression of a row, and its symbols."""
    symbols = [sd.symbol(name, shape) for name, shape in row.inputs.items()]
    return row.forward(*symbols), symbols


def _autograd(fn, forward, symbols):
    """NumPy callables of what autograd derives."""
    autograd = import_module("autograd")
    pull = autograd.make_vjp(fn, 0 if len(symbols) == 1 else tuple(range(len(symbols))))
    offered = {"vjp": lambda *args: pull(*args[:-1])[0](args[-1])}
    if len(symbols) == 1 and not forward.shape:
        offered["hessian"] = autograd.hessian(fn)
    return offered


ADAPTERS = {"torch": from_torch, "jax": from_jax}


def under_test(package, fn, forward, symbols):
    """What ``audit`` is given beside the forward."""
    if package == "autograd":
        return _autograd(fn, forward, symbols)
    return {"vjp": ADAPTERS[package](fn)}


# The definitions ------------------------------------------------------------------------------


def ordinary(row, rng):
    """A point inside the domain, of moderate size."""
    point = []
    for name, shape in row.inputs.items():
        low, high = (row.domain or {}).get(name, (-np.inf, np.inf))
        if low == -np.inf:
            x = rng.uniform(0.3, 2, shape) * rng.choice([-1.0, 1.0], shape)
        else:
            x = low + rng.uniform(0.1, 0.9, shape) * min(high - low, 2)
        if len(shape) == 2 and shape[0] == shape[1]:
            x = x @ x.T + np.eye(len(x))  # positive definite, no two eigenvalues are equal
        point.append(np.asarray(x))
    return point


def disagreements(packages, only="", rows=ROWS, points=3):
    """Where a package's function is not the one of the definition, at ordinary points: texts."""
    for row, package, fn in rules(packages, only, rows):
        forward, symbols = definition(row)
        exact = nm.lower(forward, symbols)
        test = candidate(forward, symbols, **under_test(package, fn, forward, symbols))
        rng = np.random.default_rng(0)
        for _ in range(points):
            at = ordinary(row, rng)
            value, pull = exact.vjp(*at)
            w = rng.uniform(0.5, 1.5, np.shape(value))
            got = test.vjp(*at, w)
            pairs = list(zip(got if len(at) > 1 else (got,), pull(w), strict=True))
            if test.value is not None:
                pairs.append((test.value(*at), value))
            elif package == "autograd":
                pairs.append((fn(*at), value))
            if test.jvp is not None:
                tangents = [rng.uniform(0.5, 1.5, x.shape) for x in at]
                pairs.append((test.jvp(*at, *tangents), exact.jvp(at, tangents)[1]))
            if test.hessian is not None and len(at) == 1:
                pairs.append((test.hessian(*at), exact.hessian(*at)))
            for a, b in pairs:
                wrong = np.max(np.abs(a - b), initial=0) / np.max(np.abs(b), initial=1e-3)
                if np.shape(a) != np.shape(b) or not wrong <= CLOSE:
                    yield f"{package} {row.name} at {at}: {a}, by the definition {b}"


KNOWN = {"autograd norm, inf"}
"""Rules that are wrong at every point: autograd differentiates the norm of order inf as one of
finite order, inf * |x|**inf, and gives nan."""


def definitions_agree(only=""):
    """Assert that what is compared are the same functions; how many rules were compared."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # autograd's, of derivatives that are 0
        wrong = list(disagreements(installed(), only))
    strange = [text for text in wrong if not text.startswith(tuple(f"{k} at" for k in KNOWN))]
    assert not strange, "\n".join(strange)
    return sum(1 for _ in rules(installed(), only))


# The audit ------------------------------------------------------------------------------------


def audited(row, package, fn, budget):
    """The report on a rule."""
    forward, symbols = definition(row)
    audit = import_module("numeric.check").audit
    return audit(
        forward,
        **under_test(package, fn, forward, symbols),
        inputs=dict(row.inputs),
        domain=row.domain,
        budget=budget,
    )


def told(package, row, report):
    """A line of the table."""
    line = f"{package:9}{row.name:34}{report.verdict:12}{'ok ' if report.ok else 'NOT'} "
    if not report.findings:
        return line
    worst = report.findings[0]
    point = ", ".join(f"{name}={np.asarray(x).tolist()}" for name, x in worst.point.items())
    what = f"{worst.kind}, {worst.derivative} by {worst.input}{list(worst.component) or ''}"
    expected = mpmath.nstr(mpmath.mpf(worst.expected), 17)
    numbers = f"expected {expected}, got {float(worst.got)!r}, {worst.ulps:.3g} ulp"
    return f"{line} {what} at {point} ({worst.dtype}): {numbers}; {worst.why}"


def refused(package, row, error):
    """A line of the table for what could not be audited."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return f"{package:9}{row.name:34}{'error':16}{text}"


def main():
    """All rules, or some."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="rules whose 'package name' contains this")
    parser.add_argument("--budget", type=int, default=1000, help="evaluations for each rule")
    parser.add_argument("--all", action="store_true", help="print what is right, too")
    args = parser.parse_args()
    packages = installed()
    warnings.simplefilter("ignore")
    if not packages:
        sys.exit("nothing to audit: install the extra crosscheck")
    print("audited:", ", ".join(f"{name} {_version(name)}" for name in packages))
    print(definitions_agree(args.only), "rules are of the functions of the table")
    start, found = time.monotonic(), {}
    todo = list(rules(packages, args.only))
    for k, (row, package, fn) in enumerate(todo):
        progress(f"{k} of {len(todo)} rules, {package} {row.name}", start)
        try:
            report = audited(row, package, fn, args.budget)
        except Exception as error:  # the others are audited all the same
            verdict, line = "error", refused(package, row, error)
        else:
            verdict, line = report.verdict, told(package, row, report)
        found[verdict] = found.get(verdict, 0) + 1
        if args.all or verdict != "right":
            print("\r" + line, flush=True)
    print(f"\r{len(todo)} rules:", ", ".join(f"{n} {verdict}" for verdict, n in found.items()))


def _version(name):
    return import_module("importlib.metadata").version(name)


def progress(text, start):
    if sys.stderr.isatty():
        print(f"\r{text}, {time.monotonic() - start:.0f} s ", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
