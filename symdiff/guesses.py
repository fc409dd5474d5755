"""Names that users of other libraries try, with our replacements.

Only error messages use these tables: a name in one of them does not exist.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Called = TypeVar("Called", bound=Callable[..., Any])

_SYMPY = "sd.to_sympy(f) is SymPy's expression, which has it; sd.from_sympy goes back"
_VALUES = "it needs the values: lower the expression with numeric.lower and call the Function"
_SEEN = "the package numeric has it: nm.draw(f), nm.steps(f, x), nm.plot(f, x)"
_COMPARED = "comparisons are operators: x < y, x <= y, x > y; sd.equal(x, y), sd.not_equal(x, y)"
_LOGIC = "(x > 0) & (y > 0), | for or, ^ for exclusive or, ~ for not"
_REAL = "expressions are real"
_DATA = "sd.constant of NumPy's array makes it an expression"
_EAGER = "numeric.tensor makes tensors; sd.symbol makes symbols"
_PRECISION = "the precision is that of the arguments when a Function is called"
_IN_PLACE = "expressions are immutable: sd.index_update(x, key, value) makes a new one"
_INFINITE = 'float("inf") is infinity, in formulas too'
_MEMORY = "an expression has no memory: lower it and call the Function"

_SOLVERS = "SciPy's solvers take what numeric.export.scipy(f, x) has"
_ROOT = "sd.root(f, x0), which has derivatives; " + _SOLVERS
_CODE = "F.source of a lowered F is NumPy code; sympy.ccode(sd.to_sympy(f)) writes C"
_CUSTOM = "sd.custom(forward, vjp) has a derivative of yours"
_LOOP = "sd.scan and sd.fori_loop are loops whose number of steps is known"
_DEPENDS = "x in f.free_symbols; sd.sparsity(f, x) for elements"
_WHERE = "sd.where(condition, a, b)"
_SHAPED = "its shape would depend on values, and it has no derivative; NumPy's takes values"

_SIMPLIFY = "sd.simplify(f) uses it, too; by itself, " + _SYMPY
_EXPAND = "sd.expand(f) uses it, too; by itself, " + _SYMPY
_FACTOR = "sd.factor(f) and sd.simplify(f) give common forms; by itself, " + _SYMPY
# Further functions and methods of SymPy.
_SYMPYS = {
    **dict.fromkeys(("trigsimp", "powsimp", "radsimp", "ratsimp", "logcombine"), _SIMPLIFY),
    **dict.fromkeys(("expand_trig", "expand_log"), _EXPAND),
    **dict.fromkeys(("together", "cancel", "apart"), _FACTOR),
}

PACKAGE: dict[str, str] = {
    "Symbol": 'sd.symbol("x") makes one',
    "Function": 'sd.function("f") makes an unknown function, sd.pointwise one of a formula, '
    "sd.custom one of NumPy code",
    "Matrix": "sd.stack of rows or sd.constant([[1, 2], [3, 4]]) make matrices, "
    'sd.symbol("A", (2, 2)) a symbol',
    "Array": "sd.stack and sd.constant make arrays",
    "array": "sd.stack makes an array of expressions, sd.constant one of numbers",
    "asarray": "sd.stack makes an array of expressions, sd.constant one of numbers",
    "linspace": "np.linspace takes expressions as its ends",
    "lambdify": "numeric.lower(f, [x, y]) makes a function of an expression",
    "Piecewise": "sd.where(condition, a, b), or sd.select for several conditions",
    "Rational": "sd.constant(fractions.Fraction(1, 3)), or x / 3: quotients of ints are exact",
    "Integer": "Python's ints are exact in expressions",
    "Float": "Python's floats are taken as the binary numbers that they are",
    "S": "sd.constant makes a number an expression; quotients with ints are exact",
    "oo": _INFINITE,
    "inf": _INFINITE,
    "nan": 'float("nan") is it',
    "E": "Euler's number is sd.e",
    "I": "expressions are real; pairs (re, im) are the operands of sd.fft",
    "ln": "sd.log is the natural logarithm",
    "Abs": "sd.abs",
    "Max": "sd.maximum",
    "Min": "sd.minimum",
    "Heaviside": "sd.where(x > 0, 1, 0), or np.heaviside(x, 1/2)",
    "sec": "1 / sd.cos(x)",
    "csc": "1 / sd.sin(x)",
    "cot": "1 / sd.tan(x)",
    "sech": "1 / sd.cosh(x)",
    "csch": "1 / sd.sinh(x)",
    "coth": "1 / sd.tanh(x)",
    "binomial": "sd.binom(n, k)",
    "lgamma": "sd.gammaln",
    "loggamma": "sd.gammaln",
    "Ei": "sd.expi",
    "E1": "sd.exp1",
    "expint": "sd.expn",
    "Si": "the first of sd.sici",
    "Ci": "the second of sd.sici",
    "fresnels": "the first of sd.fresnel",
    "fresnelc": "the second of sd.fresnel",
    "norm_cdf": "sd.ndtr",
    "besselj": "sd.jv",
    "bessely": "sd.yv",
    "besseli": "sd.iv",
    "besselk": "sd.kv",
    "logdet": "the second result of sd.slogdet",
    "linalg": "its functions are here: sd.solve, sd.inv, sd.det, sd.norm ...",
    "special": "its functions are here: sd.erf, sd.gamma, sd.jv ...",
    **dict.fromkeys(
        ("optimize", "least_squares"),
        "numeric.export.scipy(f, x) has fun, jac and hess for SciPy's",
    ),
    "curve_fit": "numeric.export.scipy of the residuals, for SciPy's least_squares",
    "solve_ivp": "sd.odeint(rhs, y0, t); numeric.export.solve_ivp(rhs, y) is for SciPy's",
    "gradient": "sd.grad differentiates, sd.finite_diff subtracts neighbours",
    **dict.fromkeys(("deriv", "D", "differentiate"), "sd.diff(f, x)"),
    **dict.fromkeys(("jacfwd", "jacrev", "jac", "Jacobian"), "sd.jacobian(f, x)"),
    **dict.fromkeys(("hess", "Hessian"), "sd.hessian(f, x)"),
    "laplacian": "sd.trace(sd.hessian(f, x))",
    "divergence": "sd.trace(sd.jacobian(f, x))",
    "curl": "differences of elements of sd.jacobian(f, x)",
    "idiff": "-sd.diff(f, x) / sd.diff(f, y)",
    **dict.fromkeys(("stop_gradient", "no_grad"), "sd.detach(f)"),
    **dict.fromkeys(("Eq", "Ne", "Lt", "Le", "Gt", "Ge"), _COMPARED),
    **dict.fromkeys(("And", "Or", "Not", "Xor", "logic_and", "logic_or", "logic_not"), _LOGIC),
    **dict.fromkeys(("ITE", "cond", "if_else", "conditional"), _WHERE),
    "Sum": "sd.sum of an array; a sum with symbolic bounds has no counterpart",
    "Product": "sd.prod of an array; a product with symbolic bounds has no counterpart",
    "Integral": "sd.integrate(f, x, a, b)",
    **dict.fromkeys(("roots", "dsolve", "Poly", "degree", "coeff"), _SYMPY),
    **dict.fromkeys(("numer", "denom", "fraction", "Lambda", "srepr"), _SYMPY),
    "DiracDelta": "a distribution is not a function; derivatives of jumps are 0 beside them",
    "Subs": "sd.substitute(f, {x: value}) substitutes at once",
    "euler_equations": "p = sd.grad(L, v), then sd.jvp(p, [q, v], [v, a]) - sd.grad(L, q)",
    "Dummy": 'sd.symbol("x") makes a symbol; equal names are equal symbols',
    **dict.fromkeys(
        ("MatrixSymbol", "IndexedBase"), 'sd.symbol("A", (2, 3)), or with named lengths'
    ),
    **dict.fromkeys(("conjugate", "conj", "re", "im", "real", "imag", "arg", "angle"), _REAL),
    "real_root": "sd.cbrt(x), or x ** sd.constant(fractions.Fraction(1, 5))",
    "Mod": "x % y",
    "ceiling": "sd.ceil",
    "frac": "x - sd.floor(x)",
    "tau": "2 * sd.pi",
    "relu": "sd.maximum(x, 0)",
    "gelu": "x * sd.ndtr(x)",
    **dict.fromkeys(("Tensor", "tensor"), _EAGER),
    **dict.fromkeys(("empty", "rand", "randn"), _DATA),
    **dict.fromkeys(("float32", "float64", "int64"), _PRECISION),
    "newaxis": "None, as in x[:, None]",
    **dict.fromkeys(("allclose", "isclose"), "`is` compares structures; evalf the difference"),
    **dict.fromkeys(("gradcheck", "check_grad"), "numeric.check has gradcheck and audit"),
    **dict.fromkeys(("draw", "plot", "steps", "show"), _SEEN),
    **dict.fromkeys(("print_latex", "to_latex"), "sd.latex"),
    "init_printing": "notebooks show formulas from the start",
    "Derivative": "sd.diff differentiates at once",
    "partial": "sd.diff(f, x)",
    "value_and_grad": "numeric.lower(f, x).value_and_grad is it",
    "vmap": "sd.batch gives a formula a leading axis",
    "jit": "numeric.lower makes a fast function of a formula",
    "block": "sd.concat of rows that sd.concat made",
    "mapaccum": _LOOP,
    **_SYMPYS,
    "taylor": "sd.series(f, x, x0, n)",
    "Limit": "sd.limit(f, x, x0)",
    "nsimplify": "sd.simplify; Python's ints and Fractions are exact in expressions",
    "solveset": "sd.solve solves linear systems; " + _SYMPY,
    "cse": "equal parts are one node from the start",
    "count_ops": "sd.count_operations",
    "subs": "sd.substitute(f, {x: value}), or f.subs({x: value})",
    "N": "sd.evalf(f, n)",
    **dict.fromkeys(("pprint", "pretty"), "sd.text, or sd.latex"),
    "sympify": "sd.from_sympy, or sd.parse for text",
    "lower": "numeric.lower",
    "equals": "numeric.check.why(f, g); `is` compares structures",
    "LambertW": "sd.lambertw",
    "elliptic_k": "sd.ellipk",
    "elliptic_e": "sd.ellipe, the complete integral",
    **dict.fromkeys(("airy", "airyai", "airybi", "hyp2f1", "hyp1f1", "hyper"), _CUSTOM),
    **dict.fromkeys(("linsolve", "nonlinsolve", "finite_diff_weights"), _SYMPY),
    "quad": "sd.integrate(f, x, a, b)",
    **dict.fromkeys(("ccode", "fcode", "pycode", "codegen", "code", "CodeGenerator"), _CODE),
    **dict.fromkeys(("nlpsol", "qpsol", "Opti"), _SOLVERS),
    **dict.fromkeys(("brentq", "newton", "fsolve", "nsolve", "rootfinder", "custom_root"), _ROOT),
    **dict.fromkeys(("cg", "gmres", "custom_linear_solve"), "sd.linear_solve(matvec, b)"),
    "integrator": "numeric.export.solve_ivp(rhs, y) has fun and jac for SciPy's solver",
    **dict.fromkeys(("interp1d", "interpolant", "CubicSpline"), "sd.interp, piecewise linear"),
    **dict.fromkeys(("histogram", "unique"), _SHAPED),
    "polyfit": "sd.pinv(sd.vander(x, degree + 1)) @ y",
    # JAX's.
    **dict.fromkeys(("custom_jvp", "custom_vjp", "custom_gradient", "Callback"), _CUSTOM),
    **dict.fromkeys(("checkpoint", "remat"), "numeric.lower decides what is kept"),
    "linearize": "sd.jvp(f, x, v) is linear in the symbol v",
    "linear_transpose": "sd.vjp(f, x, u) is linear in the symbol u",
    "lax": "sd.where, sd.select and the other functions are here, loops are Python's",
    "numpy": "NumPy's own functions take expressions",
    "nn": "sd.softmax, sd.softplus, sd.sigmoid ... are here",
    "random": "np.random draws numbers, outside of formulas",
    **dict.fromkeys(("tree_map", "tree_util"), "tuples and lists of expressions are understood"),
    "make_jaxpr": "sd.text(f), or sd.mermaid(f) for the graph",
    # CasADi's.
    **dict.fromkeys(("SX", "MX", "sym"), 'sd.symbol("x", 3)'),
    "DM": "np.array; values are NumPy's",
    **dict.fromkeys(("vertcat", "vcat"), "sd.stack of numbers, sd.concat of vectors"),
    **dict.fromkeys(("horzcat", "hcat"), "sd.stack of numbers, sd.column_stack of vectors"),
    "mtimes": "A @ B",
    "fmin": "sd.minimum",
    "fmax": "sd.maximum",
    "fabs": "sd.abs",
    "mmin": "sd.min",
    "mmax": "sd.max",
    "sumsqr": "sd.sum(x**2)",
    "sum1": "sd.sum(x, axis=0)",
    "sum2": "sd.sum(x, axis=1)",
    **dict.fromkeys(("norm_1", "norm_2", "norm_fro", "norm_inf"), "sd.norm(x, ord)"),
    "jtimes": "sd.jvp(f, x, v), and sd.vjp(f, x, u) with the transpose",
    "tangent": "sd.jacobian(f, x)",
    "vec": "sd.ravel(A.T), where sd.ravel(A) goes row by row",
    "repmat": "sd.tile",
    "symvar": "f.free_symbols",
    **dict.fromkeys(("depends_on", "which_depends", "jacobian_sparsity"), _DEPENDS),
    "is_equal": "`is` compares structures",
}
"""Missing names of the package ``symdiff``."""

EXPRESSION: dict[str, str] = {
    "name": "only symbols have a name",
    "grad": "sd.grad(f, x)",
    "gradient": "sd.grad(f, x)",
    "hessian": "sd.hessian(f, x)",
    "jacobian": "sd.jacobian(f, x)",
    "lambdify": "numeric.lower(f, [x, y])",
    "lower": "numeric.lower(f, [x, y])",
    "backward": "numeric.lower(f, x).value_and_grad gives values of derivatives; Tensors record",
    **_SYMPYS,
    "integrate": "sd.integrate(f, x, a, b)",
    "taylor": "f.series(x, x0, n)",
    **dict.fromkeys(("nseries", "lseries"), "f.series(x, x0, n)"),
    "removeO": "series leaves the order term out",
    **dict.fromkeys(("draw", "plot", "steps"), _SEEN),
    **dict.fromkeys(("to_latex", "as_latex"), "f.latex()"),
    **dict.fromkeys(("to_sympy", "sympy", "as_expr"), "sd.to_sympy(f)"),
    **dict.fromkeys(
        ("eval", "value", "evaluate"), "f.evalf(subs={x: 1}), or numeric.lower(f, [x])"
    ),
    "func": "f.op says what the node does, f.args of what",
    **dict.fromkeys(("is_number", "is_constant"), "not f.free_symbols"),
    **dict.fromkeys(("coeff", "coeffs", "degree", "rewrite", "as_numer_denom"), _SYMPY),
    "detach": "sd.detach(f)",
    "requires_grad": "derivatives are asked for by symbol: sd.grad(f, x)",
    "unsqueeze": "sd.expand_dims(x, axis)",
    "unstack": "list(x) are the parts along the first axis",
    **dict.fromkeys(("inverse", "I"), "x.inv()"),
    "eigvals": "sd.eigvalsh(x), of symmetric matrices",
    **dict.fromkeys(("mm", "mv"), "x @ y"),
    "pow": "x ** y",
    "relu": "sd.maximum(x, 0)",
    "doit": "nothing is left undone",
    "equals": "numeric.check.why(f, g) proves it, or says where not; `is` compares structures",
    "has": "x in f.free_symbols",
    "atoms": "f.free_symbols are the symbols, sd.nodes(f) all nodes",
    "count_ops": "sd.count_operations(f)",
    "xreplace": "f.subs({x: value})",
    "replace": "f.subs({x: value})",
    "n": "f.evalf(n)",
    "norm": "sd.norm(x)",
    "logdet": "the second result of sd.slogdet(x)",
    "H": "expressions are real: mT exchanges the last two axes",
    "numpy": _VALUES,
    "item": "float(x) of a number, .evalf(subs={...}) of any expression",
    "tolist": "list(x) are the parts along the first axis",
    "nonzero": "sd.nonzero(x)",
    "compress": "its shape would depend on values; use sd.where, or a mask of 0 and 1",
    "sort": "NumPy's sorts in place; sd.sort(x) is a new expression",
    "partition": "NumPy's sorts in place; sd.partition(x, kth) is a new expression",
    "argpartition": "sd.argsort(x)",
    "resize": _IN_PLACE,
    "fill": _IN_PLACE,
    "put": _IN_PLACE,
    "choose": "sd.select",
    "searchsorted": "sd.searchsorted(table, x)",
    "view": "the precision is that of the arguments when the expression is evaluated",
    "byteswap": _MEMORY,
    "base": _MEMORY,
    "data": _MEMORY,
    "ctypes": _MEMORY,
    "flags": _MEMORY,
    "flat": "sd.ravel(x) has the elements in one axis",
    "device": _MEMORY,
    "to_device": _MEMORY,
    "itemsize": _MEMORY,
    "nbytes": _MEMORY,
    "strides": _MEMORY,
    "setflags": _MEMORY,
    "getfield": _MEMORY,
    "setfield": _MEMORY,
    "dump": "pickle.dump takes expressions",
    "dumps": "pickle.dumps takes expressions",
    "tobytes": "pickle.dumps takes expressions",
    "tofile": "pickle.dump takes expressions",
}
"""Missing attributes of expressions."""


def called(form: str, function: Callable[..., Any], /, *args: object, **words: object) -> Any:
    """Call a function; the error for arguments that it does not take suggests ``form``."""
    try:
        return function(*args, **words)
    except TypeError as error:
        traceback = error.__traceback__
        if traceback is None or traceback.tb_next is not None:  # raised inside
            raise
        raise TypeError(f"{error}; write {form}") from None


def written(form: str) -> Callable[[Called], Called]:
    """Let a function's error for wrong arguments suggest a correct call, ``form``.

    >>> @written("twice(x)")
    ... def twice(x):
    ...     return 2 * x
    >>> twice(1, 2)
    Traceback (most recent call last):
    TypeError: twice() takes 1 positional argument but 2 were given; write twice(x)
    """

    def named(function: Called) -> Called:
        @wraps(function)
        def call(*args: object, **words: object) -> Any:
            return called(form, function, *args, **words)

        return cast("Called", call)

    return named


class Absent:
    """A missing attribute whose error suggests a replacement.

    (``__getattr__`` could do this for all names at once, but it slows down reading the existing
    attributes of a class.)
    """

    def __init__(self, owner: str, table: Mapping[str, str], name: str) -> None:
        self.error = owner, name, table

    def __get__(self, obj: object, kind: type) -> NoReturn:
        raise missing(*self.error, obj)


def without(cls: type, owner: str, table: Mapping[str, str]) -> None:
    """Add absent attributes for the names of ``table`` to a class; messages call it ``owner``."""
    for name in {*table} - {*dir(cls)}:
        setattr(cls, name, Absent(owner, table, name))

    def names(self: object) -> list[str]:
        everything = {*object.__dir__(self)}
        return sorted(name for name in everything if not isinstance(vars(cls).get(name), Absent))

    cls.__dir__ = names  # type: ignore[assignment]


def missing(owner: str, name: str, table: Mapping[str, str], obj: object) -> AttributeError:
    """The error for an attribute that ``owner`` does not have, with its replacement."""
    instead = f": {table[name]}" if name in table else ""
    return AttributeError(f"{owner} has no attribute {name!r}{instead}", name=name, obj=obj)
