"""Differentiation of recorded operations: ``backward``, ``grad``, hooks and modes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from numeric.autograd import function, functional, graph
from numeric.autograd.anomaly import detect_anomaly, set_detect_anomaly
from numeric.autograd.checking import gradcheck, gradgradcheck
from numeric.autograd.derivatives import backward, grad
from numeric.autograd.function import Function
from numeric.autograd.hooks import RemovableHandle
from numeric.autograd.legacy import Variable
from numeric.guesses import AUTOGRAD
from numeric.modes import enable_grad, inference_mode, no_grad, set_grad_enabled
from numeric.ops.arguments import explain
from symdiff.guesses import missing

__all__ = [
    "Function",
    "RemovableHandle",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "function",
    "functional",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
]

if not TYPE_CHECKING:  # a type checker would accept every name of the module
    explain(__name__)

    def __getattr__(name: str) -> object:
        raise missing("module 'numeric.autograd'", name, AUTOGRAD, sys.modules[__name__])
