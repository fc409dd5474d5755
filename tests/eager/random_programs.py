"""Random programs in PyTorch's API, run in any module that offers it, and compared by their traces.

A program is data: a list of steps, each a dictionary of what is called, on which registers and
literals, under which grad mode, and which registers get the results.  ``$a`` is the register a.
So a program that fails prints as a script, and shrinks by leaving out steps: what needs a register
that is not there is not run.  Programs may do what is forbidden.  An error is part of the trace.
"""

import functools
import math
import operator
import random
import warnings
from contextlib import nullcontext, suppress

import numpy as np

# The classes that errors are compared by, and what a message must say if the other one says it.
ERRORS = (
    NotImplementedError, RuntimeError, IndexError, TypeError, ValueError, ZeroDivisionError,
)  # fmt: skip
PHRASES = (
    "a leaf Variable that requires grad",
    "a view of a leaf Variable",
    "modified by an inplace operation",
    "second time",
    "grad can be implicitly created only for scalar outputs",
    "does not require grad and does not have a grad_fn",
    "does not require grad",
    "Mismatch in shape",
    "allow_unused=True",
    "cannot be empty",
    "leaf variables",
    "floating point",
    "doesn't require gradient",
    "requires_grad=False",
    "can't be cast",
    "broadcast",
    "single memory location",
    "no_grad",
    "non-leaf",
    "out of range",
    "by a hook",
    "returns multiple views",
    "detached in-place",
    "once_differentiable",
    "INTERNAL ASSERT",
    "ZeroTensor",
    "custom Function",
)

# Names as good as the expected one.  A view whose memory was changed gets its history anew, here
# only if the change was none of a detached tensor; an item that is everything is copied here.
ALIASES = {
    "AsStridedBackward0": (
        "SelectBackward0", "SliceBackward0", "ViewBackward0", "TBackward0", "TransposeBackward0",
        "PermuteBackward0", "ExpandBackward0", "UnsqueezeBackward0", "SqueezeBackward0",
        "SqueezeBackward1", "DiagonalBackward0", "AliasBackward0", "ReshapeAliasBackward0",
    ),
    "FillBackward3": ("CopyBackwards",),
    # Results of sort and the like are in C order here.
    "UnsafeViewBackward0": ("ViewBackward0",),
    "ViewBackward0": ("UnsafeViewBackward0",),
}  # fmt: skip

# Names of nodes that are not compared: the formulas of recorded backward passes are our own.
UNNAMED = "recorded"

BACKWARD = ("backward", "torch.autograd.backward", "torch.autograd.grad")


# --- functions that programs call ----------------------------------------------------------------

# Of one tensor: with one number as the result, then with several.
SCALARS = {
    "wave": lambda torch: lambda x: (torch.sin(x) * x).sum(),
    "powers": lambda torch: lambda x: (x * x * torch.tanh(x)).mean(),
    "logarithm": lambda torch: lambda x: (x * x + 1.0).log().sum(),
}
FIELDS = {
    "curve": lambda torch: lambda x: torch.sin(x) * x.sum(),
    "flat": lambda torch: lambda x: (x.exp() / (1.0 + x.exp().sum())).reshape(-1),
    "pointwise": lambda torch: lambda x: x * torch.cos(x),
}
CLOSURES = {**SCALARS, **FIELDS}


@functools.cache
def custom_functions(torch):
    """Custom Functions by name; the names of their nodes are compared."""

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2.0 * x * g

    class Sigmoid(torch.autograd.Function):
        """In the other style, saving its result."""

        @staticmethod
        def forward(x):
            return torch.sigmoid(x)

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(output)

        @staticmethod
        def backward(ctx, g):
            (y,) = ctx.saved_tensors
            return g * y * (1.0 - y)

    class Pair(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x * y, x + y

        @staticmethod
        def backward(ctx, a, b):
            x, y = ctx.saved_tensors
            return a * y + b, a * x + b if ctx.needs_input_grad[1] else None

    class Sparing(torch.autograd.Function):
        """Two results, None for the cotangent of one that is not used."""

        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2.0, x * 3.0

        @staticmethod
        def backward(ctx, a, b):
            if a is None:
                return None if b is None else b * 3.0
            return a * 2.0 if b is None else a * 2.0 + b * 3.0

    class Double_(torch.autograd.Function):  # noqa: N801 - as in-place methods end
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2.0)

        @staticmethod
        def backward(ctx, g):
            return g * 2.0

    class Both(torch.autograd.Function):
        """A result, and one without gradients."""

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            y, z = torch.sin(x), torch.cos(x)
            ctx.mark_non_differentiable(z)
            return y, z

        @staticmethod
        def backward(ctx, g, _):
            (x,) = ctx.saved_tensors
            return g * torch.cos(x)

    class Once(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 3.0 * x * x * g

    return {f.__name__: f for f in (Square, Sigmoid, Pair, Sparing, Double_, Both, Once)}


# --- running -------------------------------------------------------------------------------------


class Missing(Exception):
    """A register that an earlier step did not fill."""


class Run:
    """A program being run in ``torch``, a module; ``trace`` lists what was seen."""

    def __init__(self, program, torch):
        self.torch, self.program = torch, program
        self.registers, self.trace, self.hooked = {}, [], []
        self.unnamed, self.transformed = set(), set()
        # PyTorch leaves a 1 in the version of some new memory, of gradients that it copied above
        # all; there only the changes are compared.  ``first`` keeps the tensors, so that ids last.
        self.loose, self.first = set(), {}
        # Gradients that were given to a backward pass: PyTorch may go on with their memory.
        self.given, self.gradients = set(), set()
        self.leaf_names = {s["out"][0] for s in program["steps"] if s["call"] == "leaf"}
        # Asking for a stale view's history renews it; so only some programs look at everything.
        self.watchful = program["watch"]

    def run(self):
        """The trace: entries (step, what, kind, payload)."""
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            for n, step in enumerate(self.program["steps"]):
                self.step(n, step)
            self.look(len(self.program["steps"]), self.registers)
        self.registers.clear()
        self.first.clear()
        return self.trace

    def step(self, n, step):
        try:
            args = [self.value(a) for a in step.get("args", ())]
            kwargs = {k: self.value(a) for k, a in step.get("kw", {}).items()}
        except Missing:
            return
        mode = step.get("mode")
        self.hooked = []
        for given in ("gradient", "grad_outputs"):
            if given in kwargs:
                self.given.add(step["kw"][given][1:])
        try:
            with self.entered(mode):
                result = self.call(step["call"], args, kwargs)
        except Exception as error:  # part of what is compared
            self.trace += [(n, "hook", "hook", h) for h in self.hooked]
            kind = next((k.__name__ for k in ERRORS if isinstance(error, k)), type(error).__name__)
            self.trace.append((n, "error", "error", (kind, str(error))))
            seen = self.leaves() if step["call"] in BACKWARD else {}
            self.look(n, {k: t for k, t in seen.items() if k in self.leaf_names})
            return
        self.trace += [(n, "hook", "hook", h) for h in self.hooked]
        if step["call"] == "set.grad":
            self.given.add(str(step["args"][1])[1:])
        if step["call"] == "del":
            del self.registers[step["args"][0][1:]]
            return
        self.keep(n, step, args, result)

    def entered(self, mode):
        """A grad mode, or hooks that keep copies of what is saved."""
        if mode != "saved":
            return getattr(self.torch, mode)() if mode else nullcontext()
        return self.torch.autograd.graph.saved_tensors_hooks(
            lambda t: (t.dtype, self.array(t)), lambda p: self.torch.tensor(p[1], dtype=p[0])
        )

    def keep(self, n, step, args, result):
        call, out = step["call"], step.get("out", [])
        if call.endswith("_") or call.startswith("operator.i"):
            self.trace.append((n, "returns itself", "flag", result is args[0]))
        if not out:
            changed = self.registers if self.watchful else {}
            if call in BACKWARD:
                self.part()
            if call in (*BACKWARD, ".step", ".zero_grad"):
                changed = changed or self.leaves()
            elif args and not call.startswith("hook"):
                changed = changed or {step["args"][0][1:]: args[0]}
            self.look(n, changed)
            return
        results = list(result) if isinstance(result, tuple | list) else [result]
        if len(out) != len(results):
            self.trace.append((n, "results", "flag", len(results)))
        made = {k: r for k, r in zip(out, results, strict=False) if r is not None}
        self.registers.update(made)
        for name in made:
            unnamed = call in ("torch.autograd.grad", "get.grad")
            one = call.startswith(("func.", "functional."))  # one node here, of whatever results
            one |= any(made[name] is self.registers.get(k) for k in self.transformed - {name})
            (self.transformed.add if one else self.transformed.discard)(name)
            unnamed |= one
            unnamed |= any(made[name] is self.registers.get(k) for k in self.unnamed - {name})
            (self.unnamed.add if unnamed else self.unnamed.discard)(name)
            if call == "get.grad" or self.among(self.gradients, step["args"][:1]):
                self.gradients.add(name)  # or a view of one
            loose = unnamed or call in ("torch.matmul",) or self.among(self.loose, step["args"][:1])
            (self.loose.add if loose else self.loose.discard)(name)
        self.trace.append(
            (n, "results", "flag", [k for k, r in zip(out, results, strict=False) if r is None])
        )
        self.look(n, {k: r for k, r in made.items() if self.is_tensor(r)})

    def part(self):
        """Give leaves gradients of their own: PyTorch's may share memory, and change each other."""
        arrays = []
        for t in {id(t): t for k, t in self.leaves().items() if k in self.leaf_names}.values():
            g = t.grad
            if g is None or g.requires_grad or getattr(g, "_is_zerotensor", bool)():
                continue
            if any(np.may_share_memory(g.numpy(), other) for other in arrays):
                t.grad = g.clone()
            arrays.append(t.grad.numpy())

    @staticmethod
    def among(names, args):
        return any(isinstance(a, str) and a[1:] in names for a in args)

    def version(self, t, loose):
        if loose and loose in self.gradients:  # whose memory PyTorch may share with others
            return None
        if not loose:
            return t._version
        _, first = self.first.setdefault(id(t), (t, t._version))
        return t._version - first

    def leaves(self):
        return {
            k: t
            for k, t in self.registers.items()
            if self.is_tensor(t) and ((t.requires_grad and t.retains_grad) or k in self.leaf_names)
        }

    def is_tensor(self, t):
        return isinstance(t, self.torch.Tensor)

    def value(self, a):
        match a:
            case str() if a.startswith("$"):
                if a[1:] not in self.registers:
                    raise Missing
                return self.registers[a[1:]]
            case str() if a.startswith("torch."):
                return getattr(self.torch, a[6:])
            case {"index": places}:
                items = tuple([slice(*i) if isinstance(i, list) else self.value(i) for i in places])
                return items if len(items) != 1 else items[0]
            case "...":
                return ...
            case list():
                return [self.value(x) for x in a]
        return a

    def call(self, name, args, kwargs):
        """Do it; the names are those of the steps."""
        torch = self.torch
        kind, _, rest = name.partition(".")
        x = args[0] if args else None
        match kind:
            case "leaf":
                return torch.tensor(*args, **kwargs)
            case "custom":
                return custom_functions(torch)[rest].apply(*args)
            case "func":  # from the innermost transform outwards
                f = CLOSURES[x](torch)
                for part in reversed(rest.split(".")):
                    f = getattr(torch.func, part)(f)
                return f(*args[1:])
            case "functional":
                f = getattr(torch.autograd.functional, rest)
                return f(CLOSURES[x](torch), *args[1:], **kwargs)
            case "hook":
                return self.hook(name, *args)
            case "get":
                return getattr(x, rest)
            case "set":
                return setattr(x, rest, args[1])
            case "[]":
                return x[args[1]]
            case "[]=":
                return operator.setitem(*args)
            case "del":
                return None
            case "remove" | "backward":
                return getattr(x, kind)(**kwargs)
            case "":  # a method
                return getattr(x, rest)(*args[1:], **kwargs)
        target = {"operator": operator, "F": torch.nn.functional, "torch": torch}[kind]
        return operator.attrgetter(rest)(target)(*args, **kwargs)

    def hook(self, name, t, label, what):
        def tensor_hook(g):
            self.hooked.append((label, None if g is None else self.array(g)))
            if what == "raise":
                raise ValueError("by a hook")
            return {"scale": lambda: g * 2.0, "zero": lambda: g * 0.0}.get(what, lambda: None)()

        def node_prehook(gs):
            self.hooked.append((label, None if gs[0] is None else self.array(gs[0])))
            return tuple([None if g is None else g * 2.0 for g in gs]) if what == "scale" else None

        def node_hook(inputs, outputs):
            if kind in ("CopySlices", "AsStridedBackward0"):  # which we build differently
                return
            # What they are is another matter: some operations are several in PyTorch.
            self.hooked.append((label, len(outputs)))

        def accumulated(leaf):
            self.hooked.append((label, None if leaf.grad is None else self.array(leaf.grad)))
            if what == "zero":
                leaf.grad = None

        grad_fn = t.grad_fn  # read first, as PyTorch crashes on the hook of a view that is stale
        if name == "hook.tensor":
            return t.register_hook(tensor_hook)
        if name == "hook.accumulated":
            return t.register_post_accumulate_grad_hook(accumulated)
        if grad_fn is None:
            return None
        kind = type(grad_fn).__name__
        if name == "hook.before":
            return grad_fn.register_prehook(node_prehook)
        return grad_fn.register_hook(node_hook)

    # What is seen --------------------------------------------------------------------------------

    @staticmethod
    def array(t):
        if getattr(t, "_is_zerotensor", bool)():  # PyTorch's zeros without memory
            return np.zeros(tuple(t.shape), str(t.dtype).split(".")[-1])
        return np.array(t.detach().numpy())

    def look(self, n, tensors):
        for k, t in tensors.items():
            if self.is_tensor(t) and k not in self.given:
                self.see(n, k, t)

    def see(self, n, k, t):
        try:
            grad_fn = t.grad_fn
        except RuntimeError as error:  # a view of several that was overtaken by a change
            self.trace.append((n, k, "error", ("RuntimeError", str(error))))
            return
        name = None if grad_fn is None else type(grad_fn).__name__
        flags = [
            str(t.dtype).split(".")[-1], list(t.shape), self.version(t, k in self.loose and k),
            t.requires_grad, t.is_leaf,
            UNNAMED if name and k in self.unnamed else name,
            0 if k in self.transformed else t.output_nr,
        ]  # fmt: skip
        self.trace.append((n, k, "flags", flags))
        self.trace.append((n, k, "values", self.array(t)))
        if t.requires_grad and (grad_fn is None or t.retains_grad):
            g = t.grad
            if grad_fn is not None:
                self.trace.append((n, k + ".retains_grad", "flag", t.retains_grad))
            if g is None:
                self.trace.append((n, k + ".grad", "flag", None))
            else:
                kind = str(g.dtype).split(".")[-1]
                # Added to in place, or another one; versions are shared with whatever in PyTorch.
                same = self.first.get(k) is g
                self.first[k] = g
                flags = [kind, list(g.shape), same, g.requires_grad]
                self.trace.append((n, k + ".grad", "flags", flags))
                self.trace.append((n, k + ".grad", "values", self.array(g)))


def run(program, torch):
    """The trace of a program in a module."""
    return Run(program, torch).run()


# --- comparing -----------------------------------------------------------------------------------

_WEIGHTS = np.modf(np.arange(1, 4097) * math.sqrt(2))[0] + 0.5


def digest(a):
    """Numbers that tell an array from others, up to rounding: a weighted sum, one of sizes."""
    a = np.asarray(a, float).ravel()
    if not np.isfinite(a).all():
        kinds = np.isnan(a) + 2 * (a == np.inf) + 3 * (a == -np.inf)
        return ["not finite", *kinds.tolist()]
    weights = _WEIGHTS[: a.size]
    size = float(np.abs(a).max()) if a.size else 0.0
    return [float(a @ weights), float(np.abs(a) @ weights), size]


def digested(trace):
    """The trace with digests for arrays: small enough to be kept in a file."""
    out = []
    for n, k, kind, payload in trace:
        if kind == "values":
            payload = digest(payload)
        elif kind == "hook" and isinstance(payload[1], np.ndarray):
            payload = (payload[0], digest(payload[1]))
        elif kind == "error":
            payload = (payload[0], [p for p in PHRASES if p in payload[1]])
        out.append((n, k, kind, payload))
    return out


def tolerance(program):
    """The allowed error relative to the largest number seen so far.

    Programs have some ten steps in a row, each of which loses a few units of rounding, a backward
    pass as many, and cancellation some digits: 2**16 units of double precision are 11 digits, 2**9
    of single precision 4.
    """
    single = any("float" in step["call"] or "float32" in str(step) for step in program["steps"])
    return 2.0**9 * 2.0**-24 if single else 2.0**16 * 2.0**-53


# What a mask may come from, and where cotangents are first seen.
SELECTING = (
    "where", "max", "min", "clamp", "relu", "masked", "[]", "gather", "index", "sort", "median",
    "norm", "amax", "amin", "prod", "diag",
    "func.", "functional.",  # the Jacobian of an elementwise function is diagonal
)  # fmt: skip
DERIVING = (*BACKWARD, "func.", "functional.")


def behind(program):
    """The step from which on ``data`` is changed of what our own formulas may have saved."""
    own = data = False
    for n, step in enumerate(program["steps"]):
        call = step["call"]
        own |= "create_graph" in step.get("kw", ()) or "func" in call or "prod" in call
        data |= call == "get.data"
        if own and data and (call.endswith("_") or call.startswith(("operator.i", "[]="))):
            return n
    return math.inf


def masks(program, n):
    """Whether the program selects and differentiates up to step n: then rule 53 may show."""
    calls = [step["call"].replace("softmax", "") for step in program["steps"][: n + 1]]
    return any(s in c for c in calls for s in SELECTING) and any(
        c.startswith(DERIVING) for c in calls
    )


def difference(program, found, expected):
    """Where two traces differ first, as a text; None if they do not.  Digested or not, alike."""
    comparison = Comparison(program)
    for x, y, after in zip(found, expected, [*expected[1:], None], strict=False):
        wrong = comparison.wrong(x, y, after)
        if wrong == EXCUSED:
            return None
        if wrong is not None:
            return f"step {y[0]}: {brief(x)}, expected {brief(y)}" + (wrong and f" ({wrong})")
    if len(found) != len(expected):
        longer = max(found, expected, key=len)
        first = longer[min(len(found), len(expected))]
        return f"{len(found)} entries, expected {len(expected)}: {brief(first)}"
    return None


# A difference with a reason: what comes after it has nothing in common.
EXCUSED = "excused"


class Comparison:
    """Two traces of a program, entry by entry; what the program does may excuse a difference."""

    def __init__(self, program):
        self.program, self.allowed = program, tolerance(program)
        self.scale, self.departed, self.failed = 1.0, False, None
        text = str(program["steps"])
        # What is saved in another precision is a copy here, made by a node of its own.
        self.mixed = "float" in text.replace("float64", "")
        # Products of vectors and matrices are several operations in PyTorch.
        self.products = "torch.matmul" in text or "torch.outer" in text
        # What was saved of a constant stays one, also if it requires gradients after that.
        self.late = ".requires_grad_" in text
        # The formulas of recorded passes, and of transforms, which are one node, are our own.
        recording = "create_graph" in text
        own = recording or "'func." in text or "'functional." in text
        self.unsaving = own or self.mixed or ("'inputs'" in text and self.products)
        # Which of its values a product uses is seen by hooks.
        self.formulas = "prod" in text and recording
        self.factored = recording and "torch.linalg." in text
        self.behind = behind(program)
        # Results have another order in memory; then flattening copies here or there.  Recorded
        # gradients of sums are expanded in PyTorch, and written out here.
        self.orders = any(f in text for f in ("flatten", "reshape", "contiguous")) and (
            recording
            or any(f in text for f in ("'.t'", ".transpose", ".permute", "torch.linalg.", "'func"))
        )
        # What they save is not all that is saved here: writes through ``data`` reach it, or not.
        self.parted = "get.data" in text and ("F.logsigmoid" in text or "torch.linalg." in text)
        # What was detached has views of its own: a change of the memory does not renew those here.
        self.apart = "detach" in text
        # Gradients by a tensor and by a view of all of it are one tensor here, with its hooks.
        several = [
            step.get("out", ())
            for step in program["steps"]
            if step["call"] == "torch.autograd.grad"
        ]
        gradients = {f"${k}" for out in several for k in out if len(out) > 1}
        self.one = [
            step["args"][1]
            for step in program["steps"]
            if step["call"].startswith("hook.") and step["args"][0] in gradients
        ]
        # Which elements before a 0 meet what comes behind it is structure there, and 0 * nan here.
        self.cumulated = "cumprod" in text
        self.recording = recording
        self.shapes = {}

    def wrong(self, x, y, after=None):
        """What is wrong with an entry beside the expected one: None, EXCUSED, or a text.

        ``after`` is the one that follows the expected one.
        """
        same = tuple(x[:3]) == tuple(y[:3])
        own_hooks = self.formulas or self.factored or self.orders
        if y[2] == "flags" and len(y[3]) == 7:
            self.shapes[y[1]] = y[3][1]
        if (
            (own_hooks and "hook" in (x[2], y[2]) and not same)
            or (y[2] == "hook" and y[3][1] is None and x[2] != "hook")  # of a gradient that is none
            or departs(x, y, self.late)
            or (not self.program["watch"] and unseen(x, y))
            or (unlike_saved(x, y) and (self.unsaving or self.trivial(y[0])))
            or (unsaved(x) and unsaved(y) and x[3] != y[3])  # which of two is refused first
            or (self.recording and self.unreached(x, y, after))
            or (
                multiple(y) and x[2] != "error" and (self.apart or self.mixed or self.trivial(y[0]))
            )
        ):
            return EXCUSED
        if not same:
            if self.reached(y) and x[1] == y[1]:
                return EXCUSED
            # What is a copy on one side is another tensor.
            return EXCUSED if self.orders and x[2] == y[2] == "flags" else ""
        kind, a, b = x[2], x[3], y[3]
        if kind == "hook":
            return self.hook(a, b, y[0])
        if kind == "values":
            wrong = self.values(a, b, y[0])
            return EXCUSED if wrong and self.reached(y) else wrong
        if kind == "error":
            if self.products and all("by a hook" in str(e[1]) for e in (a, b)):
                return EXCUSED  # which leaf comes first
            self.failed = y[0]
            if same_error(a, b):
                return None
            return EXCUSED if self.orders else ""  # of what is a copy on one side
        if a == b or (kind == "flags" and same_flags(a, b)):
            return None
        if y[1] == "results" and (self.factored or self.formulas):
            return EXCUSED  # on what a recorded derivative depends: there, on the result itself
        return EXCUSED if self.orders and kind == "flags" and a[:2] == b[:2] else ""

    def unreached(self, x, y, after):
        """Whether a gradient was not made, here or, if it is 0, there."""
        if not str(y[1]).endswith(".grad") or x[2] == y[2]:
            return False
        follows = after is not None and after[1:3] == (y[1], "values")
        size = (
            np.abs(after[3]).max(initial=0)
            if follows and isinstance(after[3], np.ndarray)
            else math.inf
        )
        return y[3] is None or (x[3] is None and size <= self.allowed * self.scale)

    def reached(self, y):
        """Whether this is a gradient of a pass that failed: which leaves were reached differs."""
        return str(y[1]).endswith(".grad") and y[0] == self.failed

    def by_factor(self, n):
        """Whether step n takes a recorded derivative by the result of a factorisation, or product.

        That derivative is written with the result in PyTorch, and with the operand here.
        """
        steps = self.program["steps"]
        if not (self.factored or self.formulas) or n >= len(steps):
            return False
        by = str(steps[n]["args"][1:])
        made = [s for s in steps[:n] if "torch.linalg." in s["call"] or "prod" in s["call"]]
        return any(f"'${k}'" in by for step in made for k in step.get("out", ()))

    def trivial(self, n):
        """Whether something before step n reduces an axis of length 1: what it saves differs."""
        for step in self.program["steps"][:n]:
            if step["call"] in (".softmax", ".log_softmax"):
                if 1 in self.shapes.get(step["args"][0][1:], ()):
                    return True
            elif step["call"] in (".prod", ".amax", ".amin", ".cumprod"):
                shape = self.shapes.get(step["args"][0][1:], ())
                axis = [*step["args"][1:], step.get("kw", {}).get("dim")][0]
                if (math.prod(shape) if axis is None else shape[axis]) == 1:
                    return True
        return False

    def hook(self, a, b, n):
        """The same of calls of hooks: (label, what it saw)."""
        if a[0] != b[0]:
            return EXCUSED if self.mixed or self.products else ""
        if numbers(a[1]) != numbers(b[1]):
            return ""
        if not numbers(b[1]):
            return None if a[1] == b[1] else ""
        wrong = self.values(a[1], b[1], n)
        ours = self.formulas or self.factored or self.parted or a[0] in self.one
        return EXCUSED if wrong and ours else wrong

    def values(self, a, b, n):
        """The same of arrays or their digests."""
        verdict, self.scale = alike(a, b, self.allowed, self.scale)
        if verdict == "departed" and masks(self.program, n):
            self.departed = True  # a zero that holds below a mask (rule 53); the rest must agree
            return None
        if verdict == "other values" and (self.departed or tied(self.program, n)):
            return EXCUSED  # masks of what is nan there; see ``selection_order``
        if verdict and (n > self.behind or self.parted or self.by_factor(n)):
            return EXCUSED
        if verdict == "not finite" and self.cumulated:
            return EXCUSED
        return verdict or None


ORDERING = (".max", ".min", ".sort", ".cummax", ".median", ".topk")


def tied(program, n):
    """Whether other values mean equal numbers, or numbers that differ by a rounding.

    The numbers of an ordering are compared before its indices; comparisons of what a factorisation
    made of, say, a matrix and itself are about its roundings, and so are those of the derivative of
    a sum that is 1.
    """
    steps = program["steps"]
    if n >= len(steps):
        return False
    rounded = any(f in step["call"] for step in steps[:n] for f in ("torch.linalg.", "softmax"))
    return steps[n]["call"] in ORDERING or (rounded and steps[n]["call"] in COMPARISONS)


def departs(x, y, late):
    """Whether two entries show a decision of ours, after which traces have nothing in common.

    Tensors that were saved and then detached in place are not tracked here; gradients that PyTorch
    knows to be 0 cannot be added to there, and what it calls a bug of its own is one (changing in
    place a later result of a custom Function that retains its gradient).  Gradients of masked
    operations are recorded here, with derivatives that are 0, where PyTorch has constants; and one
    that is the given one is another tensor here.  What was saved of a constant stays one, also if
    it is made to require gradients after that (``late``).
    """
    if y[2] == "error" and any(
        p in str(y[3][1]) for p in ("detached in-place", "ZeroTensor", "INTERNAL ASSERT")
    ):
        return True
    if tuple(x[:3]) != tuple(y[:3]) or x[2] != "flags" or x[3] == y[3]:
        return False
    if len(x[3]) == 4:
        return x[3][:3] == y[3][:3] and x[3][3] != y[3][3] and (x[3][3] or late)
    if len(x[3]) == 7 and 0 in x[3][1] and y[3][5] == UNNAMED:
        return True
    if y[3][5] == UNNAMED and x[3][:3] == y[3][:3] and x[3][3:6] == [True, True, None]:
        return True
    if x[3][5] == UNNAMED and x[3][:3] == y[3][:3]:
        return y[3][3:6] in ([False, True, None], [True, True, None])
    return False


def unseen(x, y):
    """Whether PyTorch takes a view for what it was before its memory was changed, or the other way
    round; it looks again when it is asked for the history, as in the programs that are watched.
    """
    texts = [str(e[3][1]) if e[2] == "error" else "" for e in (x, y)]
    return ("a leaf Variable" in texts[1] and not texts[0]) or (
        "returns multiple views" in texts[0] and not texts[1]
    )


def multiple(entry):
    """Whether an entry is the refusal of an output of several views."""
    return entry[2] == "error" and "returns multiple views" in str(entry[3][1])


def unlike_saved(x, y):
    """Whether a node misses what it saved in one run, and not, or not so, in the other."""
    if not (unsaved(x) or unsaved(y)):
        return False
    return not (unsaved(x) and unsaved(y) and same_error(x[3], y[3]))


def unsaved(entry):
    """Whether a node misses what it saved: those of recorded backward passes save what they need,
    which is up to their formulas.
    """
    said = str(entry[3][1]) if entry[2] == "error" else ""
    return "modified by an inplace" in said or "second time" in said


def numbers(a):
    """Whether this is an array, or the digest of one."""
    return isinstance(a, np.ndarray) or (
        isinstance(a, list) and bool(a) and (a[0] == "not finite" or isinstance(a[0], float))
    )


def same_flags(a, b):
    if len(a) == len(b) == 7 and None in (a[2], b[2]):  # versions of shared memory
        a, b = ([*flags[:2], None, *flags[3:]] for flags in (a, b))
        if a == b:
            return True
    if len(a) == 7 and a[5] is None and b[5] == UNNAMED:
        return a[:3] == b[:3]
    if len(a) == 4:  # a derivative that is 0 may be recorded as such, or not at all
        return a[:3] == b[:3] and b[3] and not a[3]
    if len(a) != 7 or a[:5] + a[6:] != b[:5] + b[6:]:
        return False
    # What is written in place in another precision is converted by a node of its own.
    return a[5] in ALIASES.get(b[5], ()) or a[5] == "ToCopyBackward0"


def same_error(a, b):
    wanted = [p for p in PHRASES if p in b[1]] if isinstance(b[1], str) else b[1]
    if "returns multiple views" in wanted:  # PyTorch says so before or after what else is wrong
        return True
    return a[0] == b[0] and all(p in a[1] for p in wanted)


def alike(a, b, allowed, scale):
    """What is wrong with ``a`` beside ``b``, and the largest number so far.

    ``departed`` if they agree but for places where ``b`` is nan and ``a`` finite.
    """
    if isinstance(b, list):  # digests
        a = digest(a) if isinstance(a, np.ndarray) else a
        if b[0] == "not finite" or a[0] == "not finite":
            return _unlike(a, b), scale
        scale = max(scale, b[2])
        a, b = np.array(a), np.array(b)
        allowed = allowed * max(1.0, b[1] / max(b[2], 1.0))
    if a.shape != b.shape:
        return "another shape", scale
    if a.dtype.kind != "f":
        return ("" if np.array_equal(a, b) else "other values"), scale
    held = np.isnan(b) & np.isfinite(a)
    fb = np.isfinite(b)
    rest = ~fb & ~held
    if not np.array_equal(a[rest], b[rest], equal_nan=True) or not np.isfinite(a[fb]).all():
        return "not finite", scale
    a, b = a[fb], b[fb]
    if b.size:
        scale = max(scale, float(np.abs(b).max()))
        error = float(np.abs(a - b).max())
        if error > allowed * scale:
            return f"error {error:.3g}", scale
    return ("departed" if held.any() else ""), scale


def _unlike(a, b):
    """What is wrong with a digest beside another, one of which is of numbers not all finite."""
    if b[0] != "not finite":
        return "not finite"
    kinds = a[1:] if a[0] == "not finite" else [0] * len(b[1:])
    if len(kinds) != len(b) - 1 or any(
        m != n and (m, n) != (0, 1) for m, n in zip(kinds, b[1:], strict=True)
    ):
        return "not finite"
    return "" if kinds == b[1:] else "departed"


def brief(entry):
    """An entry as a text."""
    _, k, kind, payload = entry
    if isinstance(payload, np.ndarray):
        payload = payload.tolist()
    return f"{k} {kind} {payload!r}"


# --- printing and shrinking ----------------------------------------------------------------------


def script(program):
    """The program as Python's text."""
    lines = []
    for n, step in enumerate(program["steps"]):
        line = line_of(step)
        mode = step.get("mode")
        if mode:
            line = f"with torch.{mode}(): {line}"
        lines.append(f"{line}  # {n}")
    return "\n".join(lines)


HOOKING = {
    "tensor": "register_hook", "accumulated": "register_post_accumulate_grad_hook",
    "before": "grad_fn.register_prehook", "after": "grad_fn.register_hook",
}  # fmt: skip


def line_of(step):
    args = [literal(a) for a in step.get("args", ())]
    kwargs = [f"{k}={literal(v)}" for k, v in step.get("kw", {}).items()]
    call, out = step["call"], ", ".join(step.get("out", ()))
    if len(step.get("out", ())) == 1 and call in BACKWARD:
        out += ","
    head = f"{out} = " if out else ""
    kind, _, rest = call.partition(".")
    match kind:
        case "[]":
            return f"{head}{args[0]}[{args[1]}]"
        case "[]=":
            return f"{args[0]}[{args[1]}] = {args[2]}"
        case "get":
            return f"{head}{args[0]}.{rest}"
        case "set":
            return f"{args[0]}.{rest} = {args[1]}"
        case "hook":
            return f"{head}{args[0]}.{HOOKING[rest]}({', '.join(args[1:])})"
        case "del":
            return f"del {args[0]}"
        case "" | "remove" | "backward":
            return f"{head}{args[0]}.{rest or kind}({', '.join(args[1:] + kwargs)})"
    call = "torch.tensor" if call == "leaf" else call
    return f"{head}{call}({', '.join(args + kwargs)})"


def literal(a):
    match a:
        case str() if a.startswith("$"):
            return a[1:]
        case str() if a.startswith("torch."):
            return a
        case {"index": places}:
            return ", ".join(index_text(i) for i in places)
        case list():
            return "[" + ", ".join(literal(x) for x in a) + "]"
    return repr(a)


def index_text(i):
    if isinstance(i, list):
        return ":".join("" if x is None else str(x) for x in i)
    return "..." if i == "..." else literal(i)


def shrunk(program, fails, rounds=6):
    """A program with fewer steps that still fails: ``fails`` says whether a program does."""
    steps = program["steps"]
    size = max(1, len(steps) // 2)
    for _ in range(rounds * 4):
        before = len(steps)
        start = len(steps)
        while start > 0:
            start = max(0, start - size)
            fewer = steps[:start] + steps[start + size :]
            if fewer and fails({**program, "steps": fewer}):
                steps = fewer
        if size == 1 and len(steps) == before:
            break
        size = max(1, size // 2)
    return {**program, "steps": steps}


# --- making --------------------------------------------------------------------------------------


class Nothing(Exception):
    """There is no register of the sort that a step needs: the step is left out."""


class Info:
    """What the generator knows of a register; tensors that share memory share ``memory``."""

    name = None  # set by the step that makes it

    def __init__(self, shape, kind="f8", memory=None, tracked=False, leaf=False):
        self.shape, self.kind, self.tracked, self.leaf = tuple(shape), kind, tracked, leaf
        self.detached = self.view = False
        self.memory = memory if memory is not None else Memory()


class Memory:
    """Bounds of the numbers in some memory: programs should stay finite, and mostly legal."""

    def __init__(self, size=4.0, least=0.0, fixed=False):
        self.size, self.least = size, least
        # Gradients may share memory, with themselves or others, as it happens: no place to write.
        self.fixed = fixed
        self.several = False  # there are views of it that may not be changed


# Pointwise functions: (call, bound of the result by that of the operand, its least value).
UNARY = {
    "torch.neg": lambda m: (m.size, 0.0),
    "torch.sin": lambda m: (1.0, 0.0),
    "torch.cos": lambda m: (1.0, 0.0),
    "torch.tanh": lambda m: (1.0, 0.0),
    "torch.sigmoid": lambda m: (1.0, math.exp(-m.size) / 2 if m.size < 4 else 0.0),
    "torch.abs": lambda m: (m.size, m.least),
    "torch.relu": lambda m: (m.size, 0.0),
    "torch.square": lambda m: (m.size**2, m.least**2),
    "torch.erf": lambda m: (1.0, 0.0),
    "torch.atan": lambda m: (2.0, 0.0),
    "torch.floor": lambda m: (m.size + 1, 0.0),
    "torch.sign": lambda m: (1.0, 0.0),
    "torch.exp": lambda m: (math.exp(min(m.size, 50)), math.exp(-min(m.size, 50))),
    "torch.expm1": lambda m: (math.exp(min(m.size, 50)), 0.0),
    "torch.clone": lambda m: (m.size, m.least),
    "F.softplus": lambda m: (m.size + 1, 0.0),
    "F.leaky_relu": lambda m: (m.size, 0.0),
    "F.elu": lambda m: (m.size, 0.0),
    "F.silu": lambda m: (m.size, 0.0),
    "F.logsigmoid": lambda m: (m.size + 1, 0.0),
}
POSITIVE = {
    "torch.log": lambda m: (abs(math.log(m.least)) + abs(math.log(m.size + 1)), 0.0),
    "torch.sqrt": lambda m: (math.sqrt(m.size) + 1, math.sqrt(m.least)),
    "torch.rsqrt": lambda m: (1 / math.sqrt(m.least), 1 / math.sqrt(m.size)),
    "torch.reciprocal": lambda m: (1 / m.least, 1 / m.size),
    "torch.log1p": lambda m: (m.size, 0.0),
}
BINARY = {
    "torch.add": lambda a, b: (a.size + b.size, a.least + b.least),
    "torch.sub": lambda a, b: (a.size + b.size, 0.0),
    "torch.mul": lambda a, b: (a.size * b.size, a.least * b.least),
    "operator.add": lambda a, b: (a.size + b.size, a.least + b.least),
    "operator.sub": lambda a, b: (a.size + b.size, 0.0),
    "operator.mul": lambda a, b: (a.size * b.size, a.least * b.least),
    "torch.maximum": lambda a, b: (max(a.size, b.size), 0.0),
    "torch.minimum": lambda a, b: (max(a.size, b.size), 0.0),
    "torch.logaddexp": lambda a, b: (max(a.size, b.size) + 1, 0.0),
    "torch.hypot": lambda a, b: (a.size + b.size, max(a.least, b.least)),
}
STEPS = ("torch.floor", "torch.sign")
COMPARISONS = ("torch.gt", "torch.le", "operator.lt", "operator.ge")
IN_PLACE_UNARY = {
    ".neg_": "torch.neg", ".tanh_": "torch.tanh", ".sigmoid_": "torch.sigmoid",
    ".exp_": "torch.exp", ".relu_": "torch.relu", ".square_": "torch.square", ".sin_": "torch.sin",
    ".abs_": "torch.abs", ".floor_": "torch.floor", ".expm1_": "torch.expm1",
    ".cos_": "torch.cos",
}  # fmt: skip
IN_PLACE_BINARY = {
    ".add_": "torch.add", ".sub_": "torch.sub", ".mul_": "torch.mul",
    "operator.iadd": "torch.add", "operator.imul": "torch.mul", "operator.isub": "torch.sub",
}  # fmt: skip
LIMIT = 200.0
SHAPES = (
    (),
    (1,),
    (2,),
    (3,),
    (2, 3),
    (3, 2),
    (3, 3),
    (1, 3),
    (2, 1),
    (2, 2, 3),
    (3, 1, 2),
    (0,),
    (2, 0),
)
USUAL = ((), (3,), (2, 3), (3, 3), (2, 3), (3,), (3, 2), (2, 2, 3))
DTYPES = {"f8": "torch.float64", "f4": "torch.float32"}
REDUCTIONS = (
    ".sum", ".mean", ".sum", ".prod", ".amax", ".logsumexp", ".var", ".cumsum", ".softmax",
    ".log_softmax", ".amin", ".cumprod", ".norm", ".std",
)  # fmt: skip
RUNNING = (".cumsum", ".cumprod", ".softmax", ".log_softmax")
VIEWS = (
    "select", "narrow", "slice", "t", "permute", "reshape", "expand", "unsqueeze", "squeeze",
    "index", "diagonal", "flatten", "view_as", "T",
)  # fmt: skip
FILLING = (
    ".zero_", ".fill_", ".copy_", ".clamp_", ".masked_fill_", ".addcmul_", ".pow_", ".lerp_",
)  # fmt: skip
WITH_NUMBERS = ("operator.add", "operator.mul", "operator.sub", "operator.truediv", "operator.pow")
SELECTIONS = ("compare", "where", "clamp", "masked_fill", "maximum", "gather", "index")
HOOKS = (
    "hook.tensor",
    "hook.tensor",
    "hook.tensor",
    "hook.before",
    "hook.after",
    "hook.accumulated",
)
TRANSFORMS = (
    "func.grad", "func.jacrev", "func.vmap", "func.vmap.grad", "func.hessian", "func.jacfwd",
    "functional.jacobian", "functional.hessian",
)  # fmt: skip


def program(seed, length=None):
    """The random program of a seed."""
    return Maker(seed).made(length)


def replaced(shape, axis, *lengths):
    """The shape with other axes, or none, in place of one."""
    axis %= len(shape)
    return [*shape[:axis], *lengths, *shape[axis + 1 :]]


def reference(a):
    """An argument of a step as it is written down: ``$name`` for a register."""
    if isinstance(a, Info):
        return "$" + a.name
    if isinstance(a, dict):
        return {k: reference(x) for k, x in a.items()}
    return [reference(x) for x in a] if isinstance(a, list) else a


class Maker:
    """Makes one program."""

    def __init__(self, seed):
        self.rng = random.Random(f"program {seed}")
        self.known, self.steps, self.handles, self.hooked = {}, [], [], []
        self.optimizers = []
        self.names = iter(range(10_000))
        self.mode = None
        self.kinds = [
            (self.unary, 12), (self.binary, 16), (self.positive, 3), (self.reduction, 8),
            (self.view, 13), (self.several_views, 3), (self.shaping, 5), (self.joining, 3),
            (self.in_place, 15), (self.set_item, 6), (self.selecting, 9), (self.product, 4),
            (self.ordering, 3), (self.detaching, 4), (self.flags, 3), (self.hooks, 10),
            (self.backward, 7), (self.grad, 6), (self.gradient, 3), (self.data, 2),
            (self.casting, 2), (self.forgetting, 1), (self.illegal, 1), (self.leaf, 2),
            (self.custom, 4), (self.transform, 2), (self.matrices, 2), (self.optimizing, 2),
        ]  # fmt: skip

    def made(self, length):
        rng = self.rng
        for _ in range(rng.randrange(2, 5)):
            self.leaf()
        makers, weights = zip(*self.kinds, strict=True)
        for _ in range(length or rng.randrange(4, 24)):
            self.mode = before = self.next_mode()
            maker = rng.choices(makers, weights)[0]
            if before is None and maker in (self.unary, self.binary) and rng.random() < 0.04:
                self.mode = "saved"
            with suppress(Nothing):
                maker()
            self.mode = before
        self.mode = None
        if rng.random() < 0.8:
            with suppress(Nothing):
                self.backward()
        return {"watch": rng.random() < 0.4, "steps": self.steps}

    def next_mode(self):
        r = self.rng.random()
        if self.mode is None:
            return "no_grad" if r < 0.05 else None
        return self.mode if r < 0.6 else None if r < 0.9 else "enable_grad"

    # Parts ---------------------------------------------------------------------------------------

    def put(self, call, args, outs=(), kw=None):
        """Add a step; its results as later steps may refer to them.

        ``outs`` are what is known of each, or words for what is not an operand of others.
        """
        step = {"call": call, "args": reference(list(args))}
        if kw:
            step["kw"] = reference(kw)
        if self.mode:
            step["mode"] = self.mode
        if outs:
            step["out"] = [f"x{next(self.names)}" for _ in outs]
            for name, info in zip(step["out"], outs, strict=True):
                if isinstance(info, Info):
                    info.name, self.known[name] = name, info
        self.steps.append(step)
        return ["$" + name for name in step.get("out", ())]

    def apply(self, call, args, shape, *bounds, kw=None, **about):
        """Add a step with one result, of operands among ``args``; what is known of the result."""
        made = self.result(shape, *(a for a in args if isinstance(a, Info)), bounds=bounds, **about)
        self.put(call, args, [made], kw)
        return made

    def perhaps(self, *, kind="f", dims=None, size=None, least=0.0, fits=None, tracked=None):
        """A register, recent ones rather; None if there is none of that sort."""
        found = [
            i
            for i in self.known.values()
            if i.kind.startswith(kind)
            and (dims is None or len(i.shape) in dims)
            and (size is None or i.memory.size <= size)
            and i.memory.least >= least
            and (fits is None or fits(i))
            and (tracked is None or i.tracked == tracked)
        ]
        weights = [1 + 2 * n / len(found) for n in range(len(found))]
        return self.rng.choices(found, weights)[0] if found else None

    def some(self, **wanted):
        """The same; without one the step is left out."""
        found = self.perhaps(**wanted)
        if found is None:
            raise Nothing
        return found

    def result(self, shape, *operands, bounds=(), kind=None, memory=None):
        """What is known of a result; ``bounds`` are those of a ``Memory``."""
        kinds = [i.kind for i in operands if i.kind.startswith("f")]
        tracked = any(i.tracked for i in operands) and self.mode != "no_grad"
        kind = kind or ("f8" if "f8" in kinds or not kinds else "f4")
        made = Info(shape, kind, memory or Memory(*bounds), tracked)
        made.view = memory is not None
        made.detached = made.view and any(i.detached for i in operands)
        return made

    def number(self):
        return self.rng.choice((-2.0, -1.5, -1.0, -0.5, 0.5, 1.0, 1.5, 2.0, 3.0))

    def values(self, shape, ints=None):
        if not shape:
            return self.rng.randrange(ints) if ints else self.rng.randrange(-256, 257) / 128
        return [self.values(shape[1:], ints) for _ in range(shape[0])]

    def leaf(self):
        rng = self.rng
        shape = rng.choice(USUAL if rng.random() < 0.9 else SHAPES)
        wanted = rng.random() < 0.75
        kind = "f4" if rng.random() < 0.06 else "f8"
        kw = {"dtype": DTYPES[kind]} | ({"requires_grad": True} if wanted else {})
        self.put("leaf", [self.values(shape)], [Info(shape, kind, Memory(2.0), wanted, wanted)], kw)

    def axis(self, dims):
        axis = self.rng.randrange(dims)
        return axis - dims if self.rng.random() < 0.4 else axis

    # Steps ---------------------------------------------------------------------------------------

    def unary(self):
        x = self.some()
        call = self.rng.choice(sorted(UNARY))
        if call in STEPS and not x.leaf:
            call = "torch.cos"  # at a step, rounding errors would decide
        size, least = UNARY[call](x.memory)
        if size > LIMIT:
            call, size, least = "torch.tanh", 1.0, 0.0
        if self.rng.random() < 0.3 and call.startswith("torch."):
            call = call[5:]
        self.apply(call, [x], x.shape, size, least)

    def positive(self):
        x = self.perhaps(least=1e-3)
        if x is None:
            x = self.some(size=14)
            square = self.apply("torch.square", [x], x.shape, x.memory.size**2)
            self.apply("operator.add", [square, 0.5], x.shape, x.memory.size**2 + 1, 0.5)
            return
        call = self.rng.choice(sorted(POSITIVE))
        size, least = POSITIVE[call](x.memory)
        if size <= LIMIT:
            self.apply(call, [x], x.shape, size, least)

    def beside(self, x):
        """A register that may stand beside x, by broadcasting."""
        return self.some(fits=lambda i: broadcast(x.shape, i.shape) is not None)

    def binary(self):
        x, rng = self.some(), self.rng
        if rng.random() < 0.2:
            self.with_number(x)
            return
        y = self.beside(x)
        if y.memory.least > 1e-2 and rng.random() < 0.5:
            call, size, least = "torch.div", x.memory.size / y.memory.least, 0.0
            if rng.random() < 0.3:
                call, size = "torch.atan2", 4.0
        else:
            call = rng.choice(sorted(BINARY))
            size, least = BINARY[call](x.memory, y.memory)
        if size <= LIMIT:
            self.apply(call, [x, y], broadcast(x.shape, y.shape), size, least)

    def with_number(self, x):
        rng = self.rng
        call, c = rng.choice(WITH_NUMBERS), self.number()
        power = call == "operator.pow"
        size = x.memory.size**3 if power else (x.memory.size + 3.0) * 3.0
        if size > LIMIT:
            return
        c = rng.choice((2, 2.0, 3)) if power else c
        turned = not power and call != "operator.truediv" and rng.random() < 0.3
        self.apply(call, [c, x] if turned else [x, c], x.shape, size)

    def reduction(self):
        rng = self.rng
        x = self.some(fits=lambda i: 0 not in i.shape)
        m, n, dims = x.memory, max(1, math.prod(x.shape)), len(x.shape)
        call = rng.choice(REDUCTIONS)
        if not dims or (call in (".std", ".norm") and m.least < 1e-2):
            call = ".sum"
        beyond = n * math.log(max(1.0, m.size)) > math.log(LIMIT)
        product = math.inf if beyond else max(1.0, m.size) ** n
        sizes = {
            ".prod": product, ".cumprod": product, ".var": 4 * m.size**2, ".softmax": 1.0,
            ".log_softmax": 2 * m.size + 2,
        }  # fmt: skip
        size, spread = sizes.get(call, m.size * n + n), call in (".var", ".std")
        if size > LIMIT:
            return
        if call in RUNNING:
            axis = self.axis(dims)
            if "softmax" not in call or x.shape[axis] > 1:  # constants, which save nothing here
                self.apply(call, [x, axis], x.shape, size)
        elif call == ".logsumexp" or (dims and rng.random() < 0.6):
            axis, keep = self.axis(dims), rng.random() < 0.4
            if not spread or x.shape[axis] > 1:
                kw = {"dim": axis} | ({"keepdim": True} if keep else {})
                self.apply(call, [x], replaced(x.shape, axis, *[1] * keep), size, kw=kw)
        elif not spread or n > 1:
            self.apply(call, [x], (), size)

    def seen(self, **wanted):
        """A register to take a view of.

        Views that are taken under no_grad are leaves here, as all results; PyTorch says of them
        that they require gradients once their base does, and then computes none.
        """
        if self.mode == "no_grad":
            raise Nothing
        return self.some(**wanted)

    def view(self):
        x = self.seen()
        made = self.viewing(self.rng.choice(VIEWS), x, len(x.shape))
        if made:
            call, args, shape = made
            self.apply(call, [x, *args], shape, memory=x.memory, kind=x.kind)

    def viewing(self, kind, x, dims):
        """A view of some kind as call, arguments and shape; None if it does not fit the operand."""
        rng, n = self.rng, math.prod(x.shape)
        if kind in ("select", "narrow", "index", "slice"):
            return self.indexed(kind, x) if dims and n else None
        if kind in ("t", "permute"):
            return self.turned(kind, x.shape) if dims >= 2 else None
        if kind in ("reshape", "flatten"):
            shape = [-1] if n else [0]
            if n and n % 3 == 0 and rng.random() < 0.5:
                shape = [3, n // 3] if rng.random() < 0.5 else [n // 3, 3]
            if kind == "flatten":
                return ".flatten", [], [n]
            return ".reshape", [shape], [n if s == -1 else s for s in shape]
        if kind == "expand":
            shape = [rng.choice((2, 3)) if n == 1 else n for n in x.shape]
            shape = [2, *shape] if rng.random() < 0.4 else shape
            x.memory.fixed = True  # PyTorch fills it, and fails in the backward pass
            return ".expand", [shape], shape
        if kind == "unsqueeze":
            axis = rng.randrange(dims + 1)
            return ".unsqueeze", [axis], [*x.shape[:axis], 1, *x.shape[axis:]]
        if kind in ("T", "diagonal"):
            shape = x.shape[::-1] if kind == "T" else [min(x.shape, default=0)]
            return (".t" if kind == "T" else ".diagonal", [], shape) if dims == 2 else None
        if kind == "squeeze":
            return ".squeeze", [], [n for n in x.shape if n != 1]
        return ".view_as", [x], x.shape

    def turned(self, kind, shape):
        axes = list(range(len(shape)))
        self.rng.shuffle(axes)
        if kind == "permute":
            return ".permute", [axes], [shape[a] for a in axes]
        a, b = self.rng.sample(range(len(shape)), 2)
        order = [{a: b, b: a}.get(k, k) for k in range(len(shape))]
        return ".transpose", [a, b], [shape[k] for k in order]

    def indexed(self, kind, x):
        rng = self.rng
        axis = rng.randrange(len(x.shape))
        n = x.shape[axis]
        k = rng.randrange(n)
        if kind == "select":
            return ".select", [axis, k], replaced(x.shape, axis)
        if kind == "narrow":
            m = rng.randrange(1, n - k + 1)
            return ".narrow", [axis, k, m], replaced(x.shape, axis, m)
        index, shape = self.index(x.shape)
        return "[]", [{"index": index}], shape

    def index(self, shape):
        """A basic index, and the shape of what it picks."""
        rng = self.rng
        index, out = [], []
        for n in shape[: rng.randrange(1, len(shape) + 1)]:
            if rng.random() < 0.4 and n:
                index.append(rng.randrange(-n, n))
            else:
                part = rng.choice(([None, None], [1, None], [None, -1], [None, None, 2], [0, 2]))
                index.append(part)
                out.append(len(range(n)[slice(*part)]))
        done = len(index)
        if rng.random() < 0.1:
            index, out = [None, *index], [1, *out]
        if rng.random() < 0.1:
            index.append("...")
        return index, [*out, *shape[done:]]

    def several_views(self):
        x = self.seen(dims=(1, 2, 3), fits=lambda i: 0 not in i.shape and not i.memory.fixed)
        axis = self.rng.randrange(len(x.shape))
        n = x.shape[axis]
        call = self.rng.choice((".unbind", ".chunk", ".split"))
        if call == ".unbind":
            shapes, args = [replaced(x.shape, axis)] * n, [axis]
        else:
            each = -(-n // 2) if call == ".chunk" else 2
            shapes = [replaced(x.shape, axis, min(each, n - k)) for k in range(0, n, each)]
            args = [2, axis]
        x.memory.several = True
        made = [self.result(s, x, memory=x.memory, kind=x.kind) for s in shapes]
        self.put(call, [x, *args], made)

    def shaping(self):
        x = self.some(dims=(1, 2, 3))
        axis, dims = self.axis(len(x.shape)), len(x.shape)
        call = self.rng.choice(
            (".flip", ".roll", ".repeat", ".tril", ".triu", ".contiguous", ".trace")
        )
        args = {".flip": [[axis]], ".roll": [1, axis], ".repeat": [[2] + [1] * (dims - 1)]}
        if call in (".tril", ".triu", ".trace") and dims != 2:
            return
        shape, size = x.shape, x.memory.size
        if call == ".repeat":
            shape = (2 * shape[0], *shape[1:])
        elif call == ".trace":
            shape, size = (), 4 * size
        memory = x.memory if call == ".contiguous" else None
        self.apply(call, [x, *args.get(call, [])], shape, size, memory=memory, kind=x.kind)

    def joining(self):
        x = self.some(dims=(1, 2, 3))
        y = self.some(fits=lambda i: i.shape == x.shape)
        axis = self.rng.randrange(len(x.shape))
        if self.rng.random() < 0.5:
            call, shape = "torch.cat", replaced(x.shape, axis, 2 * x.shape[axis])
        else:
            call, shape = "torch.stack", [*x.shape[:axis], 2, *x.shape[axis:]]
        size = max(x.memory.size, y.memory.size)
        self.put(call, [[x, y], axis], [self.result(shape, x, y, bounds=(size,))])

    def target(self):
        """Something to be changed in place, for the most part what may be."""
        any_leaf = self.rng.random() < 0.12
        return self.some(
            fits=lambda i: (
                (any_leaf or not (i.leaf and i.tracked))
                and not i.memory.fixed
                and not (i.detached and (i.memory.several or self.viewed(i)))
            )
        )

    def in_place(self):
        x = self.target()
        m, r, least = x.memory, self.rng.random(), 0.0
        if r < 0.3:
            call, args = self.rng.choice(sorted(IN_PLACE_UNARY)), []
            if IN_PLACE_UNARY[call] in STEPS and not x.leaf:
                call = ".cos_"
            size, least = UNARY[IN_PLACE_UNARY[call]](m)
        else:
            call, args, size = self.augmented(x) if r < 0.7 else self.fill(x)
        if max(size, m.size) > LIMIT:
            return
        m.size, m.least = max(size, m.size), min(least, m.least)
        self.track(m, *args[:1])
        self.put(call, [x, *args])

    def track(self, memory, *written):
        """What shares the memory is tracked from now on, if what is written there is."""
        if self.mode != "no_grad" and any(isinstance(y, Info) and y.tracked for y in written):
            for info in self.known.values():
                info.tracked |= info.memory is memory

    def augmented(self, x):
        """Arithmetic in place: call, arguments, size of the values."""
        call = self.rng.choice(sorted(IN_PLACE_BINARY))
        y = self.perhaps(
            fits=lambda b: (
                (b is x or b.memory is not x.memory)
                and (broadcast(x.shape, b.shape) == x.shape or self.rng.random() < 0.02)
            )
        )
        if y is None or self.rng.random() < 0.3:
            return call, [self.number()], (x.memory.size + 3) * 3
        return call, [y], BINARY[IN_PLACE_BINARY[call]](x.memory, y.memory)[0]

    def fill(self, x):
        """In-place operations that are not arithmetic: call, arguments, size of the values."""
        call, value = self.rng.choice(FILLING), self.number()
        if call == ".copy_":
            y = self.other(x, x.shape)
            if y is not None:
                return call, [y], y.memory.size
            call = ".fill_"
        elif call == ".masked_fill_":
            mask = self.perhaps(kind="b", fits=lambda b: broadcast(x.shape, b.shape) == x.shape)
            if mask is not None:
                return call, [mask, value], 3.0
            call = ".clamp_"
        elif call in (".addcmul_", ".lerp_"):
            y, z = (self.other(x, x.shape, x.kind) for _ in range(2))
            if y is not None and z is not None:
                size = x.memory.size + y.memory.size * z.memory.size
                return call, [y, 0.25 if call == ".lerp_" else z], size
            call = ".zero_"
        return {
            ".clamp_": (call, [-1.0, 1.5], 1.5),
            ".pow_": (call, [2], x.memory.size**2),
            ".fill_": (call, [value], 3.0),
            ".zero_": (call, [], 0.0),
        }[call]

    def other(self, x, shape, kind="f"):
        """A register that broadcasts to a shape and does not share memory with x; or None."""
        return self.perhaps(
            kind=kind,
            fits=lambda b: b.memory is not x.memory and broadcast(shape, b.shape) == shape,
        )

    def set_item(self):
        rng = self.rng
        x = self.target()
        if not x.shape or 0 in x.shape:
            return
        masked = rng.random() < 0.25
        mask = self.perhaps(kind="b", fits=lambda b: b.shape == x.shape) if masked else None
        index, shape = ([mask], ()) if mask else self.index(x.shape)
        y = self.other(x, tuple(shape), x.kind if mask else "f")
        if y is None or rng.random() < 0.3:
            y, size = self.number(), 3.0
        else:
            size = y.memory.size
        self.track(x.memory, y)
        x.memory.size, x.memory.least = max(size, x.memory.size), 0.0
        self.put("[]=", [x, {"index": index}, y])

    def selecting(self):
        rng = self.rng
        x = self.some()
        y, size = self.beside(x), x.memory.size
        shape = broadcast(x.shape, y.shape)
        mask = self.perhaps(kind="b", fits=lambda b: broadcast(shape, b.shape) == shape)
        kind = rng.choice(SELECTIONS)
        if kind == "compare" or (mask is None and kind in ("where", "masked_fill")):
            other = y if rng.random() < 0.5 else 0.0
            made = Info(shape if other is y else x.shape, "b", Memory(1.0))
            self.put(rng.choice(COMPARISONS), [x, other], [made])
        elif kind == "where":
            self.apply("torch.where", [mask, x, y], shape, max(size, y.memory.size))
        elif kind == "clamp":
            kw = rng.choice(({"min": -0.5}, {"max": 0.5}, {"min": -0.5, "max": 1.0}))
            self.apply(".clamp", [x], x.shape, size, kw=kw)
        elif kind == "masked_fill" and broadcast(x.shape, mask.shape) == x.shape:
            self.apply(".masked_fill", [x, mask, 0.5], x.shape, size)
        elif kind in ("gather", "index") and x.shape and 0 not in x.shape:
            axis = rng.randrange(len(x.shape))
            places = replaced(x.shape, axis, 2) if kind == "gather" else [3]
            index = Info(places, "i", Memory(3.0))
            numbers = self.values(places, x.shape[axis])
            self.put("leaf", [numbers], [index], {"dtype": "torch.int64"})
            call, shape = ".gather", places
            if kind == "index":
                call, shape = ".index_select", replaced(x.shape, axis, 3)
            self.apply(call, [x, axis, index], shape, size)

    def product(self):
        x = self.some(dims=(1, 2), size=12)
        call = self.rng.choice(("torch.matmul", "torch.outer", "F.mse_loss"))
        fits = {
            "torch.matmul": lambda b: (
                b.kind == x.kind and len(b.shape) in (1, 2) and b.shape[0] == x.shape[-1]
            ),
            "torch.outer": lambda b: len(x.shape) == len(b.shape) == 1,
            "F.mse_loss": lambda b: b.shape == x.shape and 0 not in x.shape,
        }
        y = self.some(size=12, fits=fits[call])
        shapes = {
            "torch.matmul": (*x.shape[:-1], *y.shape[1:]), "torch.outer": (*x.shape, *y.shape),
            "F.mse_loss": (),
        }  # fmt: skip
        self.apply(call, [x, y], shapes[call], x.memory.size * y.memory.size * 3 + 50)

    def ordering(self):
        # Of few: which of more equal ones comes first is left open.  Of no views: the median of an
        # expanded tensor is wrong in PyTorch.
        x = self.some(
            dims=(1, 2),
            fits=lambda i: (
                self.alone(i) and not i.memory.fixed and 0 not in i.shape and max(i.shape) < 5
            ),
        )
        axis = self.axis(len(x.shape))
        call, shape, args = self.rng.choice(ORDERING), x.shape, [axis]
        if call in (".max", ".min", ".median"):
            shape = replaced(x.shape, axis)
        elif call == ".topk":
            shape, args = replaced(x.shape, axis, 1), [1, axis]
        values = self.result(shape, x, bounds=(x.memory.size,))
        self.put(call, [x, *args], [values, Info(shape, "i", Memory(3.0))])

    def detaching(self):
        x = self.some()
        r = self.rng.random()
        if r < 0.5:
            made = Info(x.shape, x.kind, x.memory)
            made.detached = True
            self.put(".detach", [x], [made])
        elif r < 0.8:
            self.apply(".clone", [x], x.shape, x.memory.size, kind=x.kind)
        elif self.alone(x) and not x.memory.fixed and not (x.leaf and x.tracked):
            self.put(".detach_", [x])

    def viewed(self, i):
        """Whether the memory has views; in PyTorch they notice a change of a detached one."""
        others = (j for j in self.known.values() if j is not i)
        return any(j.view and j.memory is i.memory for j in others)

    def alone(self, i):
        """Whether no other register shares the memory: there PyTorch's flags follow their base."""
        return not i.view and all(j is i or j.memory is not i.memory for j in self.known.values())

    def flags(self):
        x = self.some()
        retain = self.rng.random() < 0.5
        if not self.alone(x) or x.memory.fixed:
            return
        if retain:
            self.put(".retain_grad", [x])
        else:
            leaf = x.leaf and x.tracked  # its hooks are those of a leaf
            self.put(".requires_grad_", [x, leaf or self.rng.random() < 0.7])
            x.tracked = True

    def hooks(self):
        rng = self.rng
        if self.handles and rng.random() < 0.2:
            self.put("remove", [rng.choice(self.handles)])
            return
        # Writing through a view ends what was registered on it in PyTorch, where it goes on here.
        x = self.some(tracked=rng.random() < 0.95, fits=self.alone)
        kind = rng.choice(HOOKS)
        if kind == "hook.accumulated":
            x = self.perhaps(fits=lambda i: i.leaf and i.tracked) or x
        what = rng.choice(("scale", "look", "look", "scale", "zero"))
        what = "raise" if rng.random() < 0.03 else what
        self.hooked.append(x)
        self.handles += self.put(kind, [x, f"h{len(self.steps)}", what], ["handle"])

    def root(self, tracked=False):
        """Something to differentiate, rather the last made, and a gradient where it needs one."""
        rng = self.rng
        found = [
            i for i in self.known.values() if i.tracked and i.kind.startswith("f") and not i.leaf
        ]
        y = found[-1 - min(len(found) - 1, int(rng.expovariate(0.7)))] if found else self.perhaps()
        if rng.random() < 0.03:
            y = self.perhaps()
        if y is None:
            raise Nothing
        if rng.random() < 0.4:  # a loss of several parts, so that much of the program counts
            pool = found + [i for i in self.hooked if i.name in self.known] * 3
            for other in rng.sample(pool, min(len(pool), 2)):
                y = self.total(y, other)
        shape = y.shape
        if (math.prod(shape) == 1 and rng.random() < 0.7) or rng.random() < 0.02:
            return y, None
        if rng.random() < 0.02:
            shape = (*shape, 2)
        kw = {"dtype": DTYPES[y.kind]}
        if tracked and rng.random() < 0.2:
            kw["requires_grad"] = True
        # PyTorch may keep it as a gradient: nothing else is done with it.
        return y, self.put("leaf", [self.values(shape)], ["gradient"], kw)[0]

    def total(self, *parts):
        sums = [self.apply(".sum", [x], ()) for x in parts]
        size = min(LIMIT, sum(x.memory.size for x in sums))
        return self.apply("operator.add", sums, (), size)

    def options(self):
        retained = {"retain_graph": True} if self.rng.random() < 0.35 else {}
        return retained | ({"create_graph": True} if self.rng.random() < 0.3 else {})

    def backward(self):
        rng = self.rng
        kw = self.options()
        y, g = self.root("create_graph" in kw)
        if g is not None:
            kw["gradient"] = g
        if rng.random() < 0.12:
            inputs = [self.perhaps(tracked=True, fits=lambda i: i is not y) or y]
            if rng.random() < 0.1:
                inputs = [self.some()]
            elif rng.random() < 0.6:
                leaves = self.leaves()
                inputs = rng.sample(leaves, min(2, len(leaves))) or inputs
            kw["inputs"] = inputs
        self.put("backward", [y], kw=kw)

    def leaves(self):
        return [i for i in self.known.values() if i.leaf and i.tracked]

    def grad(self):
        rng = self.rng
        kw = self.options()
        if rng.random() < 0.6:
            kw["create_graph"] = True
        y, g = self.root("create_graph" in kw)
        if rng.random() < 0.8:
            kw["allow_unused"] = True
        if g is not None:
            kw["grad_outputs"] = g
        # In PyTorch, several gradients that are equal are one tensor: none is an input.
        drawn = [
            self.perhaps(
                tracked=True if rng.random() < 0.97 else None, fits=lambda i: not i.memory.fixed
            )
            for _ in range(rng.randrange(1, 3))
        ]
        # That of y would be the one that is given.
        inputs = [x for x in drawn if x is not None and x is not y]
        if not inputs:
            return
        made = [
            Info(x.shape, x.kind, Memory(LIMIT / 4, fixed=True), "create_graph" in kw)
            for x in inputs
        ]
        self.put("torch.autograd.grad", [y, inputs], made, kw)

    def gradient(self):
        """Something with a leaf's ``.grad``."""
        rng = self.rng
        x = self.some(fits=lambda i: i.leaf and i.tracked)
        r = rng.random()
        if r < 0.25:
            self.put("set.grad", [x, None])
        elif r < 0.35:
            dtype = "torch.float32" if rng.random() < 0.1 else "torch.float64"
            shape = x.shape if rng.random() < 0.9 else (5,)
            (g,) = self.put("leaf", [self.values(shape)], ["gradient"], {"dtype": dtype})
            self.put("set.grad", [x, g if rng.random() < 0.95 else x])
        else:
            made = Info(x.shape, x.kind, Memory(LIMIT / 4), rng.random() < 0.5)
            self.put("get.grad", [x], [made])

    def data(self):
        rng = self.rng
        x = self.some()
        if self.single():
            return  # what is saved in another precision is a copy here
        if rng.random() < 0.7:
            if x.memory.fixed or "F.logsigmoid" in str(self.steps):  # which saves a part of itself
                return
            y = Info(x.shape, x.kind, x.memory)
            self.put("get.data", [x], [y])
            if rng.random() < 0.7 and x.memory.size * 2 < LIMIT:
                x.memory.size *= 2
                self.put(".mul_", [y, rng.choice((0.5, 2.0, -1.0))])
            return
        y = self.some(fits=lambda b: b.shape == x.shape and b.kind == x.kind and not b.tracked)
        used = any(reference(x) in str(step["args"]) for step in self.steps)
        if not (x.memory.fixed or y.memory.fixed or used):
            x.memory = y.memory
            self.put("set.data", [x, y])

    def single(self):
        """Whether anything is in single precision."""
        return any(i.kind == "f4" for i in self.known.values())

    def casting(self):
        x = self.some()
        to = self.rng.choice(("f8", "f8", "f8", "f4"))
        call = ".double" if to == "f8" else ".float"
        memory = x.memory if to == x.kind else None
        self.apply(call, [x], x.shape, x.memory.size, kind=to, memory=memory)

    def custom(self):
        """A custom Function."""
        call = self.rng.choice(("Square", "Sigmoid", "Pair", "Sparing", "Double_", "Both", "Once"))
        if call == "Double_":
            x = self.target()
            if x.memory.size * 2 <= LIMIT:
                x.memory.size *= 2
                self.put("custom.Double_", [x])
            return
        x = self.some(size=10)
        args, bound = [x], x.memory.size**3 + 1
        if call == "Pair":
            fit = self.some(size=10, fits=lambda b: b.shape == x.shape and b.kind == x.kind)
            args, bound = [x, fit], 120.0
        if bound > LIMIT:
            return
        count = 2 if call in ("Pair", "Sparing", "Both") else 1
        made = [self.result(x.shape, *args, bounds=(bound,)) for _ in range(count)]
        made[-1].tracked &= call != "Both"
        self.put("custom." + call, args, made)

    def transform(self):
        """A functional transform of a small function."""
        rng = self.rng
        x = self.some(size=4, fits=lambda i: 0 not in i.shape and math.prod(i.shape) < 10)
        call = rng.choice(TRANSFORMS)
        if "vmap" in call and not x.shape:
            call = "func.grad"
        # PyTorch's forward mode fails on expanded operands, and takes numbers for float64.
        if x.memory.fixed or x.kind != "f8" or self.single():
            call = {"func.hessian": "func.grad", "func.jacfwd": "func.jacrev"}.get(call, call)
        scalar = call.endswith(("grad", "hessian"))
        name = rng.choice(sorted(SCALARS if scalar else FIELDS))
        mapped = 1 if call == "func.vmap" else 0  # so many axes stay what they are
        inner = x.shape[mapped:]
        rows = (*x.shape[:mapped], *(inner if name != "flat" else (math.prod(inner),)))
        shape = x.shape if call.endswith("grad") else rows if mapped else (*rows, *x.shape)
        made = self.result(shape, x, memory=Memory(LIMIT / 4, fixed=True))
        made.view = True  # nothing is hooked to its node, which has several results here
        kw = {}
        if call.startswith("functional."):
            kw["create_graph"] = rng.random() < 0.6
            made.tracked &= kw["create_graph"]
        self.put(call, [name, x], [made], kw)

    def matrices(self):
        """Linear algebra on a matrix that is near a diagonal one."""
        x = self.some(fits=lambda i: i.shape == (3, 3) and i.kind == "f8")
        small = self.apply("operator.mul", [x, 0.25 / max(1.0, x.memory.size)], (3, 3), 0.25)
        numbers = [[3.0, 0.0, 0.0], [0.0, 5.0, 0.0], [0.0, 0.0, 7.0]]
        diagonal = Info((3, 3), memory=Memory(7.0))
        self.put("leaf", [numbers], [diagonal], {"dtype": "torch.float64"})
        m = self.apply("operator.add", [small, diagonal], (3, 3), 8.0)
        call = self.rng.choice(("inv", "solve", "det", "eigvalsh", "slogdet", "cholesky"))
        args, shape = [m], {"eigvalsh": (3,), "det": (), "slogdet": ()}.get(call, (3, 3))
        if call in ("eigvalsh", "cholesky"):
            transposed = self.apply(".t", [m], (3, 3), memory=m.memory)
            args = [self.apply("operator.add", [m, transposed], (3, 3), 16.0)]
        elif call == "solve":
            shapes = ((3,), (3, 3), (3, 2))
            args.append(self.some(size=10, fits=lambda i: i.kind == "f8" and i.shape in shapes))
            shape = args[1].shape
        made = [self.result(shape, *args, bounds=(150.0,))]
        if call == "slogdet":
            made = [Info((), "f8", Memory(1.0)), *made]
        self.put("torch.linalg." + call, args, made)

    def optimizing(self):
        """Steps of an optimizer on some leaves."""
        rng = self.rng
        if self.optimizers and rng.random() < 0.7:
            optimizer, memories = rng.choice(self.optimizers)
            if rng.random() < 0.3:
                kw = {"set_to_none": False} if rng.random() < 0.3 else None
                self.put(".zero_grad", [optimizer], kw=kw)
                return
            for memory in memories:
                memory.size, memory.least = LIMIT / 4, 0.0
            self.put(".step", [optimizer])
            return
        leaves = self.leaves()
        if not leaves:
            return
        chosen = rng.sample(leaves, min(2, len(leaves)))
        kw = {"lr": 0.0625}
        if rng.random() < 0.5:
            kw["momentum"] = 0.5
            if rng.random() < 0.4:
                kw["nesterov"] = True
        if rng.random() < 0.3:
            kw["weight_decay"] = 0.25
        (optimizer,) = self.put("torch.optim.SGD", [chosen], ["optimizer"], kw)
        self.optimizers.append((optimizer, [x.memory for x in chosen]))

    def forgetting(self):
        # A leaf is not held by the record here, so that its hooks go with it.
        x = self.some(fits=lambda i: not i.leaf)
        if len(self.known) > 3:
            del self.known[x.name]
            self.put("del", [x])

    def illegal(self):
        """What must be refused, or at least behave alike."""
        x, y = self.some(), self.some()
        kind = self.rng.choice(("shape", "axis", "resize", "wide", "item"))
        if kind == "shape" and broadcast(x.shape, y.shape) is None:
            self.put("torch.add", [x, y])
        elif kind == "axis":
            self.put(".sum", [x, 5])
        elif kind == "resize":
            self.put(".reshape", [x, [7, 5]])
        elif kind == "wide" and not x.memory.fixed and y.memory is not x.memory:
            self.put(".add_", [x, y])
        elif kind == "item" and x.shape:
            self.put("[]", [x, {"index": [9]}])


def broadcast(a, b):
    """The common shape, or None."""
    out = []
    for k in range(1, max(len(a), len(b)) + 1):
        m, n = (a[-k] if k <= len(a) else 1), (b[-k] if k <= len(b) else 1)
        if m != n and 1 not in (m, n):
            return None
        out.append(n if m == 1 else m)
    return tuple(out[::-1])


# --- many programs -------------------------------------------------------------------------------


def compare(seeds, found_in, expected_in, report=None, most=10):
    """Run the programs of the seeds in both modules.

    The number of programs run, and failures: (seed, shrunk program, difference).
    """
    count, failures = 0, []
    for seed in seeds:
        p = program(seed)
        wrong = differs(p, found_in, expected_in)
        count += 1
        if wrong:
            small = shrunk(p, lambda q: differs(q, found_in, expected_in) is not None)
            failures.append((seed, small, differs(small, found_in, expected_in)))
            if len(failures) >= most:
                break
        if report is not None:
            report(count, failures)
    return count, failures


def differs(p, found_in, expected_in):
    """The first difference between runs of a program in two modules, or None."""
    return difference(p, run(p, found_in), run(p, expected_in))


def told(seed, small, wrong):
    """A failure as a text: the script, and where the traces part."""
    return f"seed {seed}: {wrong}\n{script(small)}\n"
