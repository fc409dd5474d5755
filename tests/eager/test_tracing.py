"""compile: functions of Tensors, traced into lowered Functions."""

from __future__ import annotations

import copy
import re
from pathlib import Path

import numpy as np
import pytest

import numeric as torch

HERE = "test_tracing.py"


def leaf(value, **words):
    return torch.tensor(value, requires_grad=True, **words)


def mlp(x, w, u):
    return torch.sigmoid(torch.tanh(x @ w) @ u).mean()


def selection(x, w, u):
    h = torch.where(x > 0.5, torch.sqrt(torch.abs(x)), -x * 2)
    return (h * torch.relu(x - 0.2)).sum() + torch.clamp(w, -0.5, 0.5).sum() * u.max()


def in_place(x, w, u):
    y = torch.zeros(3, 2, dtype=x.dtype)
    y[0] = x[1]
    y[1:] = x[:2] * w[0]
    y += 1
    v = y.view(6)
    v.mul_(2)
    y[:, 1].add_(u[0])
    return (y * y).sum() + v.sum()


def shapes(x, w, u):
    parts = torch.cat([x.t().reshape(3, 2), x], dim=0).unbind(0)
    total = sum(p.sum() * (i + 1) for i, p in enumerate(parts))
    return total + torch.softmax(w, dim=1)[0, 1] + u.squeeze().unsqueeze(0).sum()


def cut(x, w, u):
    with torch.no_grad():
        h = x * w[0, 0]
    return (h * x).sum() + (w.detach() * w).sum() + (u * u).sum()


SHAPES = ((3, 2), (2, 2), (2, 1))
SQUARE = ((2, 2),)
PROGRAMS = {
    "mlp": (mlp, SHAPES),
    "selection": (selection, SHAPES),
    "in place": (in_place, SHAPES),
    "shapes": (shapes, SHAPES),
    "cut": (cut, SHAPES),
    "gather": (lambda a: torch.gather(a, 1, torch.tensor([[0, 1], [1, 0]])), SQUARE),
    "lists": (lambda a: a[:, [1, 0, 1]] * a[1, 0], SQUARE),
    "comparisons": (lambda a: ((a > 0) & ~(a >= 0.6)) * a, SQUARE),
    "casts": (lambda a: a.float().double() + (a > 0).long() + a.int(), SQUARE),
    "constants": (lambda a: a @ torch.eye(2, dtype=a.dtype) + torch.full((2,), 2.0), SQUARE),
    "masks": (lambda a: a.masked_fill(a < 0, 1.0).clamp(min=0.4), SQUARE),
    "views": (lambda a: a.unsqueeze(0).expand(3, 2, 2).permute(2, 0, 1).reshape(-1), SQUARE),
    "pieces": (lambda a: torch.stack([r.sum() for r in a]) * len(a) / a.shape[0], SQUARE),
    "order": (lambda a: a.sort(dim=1).values + a.max(1, keepdim=True).values, SQUARE),
    "losses": (lambda a: torch.nn.functional.cross_entropy(a, torch.tensor([1, 0])), SQUARE),
    "einsum": (lambda a: torch.einsum("ij,kj->ik", a, a), SQUARE),
    "data": (lambda a: a.data * a + a.detach(), SQUARE),
    "zeros": (lambda a: torch.zeros_like(a), SQUARE),
    "determinants": (lambda a: a.logdet() + torch.linalg.slogdet(a).sign, SQUARE),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_values_and_gradients_are_those_of_eager_execution(name, dtype):
    program, shapes = PROGRAMS[name]
    rng = np.random.default_rng(7)
    arrays = [rng.normal(size=s) for s in shapes]
    compiled = torch.compile(program)
    found = []
    for fn in (program, compiled, compiled):
        args = [leaf(a, dtype=dtype) for a in arrays]
        y = fn(*args)
        gs = torch.autograd.grad(y.sum(), args, allow_unused=True) if y.requires_grad else ()
        found.append([y.detach(), *gs])
        assert (y.shape, y.dtype, len(gs)) == (
            found[0][0].shape,
            found[0][0].dtype,
            len(found[0]) - 1,
        )
    for ours in found[1:]:
        for a, b in zip(ours, found[0], strict=True):
            assert a is b or torch.allclose(a, b, rtol=1e-4, atol=1e-6, equal_nan=True)
    assert len(compiled.functions) == 1


def test_it_is_a_decorator_with_and_without_arguments():
    @torch.compile
    def f(x):
        "The square."
        return x * x

    @torch.compile(fullgraph=True, dynamic=False, backend="inductor", mode="x", options={})
    def g(x):
        return x * x

    x = leaf(3.0)
    assert (f.__name__, f.__doc__) == ("f", "The square.")
    for h in (f, g, torch.compile(lambda x: x * x), torch.compile(f)):
        y = h(x)
        assert type(y.grad_fn).__name__ == "FunctionBackward0"
        y.backward()
    assert x.grad.item() == 24.0

    def plain(x):
        return x

    assert torch.compile(plain, disable=True) is plain
    with pytest.raises(TypeError, match="not a function"):
        torch.compile(3)


def test_it_traces_once_for_each_signature():
    runs = []

    @torch.compile
    def f(x, k=2.0, **words):
        runs.append(x.shape)
        return x * k + words.get("add", 0)

    for _ in range(3):
        f(torch.ones(2))
        f(torch.zeros(2), 2.0)
    assert len(runs) == 2  # given by default, and given
    f(torch.ones(3))
    f(torch.ones(2, dtype=torch.float64))
    f(torch.ones(2), 3.0)
    f(torch.ones(2), 3)
    assert f(torch.ones(2), add=torch.ones(2)).tolist() == [3.0, 3.0]
    assert len(runs) == 7
    for n in range(100):
        f(torch.ones(2), float(n))
    assert len(f.functions) == 64


def test_tensors_from_outside_are_inputs_with_their_present_values():
    w, scale = leaf([1.0, 2.0]), torch.tensor(3.0)
    state = {"b": torch.tensor([1.0, 1.0])}

    class Model:
        def __init__(self):
            self.v = leaf([1.0, 1.0])

        def __call__(self, x):
            return (x * w * scale + state["b"] * self.v).sum()

        @torch.compile
        def method(self, x):
            return (x * self.v).sum()

    model = Model()
    f = torch.compile(model)
    x = torch.tensor([1.0, 1.0])
    y = f(x)
    y.backward()
    assert (y.item(), w.grad.tolist(), model.v.grad.tolist()) == (11.0, [3.0, 3.0], [1.0, 1.0])
    with torch.no_grad():
        w.mul_(2)
    assert f(x).item() == 20.0
    assert len(f.functions) == 1
    state["b"] = torch.tensor([0.0, 0.0])
    assert f(x).item() == 18.0
    model.v = leaf([5.0, 5.0])
    assert model.method(x).item() == 10.0
    scale = torch.tensor(1.0)
    assert f(x).item() == 6.0


def test_results_are_nested_as_the_function_made_them():
    table = torch.tensor([5.0])

    @torch.compile
    def f(x):
        return {"a": (x * 2, [x.sum(), None, "text"]), "x": x, "t": table, "n": (x > 1)}

    x = leaf([1.0, 2.0])
    out = f(x)
    assert out["a"][0].tolist() == [2.0, 4.0]
    assert out["a"][1][1:] == [None, "text"]
    assert out["x"] is x
    assert out["t"] is table
    assert (out["n"].dtype, out["n"].requires_grad) == (torch.bool, False)
    out["a"][1][0].backward()
    assert x.grad.tolist() == [1.0, 1.0]


def refusals():
    w, n, M = torch.tensor([1.0, 2.0]), torch.tensor(2), torch.ones(2, 2)

    def branch(x):
        return x if x.sum() > 0 else -x

    def writes(x):
        return x.add_(1)

    def writes_outside(x):
        w.add_(1)
        return x

    return w, {
        "values": [
            branch,
            lambda x: x * float(x[0]),
            lambda x: x * int(x[0]),
            lambda x: x * x[0].item(),
            lambda x: x * x.tolist()[0],
            lambda x: torch.tensor(x.detach().numpy()),
            lambda x: x * w[0].item(),
            lambda x: x if bool((w > 0).all()) else -x,
            lambda x: torch.nonzero(x),
            lambda x: x[x > 0],
        ],
        "numbers": [
            lambda x: x + torch.searchsorted(w, x),
            lambda x: x * torch.tensor([w[0], 1.0]),
            lambda x: x * torch.full((2,), w[0]),
            lambda x: x.reshape(n, 1),
            lambda x: torch.tensor_split(x, n),
            lambda x: torch.tensordot(x, x, dims=n),
            lambda x: x * torch.linspace(0, w[1], 2),
            lambda x: torch.repeat_interleave(x, torch.tensor([n, 1])),
            lambda x: torch.repeat_interleave(x, n),
            lambda x: x * (w[0] in w),
            lambda x: x * copy.deepcopy(w),
            lambda x: x * torch.matrix_exp(torch.eye(2))[torch.linalg.matrix_rank(w * M)],
        ],
        "random": [
            lambda x: x * torch.rand(2),
            lambda x: x + torch.randn_like(x),
            lambda x: x + torch.randint(3, (2,)),
            lambda x: x[torch.randperm(2)],
            lambda x: x + torch.normal(0.0, 1.0, (2,)),
            lambda x: torch.nn.functional.dropout(x),
            lambda x: torch.zeros(2).uniform_() + x,
            lambda x: torch.func.vmap(lambda y: y + torch.rand(()), randomness="same")(x),
            lambda x: torch.func.vmap(lambda y: y + torch.rand(()), randomness="different")(x),
        ],
        "in place": [writes, writes_outside],
        "gradients": [lambda x: torch.autograd.grad((x * x).sum(), x)[0]],
    }


def test_what_cannot_be_traced_names_the_line():
    w, cases = refusals()
    for word, programs in cases.items():
        for program in programs:
            x = leaf([0.5, 0.25])
            with pytest.raises(RuntimeError) as caught:
                torch.compile(program)(x)
            text = str(caught.value)
            assert HERE in text, text
            assert f"in {program.__name__}" in text
            assert word in text or "traced" in text, text
    assert w.tolist() == [1.0, 2.0]


def test_the_line_is_that_of_the_decision():
    def f(x):
        y = x * 2
        if y[0] > 1:
            return y
        return x

    line = f.__code__.co_firstlineno + 2
    with pytest.raises(RuntimeError, match=f"line {line} of .*{HERE}"):
        torch.compile(f)(leaf([1.0, 2.0]))


def test_derivatives_of_derivatives_and_formulas():
    @torch.compile
    def f(x, w):
        return torch.tanh(x * w).sum()

    def penalty(fn, x, w):
        (g,) = torch.autograd.grad(fn(x, w), x, create_graph=True)
        (g * g).sum().backward()
        return x.grad, w.grad

    def args():
        return leaf([0.1, 0.2], name="x"), leaf([1.0, -1.0], name="w")

    for a, b in zip(penalty(f, *args()), penalty(f.__wrapped__, *args()), strict=True):
        assert torch.allclose(a, b)
    x, w = args()
    assert f(x, w).expr is f.__wrapped__(x, w).expr
    with torch.no_grad():
        assert f(x, w).grad_fn is None


def test_functions_and_compiled_functions_inside():
    import symdiff as sd

    s = sd.symbol("s")
    inner = torch.lower(sd.sin(s), s)
    twice = torch.compile(lambda x: 2 * x)
    f = torch.compile(lambda x: inner(twice(x)).sum())
    x = leaf([0.5, 1.0])
    f(x).backward()
    assert np.allclose(x.grad.numpy(), 2 * np.cos([1.0, 2.0]))


def test_traces_do_not_outlive_what_they_saw():
    kept = []

    def f(x):
        kept.append(x)
        return x * 2

    torch.compile(f)(leaf(1.0))
    with pytest.raises(RuntimeError, match="values of a tensor"):
        kept[0] * 2


PLACES = {
    "index": (lambda a, i: a[:, i] * a[0, i], [1, 0, -1]),
    "gather": (lambda a, i: torch.gather(a, 1, i), [[0, 2], [1, 1]]),
    "index_select": (lambda a, i: torch.index_select(a, 1, i), [0, 2]),
    "scatter": (lambda a, i: torch.zeros_like(a).scatter_add(1, i, a), [[0, 1, 1], [2, 2, 2]]),
    "cross_entropy": (lambda a, i: torch.nn.functional.cross_entropy(a, i), [2, -100]),
    "argmax": (lambda a, i: (a.argmax(1) == i).double().mean() + a.sum(), [1, 1]),
}


@pytest.mark.parametrize("name", PLACES)
def test_integer_tensors_are_arguments_like_others(name):
    function, places = PLACES[name]
    compiled, a = torch.compile(function), leaf(np.array([[0.3, 0.7, 0.1], [-0.5, 0.9, 0.2]]))
    for shift in (0, 0, 1):
        i = torch.roll(torch.tensor(places), shift, 0)
        y, z = function(a, i), compiled(a, i)
        assert torch.allclose(y, z)
        assert torch.allclose(*(torch.autograd.grad(t.sum(), a)[0] for t in (y, z)))
    assert len(compiled.functions) == 1


def test_what_the_function_makes_of_numbers_is_a_constant_that_it_may_read():
    kept = []

    @torch.compile
    def f(x):
        kept.append(torch.Tensor([1.0, 2.0]))
        chosen = [x[int(torch.tensor(i))] for i in torch.arange(0, 3, 2).tolist()]
        if torch.isnan(torch.tensor([float("nan")])).item():
            chosen.append(x[torch.nonzero(torch.tensor([0, 1, 0]))].sum())
        inner = torch.func.vmap(lambda y: y * torch.tensor(2.0).item())(torch.stack(chosen))
        return inner, torch.Tensor([1.0, 2.0])

    inner, made = f(torch.tensor([1.0, 2.0, 4.0]))
    assert inner.tolist() == [2.0, 8.0, 4.0]
    assert f(torch.tensor([0.0, 2.0, 4.0]))[1] is not made
    g = torch.compile(lambda x: x * kept[0])  # of another run: a tensor from outside
    assert g(torch.ones(2)).tolist() == [1.0, 2.0]
    kept[0].mul_(3)
    assert g(torch.ones(2)).tolist() == [3.0, 6.0]


def test_an_index_out_of_bounds_is_noticed_when_the_program_runs():
    """In traces, where indices have no values yet; negative ones are not a row of another slice."""
    gather = torch.compile(lambda x, i: x.gather(0, i))
    x = torch.arange(3.0)
    assert gather(x, torch.tensor([1])).tolist() == [1.0]
    rows = torch.arange(12.0).reshape(2, 2, 3)
    deep = torch.func.vmap(torch.func.vmap(lambda x, i: x.gather(0, i)))
    slopes = torch.func.vmap(torch.func.grad(lambda x, i: (x * x).gather(0, i).sum()))
    assert slopes(rows[0], torch.tensor([[0], [1]])).tolist() == [[0.0, 0, 0], [0, 8, 0]]
    for i in (-1, 3):
        for call in (
            lambda i=i: gather(x, torch.tensor([i])),
            lambda i=i: deep(rows, torch.full((2, 2, 1), i)),
            lambda i=i: slopes(rows[0], torch.tensor([[0], [i]])),
        ):
            with pytest.raises(IndexError, match="out of bounds"):
                call()


def test_no_decision_is_made_by_what_a_calling_frame_contains():
    """Where a value comes from is told by who makes it; frames give lines for messages."""
    packages = [Path(torch.__file__).parent, Path(torch.__file__).parents[1] / "symdiff"]
    found = {
        path.name
        for folder in packages
        for path in folder.rglob("*.py")
        if re.search(r"\bf_(locals|globals|builtins)\b", path.read_text())
    }
    assert not found
