"""Building blocks of neural networks: ``nn.functional``, ``nn.utils`` and ``nn.Parameter``.

>>> import numeric as torch
>>> torch.nn.functional.relu(torch.tensor([-1.0, 2.0])).tolist()
[0.0, 2.0]
"""

import sys
from typing import TYPE_CHECKING

from numeric import tensors as _tensors  # noqa: F401  # first: its operations, as users have them
from numeric.guesses import NN
from numeric.nn import functional, utils
from numeric.nn.parameter import Parameter
from symdiff.guesses import missing

__all__ = ["Parameter", "functional", "utils"]


if not TYPE_CHECKING:  # a type checker would accept every name of the module

    def __getattr__(name: str) -> object:
        raise missing("module 'numeric.nn'", name, NN, sys.modules[__name__])
