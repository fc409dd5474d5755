"""Commands made at random: none ends in a traceback, and every failure has words of its own."""

import io
import random
from collections import Counter

import pytest

from tests.numeric.test_cli_messages import PYTHON

FORMULAS = """
    x**2*y; q @ q; A @ q; sum(A @ q); sin(x); ; 2 x; x +; log(-1); 1/0; x/0; where(x > 0, x, 0)
    q[0]*x; x > 0; q > 0; norm(q); det(A); slogdet(A); inv(A) @ q; max(q); [x, y]; [[x, y], [y, x]]
    μ*x; x**x; abs(x); floor(x); pi; 3; q.T; cholesky(A); eigh(A)[0]; polygamma(n, x); 1e400*x
    0.1*x; sort(q); argmax(q); x if y else 0; lambda: 0; f(x); concat([q, q]); zeros(3); q*0; x*0
    x//y; ~x; -x; -; softmax(q); cumsum(q); x.real; x^2; (x; x); x, y; x = 1; q[9]; x*y + sin(y)
""".replace("\n", ";").split(";")
VALUES = """
    x=1; x=1,y=2; x=0; y=0.5; x=pi; q=[1,2]; q=[1,2,3]; A=[[1,2],[3,4]],q=[1,2]; x=[1,2]; x=; =1; x
    x=1/0; x=nan; n=1; x=0,y=0,n=2; q=[[1]]; q=[]; A=[[1,1],[1,1]],q=[0,0]; x=-1,y=-1; μ=2,x=1; x=q
    x=10**100; x=2**0.5; x=1 y=2; x=1,2; x=2,y=3
""".replace("\n", ";").split(";")
SHAPES = ["q=2", "q=3", "A=2x2,q=2", "A=3x3", "x", "q=0", "q=2,q=3", "A=2x3,q=3", "A=2x", "n,x"]
VARIABLES = [
    "\n    x",
    " y",
    " q",
    " q[0]",
    " q[5]",
    " A",
    " A[0,0]",
    " 2",
    " 0",
    " 1001",
    " pi",
    " z",
    " x,y",
    " q[",
    " q[x]",
    " n",
    " μ",
    " -1",
    " A[0]",
    " q[:1]",
    " q[::2]\n",
]
COMMANDS = {"eval": 0, "diff": 2, "grad": 2, "hessian": 2, "steps": 1, "latex": 0, "lower": 0}
FLAGS = ["--latex", "--gradient", "--source", "--full"]


def command(drawn):
    name = drawn.choice(list(COMMANDS))
    words = [name, drawn.choice(FORMULAS).strip()]
    words += [drawn.choice(VARIABLES).strip() for _ in range(drawn.randint(0, COMMANDS[name]))]
    for flag, given in (("--at", VALUES), ("--inputs", SHAPES), ("--digits", ["5", "40", "x"])):
        if drawn.random() < 0.3:
            words += [flag, drawn.choice(given).strip()]
    return [*words, drawn.choice(FLAGS)] if drawn.random() < 0.1 else words


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of NumPy: that is not what is asked
def test_whatever_is_typed_is_answered(run, monkeypatch):
    drawn = random.Random(1)
    statuses = Counter()
    for _ in range(1000):
        words = command(drawn)
        monkeypatch.setattr("sys.stdin", io.StringIO("x**2"))
        status, out, err = run(*words)
        assert bool(out) == (status == 0), words
        assert bool(status) == ("error: " in err), words
        assert not PYTHON.search(err), (words, err)
        statuses[status] += 1
    assert min(statuses[status] for status in (0, 1, 2)) > 100
    assert set(statuses) == {0, 1, 2}
