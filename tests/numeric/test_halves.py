"""The half of Tensors: loaded whole on first use, in any thread and mode; never by Functions."""

from __future__ import annotations

import pickle
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import numeric as nm

ROOT = Path(nm.__file__).parent.parent
_CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
(_HALVES,) = [c for c in _CONTRACTS["contracts"] if c["name"].startswith("the half of Functions")]
# Prints the modules of Tensors that are loaded.
LOADED = f"""
import sys
found = [m for m in sys.modules if m.startswith({tuple(_HALVES["forbidden_modules"])!r})]
print(len(found))
"""
# Prints how many members Tensors have.
WHOLE = """
import numeric.eager.tensor
print(len(vars(numeric.eager.tensor.Tensor)))
"""


def printed(code: str, text: str = "") -> list[str]:
    """The words that a fresh interpreter prints."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code + text],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.fixture(scope="module")
def members() -> list[str]:
    """What WHOLE prints where the half is whole."""
    return printed("import numeric; numeric.Tensor", WHOLE)


FUNCTIONS = {
    "import": "import numeric",
    "names": "import numeric as nm; dir(nm); nm.__all__; nm.__doc__; hasattr(nm, 'tensorr')",
    "guess": """
import numeric as nm
try: nm.symbols
except AttributeError as error: assert "sd." in str(error)
""",
    "modes": "import numeric as nm\nwith nm.no_grad(): assert not nm.is_grad_enabled()",
    "lower": """
import pickle, numpy as np, symdiff as sd, numeric as nm
x = sd.symbol("x", 3)
F = nm.lower(sd.sum(sd.sin(x)), x)
F(np.ones(3)), F.value_and_grad(np.ones(3)), F.hessian(np.ones(3)), F.source
pickle.loads(pickle.dumps(F))(np.ones(3))
try: F("x")
except (TypeError, ValueError): pass
nm.sharded(sd.sum(sd.symbol("y", "n")), [sd.symbol("y", "n")], over="n")
nm.export.scipy(sd.sum(sd.sin(x)), x).jac(np.ones(3))
""",
    "check": """
import numpy as np, symdiff as sd, numeric as nm
x = sd.symbol("x")
assert nm.check.audit("x**3", gradient=lambda x: 3 * x**2, inputs={"x": ()}, budget=200)
nm.check.why(sd.sin(x), sd.sin(x)), nm.check.derivative(np.sin, 1.0)
nm.check.enclose(sd.exp(x), {x: (0, 1)})
""",
    "show": """
import symdiff as sd, numeric as nm
x, y = sd.symbols("x y")
nm.draw(x * y, values={x: 1, y: 2}), nm.draw([x * y, x]), nm.steps(x * y, x).text()
try: nm.draw([])
except (TypeError, ValueError): pass
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("text", FUNCTIONS.values(), ids=FUNCTIONS)
def test_functions_load_no_module_of_tensors(text):
    assert printed(text, LOADED) == ["0"]


USES = {
    "function": "import numeric as nm; assert nm.tensor([1.0, 2.0]).sum().item() == 3",
    "class": "import numeric as nm; assert not isinstance(1.0, nm.Tensor)",
    "dtype": "import numeric as nm; assert str(nm.float32) == 'torch.float32'",
    "star": "from numeric import *; assert sin(tensor(0.0)).item() == 0 and callable(lower)",
    "one": "from numeric import tensor, Tensor; assert isinstance(tensor(1.0), Tensor)",
    "functional": "import numeric.nn.functional as F, numeric as nm; F.relu(nm.ones(2))",
    "optim": "import numeric.optim",
    "func": "import numeric as nm; nm.vmap(lambda t: t * 2)",
    "linalg": "import numeric as nm; nm.linalg",
    "autograd": "import numeric as nm; nm.autograd.Function",
    "error": "import numeric as nm; nm.check.GradcheckError",
    "variable": "from numeric.autograd import Variable; Variable([2.0, 1.0]).sort()",
    "gradcheck": """
import numpy as np, symdiff as sd, numeric as nm
x = sd.symbol("x", 2)
assert nm.check.gradcheck(nm.lower(sd.sum(sd.sin(x) ** 2), x), np.array([0.5, 2.0]))
""",
    "gradchecks": """
import numpy as np, symdiff as sd, numeric as nm
from numeric.autograd.gradchecks import gradgradcheck
x = sd.symbol("x", 2)
assert gradgradcheck(nm.lower(sd.sum(sd.sin(x) ** 2), x), np.array([0.5, 2.0]))
""",
    "called": """
import numpy as np, symdiff as sd, numeric as nm
x = sd.symbol("x", 2)
F = nm.lower(sd.sum(x * x), x)
F(np.ones(2))
t = nm.tensor([1.0, 2.0], requires_grad=True)
F(t).backward()
assert t.grad.tolist() == [2.0, 4.0]
assert "FunctionBackward0" in str(nm.draw(F(t)))
""",
    "modes": """
import numpy as np, symdiff as sd, numeric as nm
with nm.inference_mode(), np.errstate(all="raise"), sd.kinks("raise"):
    nm.tensor(1.0)
x = nm.tensor(1.0, requires_grad=True)
(x * x).backward()
assert not x.is_inference()
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("text", USES.values(), ids=USES)
def test_the_first_use_loads_the_whole_half(text, members):
    assert printed(text + "\n", WHOLE) == members


@pytest.mark.slow
def test_a_pickled_tensor_is_whole_in_another_process(members):
    x = nm.tensor([2.0, 1.0], requires_grad=True)
    data = pickle.dumps([nm.float32, nm.sort, (x * x).sum()])
    text = (
        f"import pickle\nkind, sort, y = pickle.loads({data!r})\nsort(y), y.sort(), y.backward()\n"
    )
    text += "import numeric\nassert kind is numeric.float32\n"
    assert printed(text, WHOLE) == members


@pytest.mark.slow
def test_a_name_that_the_user_set_stays():
    text = "import numeric as nm\nnm.sin = 1\nnm.cos\nprint(nm.sin)"
    assert printed(text) == ["1"]


THREADS = """
import importlib, sys, threading
import numeric
sys.setswitchinterval(1e-6)
start = threading.Barrier(8)
failed = []
def use(work):
    start.wait()
    try:
        work()
    except BaseException as error:
        failed.append(repr(error))
works = [
    lambda: numeric.tensor([2.0, 1.0]).sort(),
    lambda: numeric.Tensor.sort,
    lambda: numeric.nn.functional.relu(numeric.ones(2)),
    lambda: numeric.linalg.det(numeric.eye(2)),
    lambda: numeric.autograd.functional.jacobian,
    lambda: numeric.check.gradcheck(numeric.sin, numeric.tensor(1.0, requires_grad=True)),
    lambda: importlib.import_module("numeric.optim").SGD,
    lambda: importlib.import_module("numeric.ops.pickling")._tensor,
]
threads = [threading.Thread(target=use, args=(work,)) for work in works]
for thread in threads: thread.start()
for thread in threads: thread.join(60)
assert not failed, failed
assert not any(thread.is_alive() for thread in threads)
"""


@pytest.mark.slow
@pytest.mark.parametrize("turn", range(3))
def test_threads_that_load_the_half_at_once_have_the_whole(turn, members):
    assert printed(THREADS, WHOLE) == members


FORK = """
import os, sys, threading, time, warnings
import numeric
warnings.simplefilter("ignore", DeprecationWarning)  # forking with threads is the point
thread = threading.Thread(target=lambda: numeric.tensor)
thread.start()
while "numeric.eager" not in sys.modules: time.sleep(0.0001)
child = os.fork()
if not child:
    value = numeric.tensor([2.0, 1.0]).sort().values.tolist()
    os._exit(0 if value == [1.0, 2.0] else 1)
status = os.waitpid(child, 0)[1]
thread.join()
assert status == 0, status
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
def test_a_child_of_a_fork_amid_the_first_use_has_the_whole(members):
    assert printed(FORK, WHOLE) == members
