"""Products, extremes and log-sum-exp over the last axis."""

from __future__ import annotations

from symdiff.ops import Opaque
from symdiff.signatures import Signature

__all__ = ["ArgMax", "ArgMin", "LogSumExp", "Max", "Min", "Prod", "ProdOthers"]


class Prod(Opaque):
    """The product over the last axis."""

    __slots__ = ()
    name = "prod"
    signature = Signature("(n)->()")
    kind = None


class ProdOthers(Opaque):
    """``value[..., i] = prod over j != i of x[..., j]``: exact with zeros, no division."""

    __slots__ = ()
    name = "prod_others"
    signature = Signature("(n)->(n)")
    kind = None


class Max(Opaque):
    """The largest element over the last axis."""

    __slots__ = ()
    name = "max"
    signature = Signature("(n)->()")
    selects = True
    kind = None


class Min(Opaque):
    """The smallest element over the last axis."""

    __slots__ = ()
    name = "min"
    signature = Signature("(n)->()")
    selects = True
    kind = None


class LogSumExp(Opaque):
    """``log(sum(exp(x)))`` over the last axis, without overflow."""

    __slots__ = ()
    name = "logsumexp"
    signature = Signature("(n)->()")


class ArgMax(Opaque):
    """The place of the first largest element over the last axis."""

    __slots__ = ()
    name = "argmax"
    signature = Signature("(n)->()")
    kind = int


class ArgMin(Opaque):
    """The place of the first smallest element over the last axis."""

    __slots__ = ()
    name = "argmin"
    signature = Signature("(n)->()")
    kind = int
