"""Check derivatives: audits of code that others wrote, and the tools that the audits use.

============================================  =====================================================
``audit``, ``assert_gradients_match``         compare derivatives under test with the exact ones
``from_torch``, ``from_jax``,                 wrap other libraries' derivatives for an audit
``from_tensors``, ``Recorded``
``gradcheck``, ``gradgradcheck``              compare Tensors and Functions with their own values
``derivative``, ``taylor``                    compare plain functions with their own values
``reference``, ``enclose``, ``certify``       many digits, guaranteed bounds, the worst rounding
============================================  =====================================================

>>> audit("x**3", gradient=lambda x: 3 * x**2, inputs={"x": ()}, budget=500).verdict
'right'
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING

from numeric.check.asserting import assert_gradients_match as assert_gradients_match
from numeric.check.audit import audit as audit
from numeric.check.balls import Enclosure as Enclosure
from numeric.check.balls import enclose as enclose
from numeric.check.certificates import Certificate as Certificate
from numeric.check.certificates import certify as certify
from numeric.check.comparison import Comparison as Comparison
from numeric.check.differences import Derivative as Derivative
from numeric.check.differences import derivative as derivative
from numeric.check.differing import why as why
from numeric.check.foreign import from_jax as from_jax
from numeric.check.foreign import from_tensors as from_tensors
from numeric.check.foreign import from_torch as from_torch
from numeric.check.recorded import Recorded as Recorded
from numeric.check.references import Reference as Reference
from numeric.check.references import reference as reference
from numeric.check.remainders import Taylor as Taylor
from numeric.check.remainders import taylor as taylor
from numeric.check.report import Finding as Finding
from numeric.check.report import GradientError as GradientError
from numeric.check.report import Report as Report
from numeric.guesses import CHECK
from numeric.halves import load_tensors
from symdiff.guesses import missing

if TYPE_CHECKING:  # of the half of Tensors, which is loaded when they are first asked for
    from numeric.autograd.gradchecks import gradcheck as gradcheck
    from numeric.autograd.gradchecks import gradgradcheck as gradgradcheck
    from numeric.autograd.standards import GradcheckError as GradcheckError

__all__ = [
    "Certificate",
    "Comparison",
    "Derivative",
    "Enclosure",
    "Finding",
    "GradcheckError",
    "GradientError",
    "Recorded",
    "Reference",
    "Report",
    "Taylor",
    "assert_gradients_match",
    "audit",
    "certify",
    "derivative",
    "enclose",
    "from_jax",
    "from_tensors",
    "from_torch",
    "gradcheck",
    "gradgradcheck",
    "reference",
    "taylor",
    "why",
]


if not TYPE_CHECKING:  # a type checker would accept every name as an attribute of the module
    _OF_TENSORS = {
        **dict.fromkeys(("gradcheck", "gradgradcheck"), "numeric.autograd.gradchecks"),
        "GradcheckError": "numeric.autograd.standards",
    }

    def __getattr__(name: str) -> object:
        if name in _OF_TENSORS:
            load_tensors()
            return getattr(import_module(_OF_TENSORS[name]), name)
        raise missing("module 'numeric.check'", name, CHECK, sys.modules[__name__])
