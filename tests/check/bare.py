"""Every public function of the modules with extras where no extra is installed.

Run as a script, of a process that can import none of the optional packages: it prints, as JSON,
what each function gave, or how it refused.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

EXTRAS = (
    "scipy",
    "matplotlib",
    "flint",
    "torch",
    "jax",
    "autograd",
    "IPython",
    "ipywidgets",
    "pytest",
)


class Bare:
    """Finds what others find, and none of the optional packages."""

    def __init__(self, finders: Sequence[Any]) -> None:
        self.finders = list(finders)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """As it would be where they are not installed."""
        if name.split(".")[0] in EXTRAS:
            return None
        found = (finder.find_spec(name, path, target) for finder in self.finders)
        return next((spec for spec in found if spec is not None), None)


def calls() -> dict[str, Callable[[], Any]]:
    """By name what is called: each ``function`` of the modules, or ``function: with what``."""
    import numpy as np

    import numeric as nm
    import symdiff as sd

    check = nm.check
    x, v = sd.symbol("x"), sd.symbol("v", 3)
    at = np.linspace(-2, 2, 10).reshape(5, 2)
    tested = {"gradient": lambda x: 3 * x**2, "inputs": {"x": 2}, "budget": 200}
    table = check.Recorded(points={"x": at}, gradient={"x": 3 * at**2})
    versine, square = nm.lower(1 - sd.cos(x), x), nm.lower(sd.sum(v**2), v)

    def cube(x: Any) -> Any:
        return np.sum(x**3)

    def report() -> Any:
        return check.audit(cube, **tested)

    return {
        "audit": lambda: report().verdict,
        "audit: text, table and JSON": lambda: (
            str(report())[:5],
            report()._repr_html_()[:3],
            check.Report.from_json(report().json()) == report(),
        ),
        "audit: plot": lambda: report().plot(),
        "audit: erf": lambda: check.audit("erf(x)", gradient=np.cos, inputs={"x": ()}),
        "assert_gradients_match": lambda: check.assert_gradients_match(cube, **tested).ok,
        "Recorded": lambda: check.audit(cube, gradient=table, inputs={"x": 2}).verdict,
        "from_tensors": lambda: check.from_tensors(nm.sin).vjp(np.zeros(2), np.ones(2)).tolist(),
        "from_torch": lambda: check.from_torch(np.sin),
        "from_jax": lambda: check.from_jax(np.sin),
        "gradcheck": lambda: check.gradcheck(square, np.ones(3)),
        "gradgradcheck": lambda: check.gradgradcheck(square, np.ones(3)),
        "derivative": lambda: round(check.derivative(np.exp, 0.0).value, 9),
        "taylor: plot": lambda: check.taylor(cube, tested["gradient"], np.ones(2)).plot(),
        "certify: plot": lambda: check.certify(versine, {x: (-1, 1)}, budget=50).plot(),
        "taylor": lambda: check.taylor(cube, tested["gradient"], np.ones(2)).verdict,
        "reference": lambda: str(check.reference(x**3, {x: 1}, 20).derivative(x, 2)),
        "certify": lambda: check.certify(versine, {x: (-1, 1)}, budget=50).method,
        "certify: proven": lambda: check.certify(versine, {x: (-1, 1)}, method="proven"),
        "enclose": lambda: check.enclose(x**2, {x: (0, 1)}),
        "why": lambda: check.why("(x + 1)**2", "x**2 + 2*x + 1").equal,
        "steps": lambda: nm.steps(x**2, x, at={x: 3}).value,
        "scipy": lambda: nm.export.scipy(sd.sum(v**2), v).hess(np.ones(3)).tolist()[0],
        "draw": lambda: str(nm.show.draw(x**2, values={x: 3}))[:12],
        "explore": lambda: nm.explore(x**2, x),
        "plot": lambda: nm.plot(x**2, x),
        "plot_field": lambda: nm.plot_field(x**2, (x, sd.symbol("y"))),
        "solve_ivp": lambda: nm.export.solve_ivp(-v, v).jac(0.0, np.ones(3)).tolist()[0],
    }


def main() -> None:
    """Call all of them."""
    sys.meta_path[:] = [Bare(sys.meta_path)]
    from symdiff.errors import Unsupported

    answers: dict[str, Any] = {}
    for name, call in calls().items():
        try:
            answers[name] = call()
        except (ImportError, Unsupported) as error:
            answers[name] = f"refused: {error}"
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
