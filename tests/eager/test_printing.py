"""Tensors as text: what PyTorch 2.13 prints, recorded."""

import pytest

import numeric as torch

CASES = [
    (lambda: torch.tensor(1.5), "tensor(1.5000)"),
    (lambda: torch.tensor(3), "tensor(3)"),
    (lambda: torch.tensor(True), "tensor(True)"),
    (lambda: torch.tensor(float("nan")), "tensor(nan)"),
    (lambda: torch.tensor(-0.0), "tensor(-0.)"),
    (lambda: torch.tensor(1e-5), "tensor(1.0000e-05)"),
    (lambda: torch.tensor(12345678.0), "tensor(12345678.)"),
    (lambda: torch.tensor(1e9), "tensor(1.0000e+09)"),
    (lambda: torch.tensor([]), "tensor([])"),
    (lambda: torch.zeros(0, 3), "tensor([], size=(0, 3))"),
    (lambda: torch.zeros(2, 0, dtype=torch.int64), "tensor([], size=(2, 0), dtype=torch.int64)"),
    (lambda: torch.zeros(0, dtype=torch.float64), "tensor([], dtype=torch.float64)"),
    (lambda: torch.zeros(0, dtype=torch.int64), "tensor([], dtype=torch.int64)"),
    (lambda: torch.zeros((), dtype=torch.float64), "tensor(0., dtype=torch.float64)"),
    (lambda: torch.tensor([1.0, 2.0]), "tensor([1., 2.])"),
    (lambda: torch.tensor([1.0, 2.5]), "tensor([1.0000, 2.5000])"),
    (lambda: torch.tensor([1, 20, -300]), "tensor([   1,   20, -300])"),
    (lambda: torch.tensor([True, False]), "tensor([ True, False])"),
    (lambda: torch.tensor([0.1, 1000.0]), "tensor([1.0000e-01, 1.0000e+03])"),
    (lambda: torch.tensor([0.1, 100.1]), "tensor([1.0000e-01, 1.0010e+02])"),
    (lambda: torch.tensor([1.0, 1001.0]), "tensor([1.0000e+00, 1.0010e+03])"),
    (lambda: torch.tensor([1.0, 1000.0]), "tensor([   1., 1000.])"),
    (lambda: torch.tensor([1e8, 1.5e8]), "tensor([1.0000e+08, 1.5000e+08])"),
    (lambda: torch.tensor([2e8, 1.0]), "tensor([2.0000e+08, 1.0000e+00])"),
    (lambda: torch.tensor([0.0, 1e-5]), "tensor([0.0000e+00, 1.0000e-05])"),
    (lambda: torch.tensor([0.00012, 0.1]), "tensor([0.0001, 0.1000])"),
    (lambda: torch.tensor([float("inf"), 1.0]), "tensor([inf, 1.])"),
    (lambda: torch.tensor([float("nan"), -float("inf"), 1.5]), "tensor([   nan,   -inf, 1.5000])"),
    (lambda: torch.tensor([float("nan")] * 3), "tensor([nan, nan, nan])"),
    (lambda: torch.tensor([0.0, -0.0]), "tensor([0., -0.])"),
    (
        lambda: torch.tensor([1.5, 2.5], dtype=torch.float64),
        "tensor([1.5000, 2.5000], dtype=torch.float64)",
    ),
    (
        lambda: torch.tensor([1.5, 2.5], dtype=torch.float16),
        "tensor([1.5000, 2.5000], dtype=torch.float16)",
    ),
    (lambda: torch.tensor([65504.0], dtype=torch.float16), "tensor([65504.], dtype=torch.float16)"),
    (lambda: torch.tensor([1, 2], dtype=torch.int32), "tensor([1, 2], dtype=torch.int32)"),
    (lambda: torch.tensor([1, 2], dtype=torch.uint8), "tensor([1, 2], dtype=torch.uint8)"),
    (lambda: torch.tensor([-1, 2], dtype=torch.int8), "tensor([-1,  2], dtype=torch.int8)"),
    (lambda: torch.tensor([-1, 2], dtype=torch.int16), "tensor([-1,  2], dtype=torch.int16)"),
    (
        lambda: torch.tensor([[1.0, 2.0], [3.0, 4.0]]),
        """tensor([[1., 2.],
        [3., 4.]])""",
    ),
    (
        lambda: torch.tensor([[1.5, -22.25], [3.0, 4.0]]),
        """tensor([[  1.5000, -22.2500],
        [  3.0000,   4.0000]])""",
    ),
    (
        lambda: torch.tensor([[True, False], [False, True]]),
        """tensor([[ True, False],
        [False,  True]])""",
    ),
    (
        lambda: torch.eye(3),
        """tensor([[1., 0., 0.],
        [0., 1., 0.],
        [0., 0., 1.]])""",
    ),
    (
        lambda: torch.arange(24.0).reshape(2, 3, 4),
        """tensor([[[ 0.,  1.,  2.,  3.],
         [ 4.,  5.,  6.,  7.],
         [ 8.,  9., 10., 11.]],

        [[12., 13., 14., 15.],
         [16., 17., 18., 19.],
         [20., 21., 22., 23.]]])""",
    ),
    (
        lambda: torch.arange(8).reshape(2, 2, 2),
        """tensor([[[0, 1],
         [2, 3]],

        [[4, 5],
         [6, 7]]])""",
    ),
    (
        lambda: torch.zeros(1, 2, 1, 2),
        """tensor([[[[0., 0.]],

         [[0., 0.]]]])""",
    ),
    (
        lambda: torch.arange(30.0),
        """tensor([ 0.,  1.,  2.,  3.,  4.,  5.,  6.,  7.,  8.,  9., 10., 11., 12., 13.,
        14., 15., 16., 17., 18., 19., 20., 21., 22., 23., 24., 25., 26., 27.,
        28., 29.])""",
    ),
    (
        lambda: torch.arange(0.0, 3.0, 0.1),
        """tensor([0.0000, 0.1000, 0.2000, 0.3000, 0.4000, 0.5000, 0.6000, 0.7000, 0.8000,
        0.9000, 1.0000, 1.1000, 1.2000, 1.3000, 1.4000, 1.5000, 1.6000, 1.7000,
        1.8000, 1.9000, 2.0000, 2.1000, 2.2000, 2.3000, 2.4000, 2.5000, 2.6000,
        2.7000, 2.8000, 2.9000])""",
    ),
    (
        lambda: torch.arange(40) * 1000,
        """tensor([    0,  1000,  2000,  3000,  4000,  5000,  6000,  7000,  8000,  9000,
        10000, 11000, 12000, 13000, 14000, 15000, 16000, 17000, 18000, 19000,
        20000, 21000, 22000, 23000, 24000, 25000, 26000, 27000, 28000, 29000,
        30000, 31000, 32000, 33000, 34000, 35000, 36000, 37000, 38000, 39000])""",
    ),
    (lambda: torch.arange(2000), "tensor([   0,    1,    2,  ..., 1997, 1998, 1999])"),
    (
        lambda: torch.arange(2000.0) / 7,
        """tensor([0.0000e+00, 1.4286e-01, 2.8571e-01,  ..., 2.8529e+02, 2.8543e+02,
        2.8557e+02])""",
    ),
    (
        lambda: torch.arange(1200.0).reshape(30, 40),
        """tensor([[0.0000e+00, 1.0000e+00, 2.0000e+00,  ..., 3.7000e+01, 3.8000e+01,
         3.9000e+01],
        [4.0000e+01, 4.1000e+01, 4.2000e+01,  ..., 7.7000e+01, 7.8000e+01,
         7.9000e+01],
        [8.0000e+01, 8.1000e+01, 8.2000e+01,  ..., 1.1700e+02, 1.1800e+02,
         1.1900e+02],
        ...,
        [1.0800e+03, 1.0810e+03, 1.0820e+03,  ..., 1.1170e+03, 1.1180e+03,
         1.1190e+03],
        [1.1200e+03, 1.1210e+03, 1.1220e+03,  ..., 1.1570e+03, 1.1580e+03,
         1.1590e+03],
        [1.1600e+03, 1.1610e+03, 1.1620e+03,  ..., 1.1970e+03, 1.1980e+03,
         1.1990e+03]])""",
    ),
    (
        lambda: torch.zeros(11, 10, 10),
        """tensor([[[0., 0., 0.,  ..., 0., 0., 0.],
         [0., 0., 0.,  ..., 0., 0., 0.],
         [0., 0., 0.,  ..., 0., 0., 0.],
         ...,
         [0., 0., 0.,  ..., 0., 0., 0.],
         [0., 0., 0.,  ..., 0., 0., 0.],
         [0., 0., 0.,  ..., 0., 0., 0.]],

        [[0., 0., 0.,  ..., 0., 0., 0.],
         [0., 0., 0.,  ..., 0., 0., 0.],
         [0., 0., 0.,  ..., 0., 0., 0.],
         ...,
         [0., 0., 0.,  ..., 0., 0., 0.],
         [0., 0., 0.,  ..., 0., 0., 0.],
         [0., 0., 0.,  ..., 0., 0., 0.]],

        [[0., 0., 0.,  ..., 0., 0., 0.],
         [0., 0., 0.,  ..., 0., 0., 0.],
         [0., 0., 0.,  ..., 0., 0., 0.],
         ...,
         [0., 0., 0.,  ..., 0., 0., 0.],
         [0., 0., 0.,  ..., 0., 0., 0.],
         [0., 0., 0.,  ..., 0., 0., 0.]],

        ...,

        [[0., 0., 0.,  ..., 0., 0., 0.],
         [0., 0., 0.,  ..., 0., 0., 0.],
         [0., 0., 0.,  ..., 0., 0., 0.],
         ...,
         [0., 0., 0.,  ..., 0., 0., 0.],
         [0., 0., 0.,  ..., 0., 0., 0.],
         [0., 0., 0.,  ..., 0., 0., 0.]],

        [[0., 0., 0.,  ..., 0., 0., 0.],
         [0., 0., 0.,  ..., 0., 0., 0.],
         [0., 0., 0.,  ..., 0., 0., 0.],
         ...,
         [0., 0., 0.,  ..., 0., 0., 0.],
         [0., 0., 0.,  ..., 0., 0., 0.],
         [0., 0., 0.,  ..., 0., 0., 0.]],

        [[0., 0., 0.,  ..., 0., 0., 0.],
         [0., 0., 0.,  ..., 0., 0., 0.],
         [0., 0., 0.,  ..., 0., 0., 0.],
         ...,
         [0., 0., 0.,  ..., 0., 0., 0.],
         [0., 0., 0.,  ..., 0., 0., 0.],
         [0., 0., 0.,  ..., 0., 0., 0.]]])""",
    ),
    (lambda: torch.tensor([1.0, 2.0], requires_grad=True), "tensor([1., 2.], requires_grad=True)"),
    (
        lambda: torch.tensor([[1.5, 2.0], [3.0, 4.0]], requires_grad=True),
        """tensor([[1.5000, 2.0000],
        [3.0000, 4.0000]], requires_grad=True)""",
    ),
    (lambda: torch.tensor([1.0], requires_grad=True) * 2, "tensor([2.], grad_fn=<MulBackward0>)"),
    (
        lambda: torch.tensor([1.0], dtype=torch.float64, requires_grad=True) * 2,
        "tensor([2.], dtype=torch.float64, grad_fn=<MulBackward0>)",
    ),
    (
        lambda: torch.zeros(13, requires_grad=True),
        """tensor([0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0.],
       requires_grad=True)""",
    ),
    (
        lambda: torch.zeros(2, 12, requires_grad=True) + 1,
        """tensor([[1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1.],
        [1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1.]],
       grad_fn=<AddBackward0>)""",
    ),
    (
        lambda: torch.arange(10.0, dtype=torch.float64) / 3,
        """tensor([0.0000, 0.3333, 0.6667, 1.0000, 1.3333, 1.6667, 2.0000, 2.3333, 2.6667,
        3.0000], dtype=torch.float64)""",
    ),
    (lambda: torch.zeros(0, 2, requires_grad=True), "tensor([], size=(0, 2), requires_grad=True)"),
    (lambda: torch.tensor(2.0, requires_grad=True), "tensor(2., requires_grad=True)"),
    (lambda: torch.tensor(2.0, requires_grad=True) * 3, "tensor(6., grad_fn=<MulBackward0>)"),
    (lambda: torch.tensor([3.4028234663852886e38, 1.0]), "tensor([3.4028e+38, 1.0000e+00])"),
    (lambda: torch.tensor([1e-45, 1.0]), "tensor([1.4013e-45, 1.0000e+00])"),
    (lambda: torch.tensor([123456.789, 0.5]), "tensor([1.2346e+05, 5.0000e-01])"),
]

OPTIONS = [
    ({"precision": 2}, lambda: torch.tensor([1.23456]), "tensor([1.23])"),
    (
        {"precision": 7},
        lambda: torch.tensor([1.23456, 100.0]),
        "tensor([  1.2345600, 100.0000000])",
    ),
    ({"threshold": 5}, lambda: torch.arange(10), "tensor([0, 1, 2,  ..., 7, 8, 9])"),
    (
        {"threshold": 5, "edgeitems": 1},
        lambda: torch.arange(12.0).reshape(3, 4),
        """tensor([[ 0.,  ...,  3.],
        ...,
        [ 8.,  ..., 11.]])""",
    ),
    ({"edgeitems": 0, "threshold": 3}, lambda: torch.arange(10), "tensor([...], size=(10,))"),
    (
        {"linewidth": 20},
        lambda: torch.arange(8.0),
        """tensor([0., 1., 2.,
        3., 4., 5.,
        6., 7.])""",
    ),
    ({"sci_mode": True}, lambda: torch.tensor([1.0, 2.0]), "tensor([1.0000e+00, 2.0000e+00])"),
    (
        {"sci_mode": False},
        lambda: torch.tensor([1e-6, 1e6]),
        "tensor([      0.0000, 1000000.0000])",
    ),
    (
        {"profile": "short"},
        lambda: torch.arange(1200.0) / 3,
        "tensor([0.00e+00, 3.33e-01,  ..., 3.99e+02, 4.00e+02])",
    ),
    (
        {"profile": "full", "linewidth": 60},
        lambda: torch.zeros(3, 5),
        """tensor([[0., 0., 0., 0., 0.],
        [0., 0., 0., 0., 0.],
        [0., 0., 0., 0., 0.]])""",
    ),
]


@pytest.fixture(autouse=True)
def _ordinary_options():
    yield
    torch.set_printoptions(profile="default")


@pytest.mark.parametrize("case", range(len(CASES)))
def test_repr(case):
    make, text = CASES[case]
    assert repr(make()) == text
    assert str(make()) == text


@pytest.mark.parametrize("case", range(len(OPTIONS)))
def test_options(case):
    options, make, text = OPTIONS[case]
    torch.set_printoptions(**options)
    assert repr(make()) == text


def test_options_stay_until_they_change_but_for_sci_mode():
    torch.set_printoptions(precision=2, sci_mode=True)
    torch.set_printoptions(linewidth=70)
    assert str(torch.tensor([1.25])) == "tensor([1.25])"
    torch.set_printoptions(sci_mode=True)
    assert str(torch.tensor([1.25])) == "tensor([1.25e+00])"


def test_the_default_dtype_is_not_shown():
    torch.set_default_dtype(torch.float64)
    try:
        assert str(torch.tensor([1.5])) == "tensor([1.5000])"
        assert str(torch.tensor([1.5], dtype=torch.float32)) == (
            "tensor([1.5000], dtype=torch.float32)"
        )
    finally:
        torch.set_default_dtype(torch.float32)


def test_format():
    s = torch.tensor(1.5)
    assert f"{s:.3f} {s}" == "1.500 1.5"
    assert f"{torch.tensor(2.0, requires_grad=True):5.1f}" == "  2.0"
    assert "%d" % torch.tensor(7) == "7"  # noqa: UP031
    m = torch.tensor([1.0])
    assert f"{m}" == "tensor([1.])"
    with pytest.raises(TypeError, match="unsupported format string"):
        format(m, ".2f")


def test_subclasses_have_their_own_name():
    class Mine(torch.Tensor):
        pass

    assert repr(Mine([1.0])) == "Mine([1.])"
