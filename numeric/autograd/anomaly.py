"""Anomaly detection: find the line that recorded an operation whose derivative fails."""

from __future__ import annotations

from numeric.modes import Setting, Switch


def detect_anomaly(check_nan: bool = True) -> Switch:
    """Return a context in which records save their stack, and nan in gradients is an error.

    If the backward pass of an operation fails, or returns nan, a warning shows the lines that
    recorded the operation.

    >>> import numeric as torch
    >>> with torch.autograd.detect_anomaly():
    ...     x = torch.tensor(-1.0, requires_grad=True)
    ...     torch.sqrt(x).grad_fn is None
    False
    """
    return Switch(anomaly=True, nan=check_nan)


def set_detect_anomaly(mode: bool, check_nan: bool = True) -> Setting:
    """Switch anomaly detection on or off from now on; as a context, until it exits.

    >>> import numeric as torch
    >>> with torch.autograd.set_detect_anomaly(True):
    ...     torch.ones(1, requires_grad=True).sum().backward()
    """
    return Setting(anomaly=mode, nan=check_nan)
