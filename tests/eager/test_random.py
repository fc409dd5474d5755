"""Random tensors: PyTorch 2.13's numbers for the same seeds, recorded."""

import hashlib
import threading

import numpy as np
import pytest

import numeric as torch
from tests.support.refusals import refused, refusing

# Exact, as hexadecimal.
REAL = [
    (
        0,
        lambda: torch.rand(3),
        ["0x1.fc2ab00000000p-2", "0x1.89545e0000000p-1", "0x1.6a67500000000p-4"],
    ),
    (
        0,
        lambda: torch.rand(3, dtype=torch.float64),
        ["0x1.f0aac97c4aa2fp-1", "0x1.6a675d821ccc0p-1", "0x1.d6687b744a5f6p-2"],
    ),
    (
        0,
        lambda: torch.rand(3, dtype=torch.float16),
        ["0x1.fc40000000000p-2", "0x1.8940000000000p-1", "0x1.6a80000000000p-4"],
    ),
    (
        1,
        lambda: torch.randn(5),
        [
            "0x1.529cc00000000p-1",
            "0x1.11548e0000000p-2",
            "0x1.f942960000000p-5",
            "0x1.3e1d4e0000000p-1",
            "-0x1.cec0700000000p-2",
        ],
    ),
    (
        1,
        lambda: torch.randn(3, dtype=torch.float64),
        ["0x1.529cc078113dap-1", "0x1.11548d02b8fe5p-2", "0x1.f94295e129d76p-5"],
    ),
    (1099511627783, lambda: torch.rand(2), ["0x1.11e15e0000000p-1", "0x1.9726200000000p-3"]),
    (-1, lambda: torch.rand(2), ["0x1.fcd3460000000p-1", "0x1.2482440000000p-1"]),
    (
        3,
        lambda: torch.normal(1.0, 2.0, (3,)),
        ["0x1.4da3800000000p+1", "0x1.5983c40000000p+0", "0x1.2d8e8a0000000p+0"],
    ),
    (
        3,
        lambda: torch.normal(torch.zeros(2), torch.tensor([1.0, 3.0])),
        ["0x1.9b47000000000p-1", "0x1.0c8b480000000p-1"],
    ),
    (3, lambda: torch.normal(torch.ones(2), 2.0), ["0x1.4da3800000000p+1", "0x1.5983c40000000p+0"]),
    (
        3,
        lambda: torch.normal(1.0, torch.tensor([1.0, 3.0], dtype=torch.float64)),
        ["0x1.cda38045153d6p+0", "0x1.8645a4cf25b9fp+0"],
    ),
    (0, lambda: torch.rand_like(torch.zeros(2)), ["0x1.fc2ab00000000p-2", "0x1.89545e0000000p-1"]),
    (
        0,
        lambda: torch.randn_like(torch.zeros(2, dtype=torch.float64)),
        ["0x1.8a7eb8902be3ap+0", "-0x1.2c78a087c6feap-2"],
    ),
    (
        4,
        lambda: torch.bernoulli(torch.full((6,), 0.4)),
        [
            "0x0.0p+0",
            "0x0.0p+0",
            "0x1.0000000000000p+0",
            "0x1.0000000000000p+0",
            "0x1.0000000000000p+0",
            "0x1.0000000000000p+0",
        ],
    ),
]

WHOLE = [
    (0, lambda: torch.randint(10, (8,)), [4, 9, 3, 0, 3, 9, 7, 3]),
    (0, lambda: torch.randint(-5, 5, (2, 3)), [[-1, 4, -2], [-5, -2, 4]]),
    (5, lambda: torch.randint(0, 1 << 28, (3,)), [236996814, 80864957, 220060790]),
    (5, lambda: torch.randint(0, (1 << 28) - 1, (3,)), [148147046, 236996814, 250105852]),
    (
        5,
        lambda: torch.randint(0, 1 << 50, (3,)),
        [153257555019982, 87891486303933, 998246451108982],
    ),
    (5, lambda: torch.randint(0, 200, (4,), dtype=torch.uint8), [11, 14, 167, 85]),
    (0, lambda: torch.randperm(10), [4, 1, 7, 5, 3, 9, 0, 8, 6, 2]),
    (7, lambda: torch.randperm(3), [0, 1, 2]),
    (7, lambda: torch.randint_like(torch.zeros(3, dtype=torch.int64), 3, 9), [6, 7, 4]),
]

# Digests of the memory, where there are many numbers.
MANY = [
    (0, lambda: torch.randn(16), "7648137a31024642"),
    (0, lambda: torch.randn(17), "6d2169852e19b6d1"),
    (0, lambda: torch.randn(31), "cc1d58695e923901"),
    (9, lambda: torch.randn(50, 20), "6e272831c75375cd"),
    (9, lambda: torch.rand(50, 20), "253fb69a2eec0ba2"),
    (9, lambda: torch.randn(20, dtype=torch.float16), "7326436469830e26"),
    (9, lambda: torch.normal(0.5, 3.0, (33,)), "347723a17382d0f7"),
    (9, lambda: torch.randint(0, 1000, (100,)), "afcce88fd3eb58be"),
    (9, lambda: torch.randperm(1000), "31c55e49126c00d3"),
    (9, lambda: torch.rand(100, dtype=torch.float64), "c7dc90302aa55980"),
]

# One seed, several calls: the second number of a pair waits for the next call.
SEQUENCE = [
    ["0x1.79aa920000000p-1", "0x1.f2286a0000000p+0", "-0x1.662a520000000p-1"],
    ["0x1.24ed420000000p-1"],
    ["-0x1.4d635c0000000p+0", "-0x1.3f4c840000000p-1"],
    ["-0x1.80ef2e0000000p-3"],
    ["0x1.d7e3640000000p-2"],
    ["0x1.0000000000000p+0", "0x1.0000000000000p+1", "0x0.0p+0"],
    ["-0x1.4e696b497755bp-3"],
    ["0x1.59b36e0000000p-1"],
]

DOUBLES = [
    0.7943261045292891,
    1.3938455723319432,
    -0.15062080815577406,
    -0.023854294382127203,
    0.2812218142540382,
    -1.0977913344120525,
    -1.0316903664460142,
    -1.070487654395961,
    -1.3980890279254163,
    0.04113077618908917,
    0.7774504126196512,
    0.4542110194944792,
    -1.9258280836287545,
    0.7727095636078335,
    -1.0569107731023013,
    0.19791858690953387,
]


FILLED = [
    "0x1.7d20040000000p+0",
    "0x1.26ff460000000p+1",
    "0x1.0fcd7c0000000p-2",
    "0x1.9599000000000p-2",
    "-0x1.8a65e80000000p-2",
    "0x1.1297d80000000p-2",
    "0x1.32c6ac0000000p+2",
    "-0x1.0ff1880000000p+0",
]


def hexes(x):
    return [float(v).hex() for v in x.numpy().ravel().tolist()]


@pytest.mark.parametrize(("seed", "draw", "expected"), [*REAL, *WHOLE, *MANY])
def test_numbers(seed, draw, expected):
    torch.manual_seed(seed)
    x = draw()
    if isinstance(expected, str):
        assert hashlib.sha256(x.numpy().tobytes()).hexdigest()[:16] == expected
    else:
        assert (hexes(x) if x.is_floating_point() else x.tolist()) == expected


def test_sequence():
    torch.manual_seed(11)
    drawn = [
        torch.randn(3),
        torch.rand(1),
        torch.randn(2),
        torch.randn(20)[:1],
        torch.randn(1),
        torch.randperm(3).float(),
        torch.randn(1, dtype=torch.float64),
        torch.rand(1),
    ]
    assert [hexes(x) for x in drawn] == SEQUENCE


def test_blocks_of_doubles():
    torch.manual_seed(12)
    np.testing.assert_allclose(torch.randn(16, dtype=torch.float64).numpy(), DOUBLES, rtol=1e-14)


def test_seeds():
    generator = torch.manual_seed(-1)
    assert generator.initial_seed() == torch.initial_seed() == 2**64 - 1
    assert torch.manual_seed(torch.tensor(3)).initial_seed() == 3
    for seed in (2**64, -(2**63) - 1):
        with pytest.raises(ValueError, match="Overflow"):
            torch.manual_seed(seed)
    assert torch.seed() == torch.initial_seed()


def test_own_generator_leaves_the_shared_one_alone():
    torch.manual_seed(0)
    own = torch.Generator().manual_seed(0)
    first = torch.rand(2, generator=own)
    assert first.tolist() == torch.rand(2).tolist()
    with pytest.raises(TypeError, match="Generator"):
        torch.rand(2, generator=3)


def test_arguments():
    assert torch.rand(()).shape == ()
    assert torch.rand(size=(2, 1)).shape == (2, 1)
    assert torch.rand(2, requires_grad=True).requires_grad
    assert not torch.rand_like(torch.ones(2, requires_grad=True)).requires_grad
    assert torch.randint(low=1, high=3, size=(3,)).dtype is torch.int64
    assert torch.randint(3, (2,), dtype=torch.float32).dtype is torch.float32
    assert torch.randint_like(torch.ones(2), 5).dtype is torch.float32
    assert torch.randperm(0).shape == (0,)
    assert torch.normal(torch.zeros(2, 1), torch.ones(3)).shape == (2, 3)
    assert torch.rand(0, 3).shape == torch.randn(0, 3).shape == (0, 3)


def test_filling():
    torch.manual_seed(0)
    x = torch.empty(2, 2)
    assert x.uniform_(to=3.0) is x
    assert x._version == 1
    drawn = [*hexes(x), *hexes(torch.empty(2).uniform_(-1)), *hexes(torch.empty(2).normal_(1, 3))]
    assert drawn == FILLED
    refused(
        (
            RuntimeError,
            "a leaf Variable that requires grad",
            lambda: torch.ones(2, requires_grad=True).normal_(),
        ),
        (RuntimeError, "from=2 > to=1", lambda: x.uniform_(2, 1)),
        (RuntimeError, r"std >= 0\.0", lambda: x.normal_(0, -1)),
    )


test_errors = refusing(
    [
        (lambda: torch.randint(3, 3, (2,)), RuntimeError, "from=3 >= to=3"),
        (lambda: torch.randint(0, 500, (2,), dtype=torch.uint8), RuntimeError, "out of bounds"),
        (lambda: torch.randint(0, 5, 2), TypeError, "invalid combination"),
        (lambda: torch.randint(5), TypeError, "invalid combination"),
        (lambda: torch.randint(0, 5, (2,), requires_grad=True), RuntimeError, "floating point"),
        (lambda: torch.randperm(-1), RuntimeError, "negative dimension"),
        (lambda: torch.randperm(3.0), TypeError, "must be int"),
        (lambda: torch.normal(0.0, 1.0), TypeError, "size"),
        (lambda: torch.normal(0.0, -1.0, (2,)), RuntimeError, "std >= 0.0"),
        (lambda: torch.normal(torch.zeros(2), torch.tensor([-1.0, 1.0])), RuntimeError, "std"),
        (lambda: torch.normal(torch.zeros(2), torch.ones(3)), RuntimeError, "must match"),
        (lambda: torch.rand(2, dtype=torch.int64), NotImplementedError, "not implemented"),
        (lambda: torch.randn_like(torch.tensor([1])), NotImplementedError, "not implemented"),
        (lambda: torch.bernoulli(torch.tensor([1.5])), RuntimeError, "p_in"),
        (lambda: torch.rand(), TypeError, "size"),
    ]
)


def test_threads_share_one_stream_without_losing_numbers():
    torch.manual_seed(1)
    expected = sorted(torch.rand(4000).tolist())
    torch.manual_seed(1)
    parts = []
    threads = [
        threading.Thread(target=lambda: parts.extend(torch.rand(100).tolist() for _ in range(10)))
        for _ in range(4)
    ]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(v for part in parts for v in part) == expected
