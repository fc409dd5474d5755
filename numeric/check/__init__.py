"""Whether a derivative is right: differences, many digits, and what holds them side by side."""

from numeric.autograd.standards import GradcheckError as GradcheckError
from numeric.check.asserting import assert_gradients_match as assert_gradients_match
from numeric.check.audit import audit as audit
from numeric.check.balls import Enclosure as Enclosure
from numeric.check.balls import enclose as enclose
from numeric.check.certificates import Certificate as Certificate
from numeric.check.certificates import certify as certify
from numeric.check.differences import Derivative as Derivative
from numeric.check.differences import derivative as derivative
from numeric.check.foreign import from_jax as from_jax
from numeric.check.foreign import from_tensors as from_tensors
from numeric.check.foreign import from_torch as from_torch
from numeric.check.gradchecks import gradcheck as gradcheck
from numeric.check.gradchecks import gradgradcheck as gradgradcheck
from numeric.check.recorded import Recorded as Recorded
from numeric.check.references import Reference as Reference
from numeric.check.references import reference as reference
from numeric.check.remainders import Taylor as Taylor
from numeric.check.remainders import taylor as taylor
from numeric.check.report import Finding as Finding
from numeric.check.report import GradientError as GradientError
from numeric.check.report import Report as Report
