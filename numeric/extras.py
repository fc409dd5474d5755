"""Packages that are optional: loaded when they are needed, or else what to install."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_EXTRAS = {
    "certify": {"flint": "python-flint"},
    "dask": {"dask": "Dask"},
    "jax": {"jax": "JAX"},
    "torch": {"torch": "PyTorch"},
    "viz": {"matplotlib": "Matplotlib", "ipywidgets": "ipywidgets"},
}


def extra(name: str, what: str, module: str = "") -> Any:
    """The module that the extra ``name`` installs, which ``what`` needs; the first of several.

    Raises ImportError, which says how to install it, where it is not there.

    >>> extra("certify", "enclose").__name__, extra("viz", "explore", "ipywidgets").__name__
    ('flint', 'ipywidgets')
    """
    packages = _EXTRAS[name]
    module = module or next(iter(packages))
    package = packages[module]
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(
            f'{what} needs {package}: pip install "symdiff-numeric[{name}]"', name=module
        ) from error
