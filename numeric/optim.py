"""Optimisers: they change parameters in place by the gradients in their ``grad``.

>>> import numeric as torch
>>> x = torch.tensor(4.0, requires_grad=True)
>>> optimizer = torch.optim.SGD([x], lr=0.1)
>>> for _ in range(3):
...     optimizer.zero_grad()
...     ((x - 1) ** 2).backward()
...     optimizer.step()
>>> x
tensor(2.5360, requires_grad=True)
"""

from __future__ import annotations

import sys
import warnings
from collections import defaultdict
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from numeric import tensors as _tensors  # noqa: F401  # first: its operations, as users have them
from numeric.eager.dtypes import float32, float64, get_default_dtype
from numeric.eager.refusals import user_level
from numeric.eager.tensor import Tensor
from numeric.guesses import OPTIM
from numeric.modes import Switch
from numeric.ops.arguments import explain_methods
from numeric.ops.creation import tensor, zeros_like
from numeric.ops.pointwise import maximum
from symdiff.contexts import contained
from symdiff.guesses import missing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["SGD", "Adam", "AdamW", "Optimizer"]


class Optimizer:
    """Base class of optimisers: groups of parameters with options, and a state per parameter.

    Define an update rule as a subclass with a method ``step``.

    Args:
        params: leaf tensors, pairs (name, tensor), or dictionaries with the entry ``"params"`` and
            options of that group.
        defaults: the options of groups that do not set them.

    Raises ValueError without parameters, for a parameter in two groups and for one that is not a
    leaf; TypeError for an object that is not a tensor.

    >>> import numeric as torch
    >>> class Sign(torch.optim.Optimizer):
    ...     @torch.no_grad()
    ...     def step(self):
    ...         for group in self.param_groups:
    ...             for p in group["params"]:
    ...                 p -= group["lr"] * p.grad.sign()
    >>> x = torch.tensor([1.0, -2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> Sign([x], {"lr": 0.25}).step()
    >>> x
    tensor([ 0.7500, -1.7500], requires_grad=True)
    """

    def __init__(self, params: Iterable[object], defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or "
                "dicts, but got a torch.Tensor"
            )
        self.defaults = defaults
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups: list[Any] = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def __repr__(self) -> str:
        lines = []
        for i, group in enumerate(self.param_groups):
            lines += ["", f"Parameter Group {i}"]
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return f"{type(self).__name__} (" + "\n".join(lines) + "\n)"

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters: the entry ``"params"``, and options of the group."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        if "params" not in param_group:
            raise ValueError(f"param_group has no key 'params', but {[*param_group]}")
        _listed(param_group)
        params = param_group["params"]
        for p in params:
            if not isinstance(p, Tensor):
                raise TypeError(
                    f"optimizer can only optimize Tensors, but one of the params is "
                    f"{type(p).__name__}"
                )
            if not (self.defaults.get("differentiable") or p.is_leaf or p.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            param_group.setdefault(name, default)
        if len(params) != len(set(params)):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this "
                "will cause an error",
                stacklevel=user_level(),
            )
        for group in self.param_groups:
            if ("param_names" in group) != ("param_names" in param_group):
                raise ValueError("all optimizer param groups should be with/without names.")
            if not set(params).isdisjoint(group["params"]):
                raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Set the gradients of all parameters to None, or to zeros in place."""
        for group in self.param_groups:
            for p in group["params"]:
                if set_to_none:
                    p.grad = None
                elif p._grad is not None:
                    # A gradient recorded by create_graph would record this write, too.
                    if p.grad.grad_fn is not None:
                        p.grad.detach_()
                    else:
                        p.grad.requires_grad_(False)
                    p.grad.zero_()

    def step(self, closure: Callable[[], object] | None = None) -> Any:
        """Update the parameters; an optional ``closure`` computes loss and gradients first."""
        raise NotImplementedError

    def state_dict(self) -> dict[str, Any]:
        """Return state and options, with numbers in place of parameters; tensors are not copied."""
        numbers: dict[Tensor, int] = {}
        groups, start = [], 0
        for group in self.param_groups:
            for i, p in enumerate(group["params"], start):
                numbers.setdefault(p, i)
            start += len(group["params"])
            packed = {key: value for key, value in group.items() if key != "params"}
            groups.append(packed | {"params": [numbers[p] for p in group["params"]]})
        state = {numbers.get(p, p): value for p, value in self.state.items()}
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load state and options from the ``state_dict()`` of an optimiser with equal groups.

        Raises ValueError if the groups differ in number or length.
        """
        if isinstance(state_dict, dict) and not {"state", "param_groups"} <= set(state_dict):
            raise ValueError(
                "state_dict has the keys 'state' and 'param_groups', as state_dict() gives them; "
                f"got {[*state_dict]}"
            )
        saved = deepcopy(state_dict["param_groups"])
        if len(saved) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        pairs = list(zip(self.param_groups, saved, strict=True))
        if any(len(own["params"]) != len(new["params"]) for own, new in pairs):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of "
                "optimizer's group"
            )
        params: dict[object, Tensor] = {}
        for own, new in pairs:
            params.update(zip(new["params"], own["params"], strict=True))
            new["params"] = own["params"]
            if "param_names" in own:
                new.setdefault("param_names", own["param_names"])
        self.state = defaultdict(dict)
        for number, state in state_dict["state"].items():
            p = params.get(number)
            self.state[number if p is None else p] = state if p is None else _cast(state, p)
        self.param_groups = saved


def _listed(group: dict[str, Any]) -> None:
    """Make the parameters of a group a list, and move their names to the entry "param_names"."""
    params = group["params"]
    if isinstance(params, set):
        raise TypeError(
            "optimizer parameters need to be organized in ordered collections, but the ordering "
            "of tensors in sets will change between runs. Please use a list instead."
        )
    entries = [params] if isinstance(params, Tensor) else list(params)
    names = [p[0] for p in entries if isinstance(p, tuple)]
    if names and len(names) != len(entries):
        raise ValueError(
            "all optimizer params should be with/without names. Some param names are missing"
        )
    group["params"] = [p[1] if isinstance(p, tuple) else p for p in entries]
    if names:
        group["param_names"] = names


def _cast(state: Any, p: Tensor, key: str | None = None) -> Any:
    """Return a loaded state with its tensors in the dtype of the parameter."""
    if isinstance(state, Tensor):
        # Half precision could not count the steps.
        return state if key == "step" else state.to(p.dtype)
    if isinstance(state, dict):
        return {k: _cast(v, p, k) for k, v in state.items()}
    return type(state)(_cast(v, p) for v in state) if isinstance(state, list | tuple) else state


class _ByParameter(Optimizer):
    """Base class of optimisers that update one parameter at a time."""

    @contained
    def step(self, closure: Callable[[], object] | None = None) -> Any:
        """Update every parameter that has a gradient.

        An optional ``closure`` computes loss and gradients first; ``step`` returns its result.
        """
        loss = None
        if closure is not None:
            with Switch(grad=True):
                loss = closure()
        with Switch(grad=bool(self.defaults["differentiable"])):
            for group in self.param_groups:
                for p in group["params"]:
                    if p._grad is not None:
                        g = -p._grad if group["maximize"] else p._grad
                        self._change(p, g, self.state[p], group)
        return loss

    def _change(self, p: Tensor, g: Tensor, state: Any, group: dict[str, Any]) -> None:
        raise NotImplementedError


def _non_negative(what: str, value: float | Tensor) -> None:
    """Raise ValueError for an option that is negative or nan."""
    if isinstance(value, Tensor) and value.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    if not value >= 0:
        raise ValueError(f"Invalid {what}: {value}")


def _number(value: float | Tensor) -> float | Tensor:
    """Return an option as a number; a tensor that requires gradients stays a tensor."""
    return value.item() if isinstance(value, Tensor) and not value.requires_grad else value


class SGD(_ByParameter):
    """Gradient descent, with momentum and weight decay.

    ``b = momentum * b + (1 - dampening) * g; p -= lr * b``, where ``g`` is the gradient plus
    ``weight_decay * p``; ``b`` is ``g`` at the first step.

    Args:
        params: as for ``Optimizer``.
        lr: the learning rate; may be a tensor of one element.
        momentum: the factor of the previous step in the next one.
        dampening: the gradient enters ``b`` with the factor ``1 - dampening``.
        weight_decay: the factor of the parameter in the term added to its gradient.
        nesterov: follow ``g + momentum * b`` instead of ``b``.
        maximize: ascend instead of descend.
        foreach: has no effect.
        differentiable: record the steps, for derivatives through them.
        fused: has no effect.

    Raises ValueError for options out of range, and as ``Optimizer``.

    >>> import numeric as torch
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> torch.optim.SGD([x], lr=0.25, momentum=0.9).step()
    >>> x
    tensor([0.5000, 1.0000], requires_grad=True)
    """

    def __init__(
        self,
        params: Iterable[object],
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        _non_negative("learning rate", lr)
        _non_negative("momentum value", momentum)
        _non_negative("weight_decay value", weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": momentum,
                "dampening": dampening,
                "weight_decay": weight_decay,
                "nesterov": nesterov,
                "maximize": maximize,
                "foreach": foreach,
                "differentiable": differentiable,
                "fused": fused,
            },
        )

    def _change(self, p: Tensor, g: Tensor, state: Any, group: dict[str, Any]) -> None:
        lr, momentum = _number(group["lr"]), group["momentum"]
        if group["weight_decay"] != 0:
            g = g.add(p, alpha=group["weight_decay"])
        if momentum != 0:
            b = state.get("momentum_buffer")
            if b is None:
                b = state["momentum_buffer"] = g.detach().clone()
            else:
                b.mul_(momentum).add_(g, alpha=1 - group["dampening"])
            g = g.add(b, alpha=momentum) if group["nesterov"] else b
        if isinstance(lr, Tensor):
            p.addcmul_(g, lr, value=-1)
        else:
            p.add_(g, alpha=-lr)


class Adam(_ByParameter):
    """Gradient descent whose steps are scaled by running means of gradients and their squares.

    ``m`` and ``v`` are the means.  They start at zero, which the step t corrects:
    ``p -= lr * m / (1 - beta1**t) / (sqrt(v / (1 - beta2**t)) + eps)``.

    Args:
        params: as for ``Optimizer``.
        lr: the learning rate; may be a tensor of one element.
        betas: the decay rates of the means of gradients and of squares.
        eps: a number added to the scale.
        weight_decay: the factor of the parameter in the term added to its gradient.
        amsgrad: scale by the largest mean of squares so far.
        foreach: has no effect.
        maximize: ascend instead of descend.
        capturable: has no effect.
        differentiable: record the steps, for derivatives through them.
        fused: has no effect.
        decoupled_weight_decay: shrink parameters by ``lr * weight_decay`` instead.

    Raises ValueError for options out of range, and as ``Optimizer``.

    >>> import numeric as torch
    >>> x = torch.tensor([1.0, -20.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> torch.optim.Adam([x], lr=0.25).step()
    >>> x
    tensor([  0.7500, -19.7500], requires_grad=True)
    """

    def __init__(
        self,
        params: Iterable[object],
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        _non_negative("learning rate", lr)
        _non_negative("epsilon value", eps)
        for i, beta in enumerate(betas):
            if not 0 <= beta < 1:
                raise ValueError(f"Invalid beta parameter at index {i}: {beta}")
        if not any(all(isinstance(beta, kind) for beta in betas) for kind in (float, Tensor)):
            raise ValueError("betas must be either both floats or both Tensors")
        _non_negative("weight_decay value", weight_decay)
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": tuple(map(float, betas)),
                "eps": eps,
                "weight_decay": weight_decay,
                "amsgrad": amsgrad,
                "maximize": maximize,
                "foreach": foreach,
                "capturable": capturable,
                "differentiable": differentiable,
                "fused": fused,
                "decoupled_weight_decay": decoupled_weight_decay,
            },
        )

    def _change(self, p: Tensor, g: Tensor, state: Any, group: dict[str, Any]) -> None:
        lr = _number(group["lr"])
        beta1, beta2 = group["betas"]
        if not state:
            state.update(_means(p, group["amsgrad"]))
        state["step"] += 1
        t = state["step"].item()
        if group["weight_decay"] != 0:
            if group["decoupled_weight_decay"]:
                p.mul_(1 - lr * group["weight_decay"])
            else:
                g = g.add(p, alpha=group["weight_decay"])
        m, v = state["exp_avg"], state["exp_avg_sq"]
        m.lerp_(g, 1 - beta1)
        v.mul_(beta2).addcmul_(g, g, value=1 - beta2)
        if group["amsgrad"]:
            v = state["max_exp_avg_sq"].copy_(maximum(state["max_exp_avg_sq"], v))
        if group["differentiable"]:  # later steps change the means in place, the record may not
            m, v = m.clone(), v.clone()
        scale = (v.sqrt() / (1 - beta2**t) ** 0.5).add_(group["eps"])
        size = lr / (1 - beta1**t)
        if isinstance(size, Tensor):
            p.sub_(m * size / scale)
        else:
            p.addcdiv_(m, scale, value=-size)


def _means(p: Tensor, amsgrad: bool) -> dict[str, Tensor]:
    """Return the state of a parameter before the first step."""
    kind = float64 if get_default_dtype() == float64 else float32
    state = {"step": tensor(0.0, dtype=kind)}
    for name in ("exp_avg", "exp_avg_sq") + ("max_exp_avg_sq",) * amsgrad:
        state[name] = zeros_like(p)
    return state


class AdamW(Adam):
    """Adam with decoupled weight decay: parameters shrink by ``lr * weight_decay`` at each step.

    Args:
        params: as for ``Optimizer``.
        lr: see ``Adam``.
        betas: see ``Adam``.
        eps: see ``Adam``.
        weight_decay: the rate at which parameters shrink.
        amsgrad: see ``Adam``.
        maximize: see ``Adam``.
        foreach: see ``Adam``.
        capturable: see ``Adam``.
        differentiable: see ``Adam``.
        fused: see ``Adam``.

    >>> import numeric as torch
    >>> x = torch.tensor([1.0, -20.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> torch.optim.AdamW([x], lr=0.25, weight_decay=0.5).step()
    >>> x
    tensor([  0.6250, -17.2500], requires_grad=True)
    """

    def __init__(
        self,
        params: Iterable[object],
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load state and options as ``Optimizer`` does; the weight decay stays decoupled."""
        super().load_state_dict(state_dict)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True


if not TYPE_CHECKING:  # a type checker would accept every name of the module

    def __getattr__(name: str) -> object:
        raise missing("module 'numeric.optim'", name, OPTIM, sys.modules[__name__])


for _class in (Optimizer, _ByParameter, SGD, Adam, AdamW):
    explain_methods(_class)
