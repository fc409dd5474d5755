"""Differentiation of what was recorded: ``backward``, ``grad``, hooks and modes."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from numeric.autograd import function, graph
from numeric.autograd.anomaly import detect_anomaly, set_detect_anomaly
from numeric.autograd.checking import gradcheck, gradgradcheck
from numeric.autograd.derivatives import backward, grad
from numeric.autograd.function import Function
from numeric.autograd.hooks import RemovableHandle
from numeric.autograd.legacy import Variable
from numeric.modes import enable_grad, inference_mode, no_grad, set_grad_enabled

__all__ = [
    "Function",
    "RemovableHandle",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "function",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
]

_ROOMS = ("functional",)  # loaded when they are first asked for


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"numeric.autograd.{name}")
    raise AttributeError(f"module 'numeric.autograd' has no attribute {name!r}")
