"""Optional packages: import them on demand, or name the command that installs them."""

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
# Refuse older versions of these modules: enclosures of python-flint 0.8 were wrong.
_LEAST = {"flint": (0, 9)}


def extra(name: str, what: str, module: str = "") -> Any:
    """Import a module of the extra ``name`` for the feature ``what``; by default the first module.

    Raises ImportError with the command that installs it, where the module is missing or too old.

    >>> extra("certify", "enclose").__name__, extra("viz", "explore", "ipywidgets").__name__
    ('flint', 'ipywidgets')
    """
    packages = _EXTRAS[name]
    module = module or next(iter(packages))
    package = packages[module]
    remedy = f'pip install "symdiff-numeric[{name}]"'
    try:
        loaded = import_module(module)
    except ImportError as error:
        raise ImportError(f"{what} needs {package}: {remedy}", name=module) from error
    least = _LEAST.get(module, ())
    if tuple(map(int, loaded.__version__.split(".")[: len(least)])) < least:
        newer = ".".join(map(str, least))
        raise ImportError(
            f"{what} needs {package} {newer} or newer, got {loaded.__version__}: {remedy}",
            name=module,
        )
    return loaded
