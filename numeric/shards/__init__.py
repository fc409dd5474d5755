"""Values and derivatives over data in shards, too large for one machine.

>>> import numpy as np
>>> import symdiff as sd
>>> X, y, w = sd.symbol("X", ("n", 2)), sd.symbol("y", "n"), sd.symbol("w", 2)
>>> S = sharded(sd.mean((X @ w - y)**2), [X, y, w], over="n")
>>> value, gw = S.value_and_grad(
...     X=[np.eye(2), np.ones((1, 2))], y=[np.zeros(2), np.ones(1)], w=np.array([1.0, 2.0]), wrt="w"
... )
>>> float(value), gw.tolist()
(3.0, [2.0, 2.6666666666666665])
"""

from numeric.shards.sharded import Sharded as Sharded
from numeric.shards.sharded import sharded as sharded
from numeric.shards.subtotals import ShardError as ShardError

__all__ = ["ShardError", "Sharded", "sharded"]
