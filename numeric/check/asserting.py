"""An audit as an assertion."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symdiff.graph.arguments import door

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numeric.check.report import Report


@door
def assert_gradients_match(
    forward: object,
    *,
    gradient: object = None,
    vjp: object = None,
    jvp: object = None,
    hessian: object = None,
    inputs: Mapping[str, object],
    domain: Mapping[str, tuple[float, float]] | None = None,
    budget: int | None = None,
    seed: int = 0,
) -> Report:
    """Raise GradientError with the text of the report unless an audit accepts the derivatives.

    The arguments are those of ``audit``.  The result is the report of the accepted derivatives.
    With pytest, the fixture of this name does the same with the options ``--gradient-budget`` and
    ``--gradient-seed``.

    >>> import numpy as np
    >>> assert_gradients_match(np.sin, vjp=lambda x, w: w * np.cos(x), inputs={"x": 2}).verdict
    'right'
    """
    __tracebackhide__ = True  # pytest hides this frame: the report is the message
    # The audit imports many modules; only this call needs them.
    from numeric.check.audit import audit

    report: Report = audit(
        forward,
        gradient=gradient,
        vjp=vjp,
        jvp=jvp,
        hessian=hessian,
        inputs=inputs,
        domain=domain,
        budget=budget,
        seed=seed,
    )
    report.raise_if_wrong()
    return report
