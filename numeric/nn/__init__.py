"""Parts of neural networks: ``nn.functional``, ``nn.utils`` and ``nn.Parameter``.

>>> import numeric as torch
>>> torch.nn.functional.relu(torch.tensor([-1.0, 2.0])).tolist()
[0.0, 2.0]
"""

from numeric.nn import functional, utils
from numeric.nn.parameter import Parameter

__all__ = ["Parameter", "functional", "utils"]
