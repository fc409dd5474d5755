"""Models: camera, perceptron, cross-entropy, mixture, hand."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.declarations import Task, Workload

PEERS = ("jax", "torch", "autograd")

# Camera ------------------------------------------------------------------------------------------

_CAMERA = (
    *("r0", "r1", "r2", "c0", "c1", "c2", "f", "u0", "v0", "k1", "k2"),  # the camera
    *("x0", "x1", "x2", "w"),  # the point and the weight of the observation
)
OBSERVED = 0.3, -0.2


def reprojection(np: Any, *inputs: Any) -> list[Any]:
    """Rodrigues' rotation, projection, radial distortion; the two weighted residuals."""
    r0, r1, r2, c0, c1, c2, f, u0, v0, k1, k2, x0, x1, x2, w = inputs
    a0, a1, a2 = x0 - c0, x1 - c1, x2 - c2
    angle = np.sqrt(r0**2 + r1**2 + r2**2)
    s, c = np.sin(angle), np.cos(angle)
    n0, n1, n2 = r0 / angle, r1 / angle, r2 / angle
    along = (n0 * a0 + n1 * a1 + n2 * a2) * (1 - c)
    p0 = a0 * c + (n1 * a2 - n2 * a1) * s + n0 * along
    p1 = a1 * c + (n2 * a0 - n0 * a2) * s + n1 * along
    p2 = a2 * c + (n0 * a1 - n1 * a0) * s + n2 * along
    u, v = p0 / p2, p1 / p2
    q = u**2 + v**2
    distortion = 1 + k1 * q + k2 * q**2
    return [
        w * (f * u * distortion + u0 - OBSERVED[0]),
        w * (f * v * distortion + v0 - OBSERVED[1]),
    ]


def _crossed(r: np.ndarray) -> np.ndarray:
    """Return the matrices of the cross product with r."""
    K = np.zeros((3, 3, r.shape[1]))
    K[2, 1], K[0, 2], K[1, 0] = r
    K[1, 2], K[2, 0], K[0, 1] = -r
    return K


def reprojection_jacobian(*inputs: np.ndarray) -> list[np.ndarray]:
    """Apply the chain rule; ``dRa/dr`` is the compact formula of Gallego and Yezzi (2015)."""
    r, centre, (f, u0, v0, k1, k2) = np.array(inputs[:3]), np.array(inputs[3:6]), inputs[6:11]
    x, w = np.array(inputs[11:14]), inputs[14]
    a = x - centre
    square = (r * r).sum(axis=0)
    angle = np.sqrt(square)
    K = _crossed(r / angle)
    KK = np.einsum("ijn,jkn->ikn", K, K)
    eye = np.eye(3)[:, :, None]
    R = eye + np.sin(angle) * K + (1 - np.cos(angle)) * KK
    p = np.einsum("ijn,jn->in", R, a)
    M = r[:, None] * r + np.einsum("jin,jkn->ikn", R - eye, _crossed(r))
    by_r = -np.einsum("ijn,jkn,kln->iln", R, _crossed(a), M / square, optimize=True)
    u, v = p[0] / p[2], p[1] / p[2]
    q = u * u + v * v
    distortion = 1 + (k1 + k2 * q) * q
    slope = 2 * (k1 + 2 * k2 * q)
    wf = w * f
    cross = wf * u * v * slope
    zero = np.zeros_like(w)
    rows = []
    for along, z, z0, seen, first, second in (
        (u, u, u0, OBSERVED[0], wf * (distortion + u * u * slope), cross),
        (v, v, v0, OBSERVED[1], cross, wf * (distortion + v * v * slope)),
    ):
        by_p = np.array([first, second, -(first * u + second * v)]) / p[2]
        by_x = np.einsum("in,ijn->jn", by_p, R)
        wz = w * z
        rows += [
            *np.einsum("in,ijn->jn", by_p, by_r),
            *-by_x,
            wz * distortion,
            *((w, zero) if along is u else (zero, w)),
            wz * f * q,
            wz * f * q * q,
            *by_x,
            f * z * distortion + z0 - seen,
        ]
    return rows


def _observations(rng: np.random.Generator, n: int) -> dict[str, Any]:
    low = [0.1, -0.4, 0.2, -1, -1, -9, 0.8, -0.1, -0.1, -0.1, -0.01, -1, -1, -1, 0.5]
    high = [0.4, -0.1, 0.5, 1, 1, -6, 1.2, 0.1, 0.1, 0.1, 0.01, 1, 1, 1, 1.5]
    columns = rng.uniform(low, high, (n, len(_CAMERA))).T
    return dict(zip(_CAMERA, np.ascontiguousarray(columns), strict=True))


# Perceptron, cross-entropy -----------------------------------------------------------------------


def cross_entropy(np: Any, z: Any, Y: Any) -> Any:
    """Return the mean cross-entropy of logits, one row for each sample, and one-hot labels."""
    return np.sum(np.logsumexp(z, axis=1) - np.sum(z * Y, axis=1)) / z.shape[0]


def cross_entropy_by_hand(z: np.ndarray, Y: np.ndarray) -> tuple[Any, np.ndarray]:
    """Compute one exponential for both value and gradient."""
    largest = z.max(axis=1, keepdims=True)
    p = z - largest
    np.exp(p, out=p)
    total = p.sum(axis=1, keepdims=True)
    value = (np.log(total).sum() + largest.sum() - np.vdot(z, Y)) / len(z)
    p /= total
    p -= Y
    p /= len(z)
    return value, p


def perceptron(np: Any, X: Any, Y: Any, A: Any, a: Any, B: Any, b: Any, C: Any, c: Any) -> Any:
    """A perceptron of three layers."""
    return cross_entropy(np, np.tanh(np.tanh(X @ A + a) @ B + b) @ C + c, Y)


def perceptron_by_hand(
    X: np.ndarray, Y: np.ndarray, *parameters: np.ndarray
) -> tuple[Any, list[np.ndarray]]:
    """Back-propagate as in a textbook, in place where an array is not needed any more."""
    A, a, B, b, C, c = parameters
    h = X @ A
    h += a
    np.tanh(h, out=h)
    k = h @ B
    k += b
    np.tanh(k, out=k)
    z = k @ C
    z += c
    value, dz = cross_entropy_by_hand(z, Y)
    dk = dz @ C.T
    dC, dc = k.T @ dz, dz.sum(axis=0)
    k *= k
    np.subtract(1, k, out=k)
    dk *= k
    dh = dk @ B.T
    dB, db = h.T @ dk, dk.sum(axis=0)
    h *= h
    np.subtract(1, h, out=h)
    dh *= h
    return value, [X.T @ dh, dh.sum(axis=0), dB, db, dC, dc]


def _one_hot(rng: np.random.Generator, n: int, k: int) -> np.ndarray:
    return np.eye(k)[rng.integers(k, size=n)]


def _batch(rng: np.random.Generator, batch: int, width: int) -> dict[str, Any]:
    classes = 10
    data = {"X": rng.normal(size=(batch, width)), "Y": _one_hot(rng, batch, classes)}
    for (n, m), W, v in zip(pairwise([width, width, width, classes]), "ABC", "abc", strict=True):
        data[W] = rng.normal(size=(n, m)) / np.sqrt(n)
        data[v] = rng.normal(size=m) / 10
    return {name: value.astype(np.float32) for name, value in data.items()}


def logsumexp_by_hand(x: np.ndarray) -> tuple[Any, np.ndarray]:
    """Reuse the exponential for the softmax."""
    largest = x.max()
    p = x - largest
    np.exp(p, out=p)
    total = p.sum()
    p /= total
    return np.log(total) + largest, p


# Mixture -----------------------------------------------------------------------------------------


def mixture(np: Any, alphas: Any, means: Any, factors: Any, x: Any) -> Any:
    """Return the log-likelihood of a mixture of Gaussians, with a Wishart prior, up to constants.

    ``factors`` holds the lower triangular factor of each precision: the logarithms of the diagonal
    first, then the elements below it, by rows.
    """
    d = means.shape[1]
    places, below, eye = _triangle(d)
    q = factors[:, :d]
    diagonal = np.exp(q)
    L = factors[:, places] * np.constant(below) + diagonal[:, :, None] * np.constant(eye)
    y = np.einsum("knj,kij->kni", x - means[:, None], L)
    each = (alphas + np.sum(q, axis=1))[:, None] - np.sum(y**2, axis=2) / 2
    likelihood = np.sum(np.logsumexp(each, axis=0)) - x.shape[0] * np.logsumexp(alphas, axis=0)
    return likelihood + (np.sum(diagonal**2) + np.sum(factors[:, d:] ** 2)) / 2


def _triangle(d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the positions of the triangle's elements in a row of ``factors``, and two masks."""
    places = np.zeros((d, d), int)
    places[np.tril_indices(d, -1)] = np.arange(d, d + d * (d - 1) // 2)
    return places, np.tril(np.ones((d, d)), -1), np.eye(d)


def mixture_by_hand(
    alphas: np.ndarray, means: np.ndarray, factors: np.ndarray, x: np.ndarray
) -> tuple[Any, list[np.ndarray]]:
    """Use matrix products over all points; subtract means after them, where there are few."""
    (k, d), n = means.shape, len(x)
    q = factors[:, :d]
    diagonal = np.exp(q)
    L = np.zeros((k, d, d))
    rows, columns = np.tril_indices(d, -1)
    L[:, rows, columns] = factors[:, d:]
    L[:, np.arange(d), np.arange(d)] = diagonal
    y = L @ x.T
    y -= L @ means[:, :, None]
    p = np.einsum("kin,kin->kn", y, y)
    p *= -0.5
    p += (alphas + q.sum(axis=1))[:, None]
    largest = p.max(axis=0)
    p -= largest
    np.exp(p, out=p)
    totals = p.sum(axis=0)
    value = np.log(totals).sum() + largest.sum()
    p /= totals
    e = np.exp(alphas - alphas.max())
    value -= n * (np.log(e.sum()) + alphas.max())
    value += ((diagonal**2).sum() + (factors[:, d:] ** 2).sum()) / 2
    weights = p.sum(axis=1)
    y *= p[:, None]
    sums = y.sum(axis=2)
    by_L = sums[:, :, None] * means[:, None, :] - y @ x
    by_factors = np.empty_like(factors)
    by_factors[:, d:] = by_L[:, rows, columns] + factors[:, d:]
    by_diagonal = by_L[:, np.arange(d), np.arange(d)] + diagonal
    by_factors[:, :d] = by_diagonal * diagonal + weights[:, None]
    by_means = np.einsum("kij,ki->kj", L, sums)
    return value, [weights - n * e / e.sum(), by_means, by_factors]


def _mixture(rng: np.random.Generator, d: int, k: int, n: int) -> dict[str, Any]:
    return {
        "alphas": rng.normal(size=k),
        "means": rng.normal(size=(k, d)),
        "factors": rng.normal(size=(k, d + d * (d - 1) // 2)) / 3,
        "x": rng.normal(size=(n, d)),
    }


# Hand --------------------------------------------------------------------------------------------

FINGERS, BONES, GLOBAL = 5, 3, 6
PARAMETERS = GLOBAL + 4 * FINGERS
_AXES = np.zeros((3, 4, 4))
_AXES[0, 2, 1] = _AXES[1, 0, 2] = _AXES[2, 1, 0] = 1
_AXES -= np.swapaxes(_AXES, 1, 2)
_SQUARES = _AXES @ _AXES
_SHIFTS = np.zeros((3, 4, 4))
_SHIFTS[np.arange(3), np.arange(3), 3] = 1
_EYE = np.eye(4)


def _offset(finger: int, bone: int) -> np.ndarray:
    """Return the shift from a bone's parent to the bone."""
    T = np.eye(4)
    T[:3, 3] = [0.3 * (finger - 2), 1.0, 0] if bone == 0 else [0, 0.5 - 0.1 * bone, 0]
    return T


def _joints() -> list[list[tuple[int, int]]]:
    """For each bone of a finger: its parameters within the finger, with their axes."""
    return [[(0, 0), (1, 2)], [(2, 0)], [(3, 0)]]


def hand_bones(np: Any, p: Any) -> Any:
    """Return the transformation of each bone: rotations along chains of joints."""
    eye, axes, squares = np.constant(_EYE), np.constant(_AXES), np.constant(_SQUARES)

    def rotation(angle: Any, axis: int) -> Any:
        return eye + np.sin(angle) * axes[axis] + (1 - np.cos(angle)) * squares[axis]

    shifts = np.constant(_SHIFTS)
    wrist = eye + p[3] * shifts[0] + p[4] * shifts[1] + p[5] * shifts[2]
    for axis in range(3):
        wrist = wrist @ rotation(p[axis], axis)
    bones = [wrist]
    for finger in range(FINGERS):
        T = wrist
        for bone, joints in enumerate(_joints()):
            T = T @ np.constant(_offset(finger, bone))
            for k, axis in joints:
                T = T @ rotation(p[GLOBAL + 4 * finger + k], axis)
            bones.append(T)
    return np.stack(bones)


def _read(vertices: int) -> np.ndarray:
    """Return the vertices with observations: 3 in 100."""
    return np.arange(0, vertices, 33)[: max(1, vertices * 3 // 100)]


def skinning(np: Any, p: Any, weights: Any, vertices: Any, seen: Any) -> Any:
    """Linear blend skinning of all vertices, and the residuals of the observed ones."""
    blended = np.einsum("vb,bij->vij", weights, hand_bones(np, p))
    moved = np.einsum("vij,vj->vi", blended, vertices)[:, :3]
    return moved[_read(vertices.shape[0])] - seen


def skinning_jacobian(
    p: np.ndarray, weights: np.ndarray, vertices: np.ndarray, seen: np.ndarray
) -> list[np.ndarray]:
    """Return the Jacobian; a parameter moves only the bones beyond its joint."""
    bones = np.zeros((PARAMETERS, 1 + BONES * FINGERS, 4, 4))
    s, c = np.sin(p), np.cos(p)
    T = _EYE + np.tensordot(p[3:6], _SHIFTS, 1)
    moves = {}  # the motion of the bones beyond by a parameter, as a matrix on the left

    def turned(T: np.ndarray, k: int, axis: int) -> np.ndarray:
        before = T
        T = T @ (_EYE + s[k] * _AXES[axis] + (1 - c[k]) * _SQUARES[axis])
        moves[k] = before @ (c[k] * _AXES[axis] + s[k] * _SQUARES[axis]), T
        return T

    for axis in range(3):
        T = turned(T, axis, axis)
    for k in range(3):
        moves[3 + k] = _SHIFTS[k], _EYE
    wrist, everywhere = T, list(range(GLOBAL))
    absolute, movers = [wrist], [everywhere]
    for finger in range(FINGERS):
        T, active = wrist, list(everywhere)
        for bone, joints in enumerate(_joints()):
            T = T @ _offset(finger, bone)
            for k, axis in joints:
                place = GLOBAL + 4 * finger + k
                T = turned(T, place, axis)
                active.append(place)
            absolute.append(T)
            movers.append(list(active))
    left = np.zeros((PARAMETERS, 4, 4))
    for k, (by, after) in moves.items():
        left[k] = by @ _inverse(after)
    for i, (T, active) in enumerate(zip(absolute, movers, strict=True)):
        bones[active, i] = left[active] @ T
    read = _read(len(vertices))
    moved = weights[read, :, None] * vertices[read, None, :]
    derivative = np.tensordot(moved, bones[:, :, :3].transpose(1, 3, 2, 0), 2)
    return [derivative]


def _inverse(T: np.ndarray) -> np.ndarray:
    """Invert a rotation and a shift."""
    inverse = np.eye(4)
    inverse[:3, :3] = T[:3, :3].T
    inverse[:3, 3] = -T[:3, :3].T @ T[:3, 3]
    return inverse


def _hand(rng: np.random.Generator, v: int) -> dict[str, Any]:
    weights = rng.random((v, 1 + BONES * FINGERS)) ** 8
    vertices = np.concatenate([rng.normal(size=(v, 3)), np.ones((v, 1))], axis=1)
    return {
        "p": rng.normal(size=PARAMETERS) / 3,
        "weights": weights / weights.sum(axis=1, keepdims=True),
        "vertices": vertices,
        "seen": rng.normal(size=(len(_read(v)), 3)),
    }


WORKLOADS = [
    Workload(
        number=7,
        name="camera Jacobian",
        task=Task.JACOBIAN,
        formula=reprojection,
        hand=reprojection_jacobian,
        data=_observations,
        points=True,
        sizes={"n=100000": {"n": 100_000}},
        tiny={"n": 4},
        peers=("jax", "torch", "autograd", "casadi", "heyoka", "symengine", "lambdify"),
    ),
    Workload(
        number=8,
        name="perceptron",
        task=Task.GRADIENT,
        formula=perceptron,
        hand=perceptron_by_hand,
        data=_batch,
        wrt=("A", "a", "B", "b", "C", "c"),
        sizes={f"batch {n}": {"batch": n, "width": 128} for n in (64, 1024)},
        tiny={"batch": 3, "width": 4},
        peers=PEERS,
    ),
    Workload(
        number=9,
        name="logsumexp",
        task=Task.GRADIENT,
        formula=lambda np, x: np.logsumexp(x, axis=0),
        hand=logsumexp_by_hand,
        data=lambda rng, n: {"x": rng.normal(size=n)},
        sizes={"n=1000000": {"n": 1_000_000}},
        tiny={"n": 5},
        peers=("casadi", *PEERS),
    ),
    Workload(
        number=9,
        name="softmax cross-entropy",
        task=Task.GRADIENT,
        formula=cross_entropy,
        hand=cross_entropy_by_hand,
        data=lambda rng, n, k: {"z": rng.normal(size=(n, k)), "Y": _one_hot(rng, n, k)},
        wrt=("z",),
        sizes={"10000×100": {"n": 10_000, "k": 100}},
        tiny={"n": 4, "k": 3},
        peers=PEERS,
    ),
    Workload(
        number=10,
        name="Gaussian mixture",
        task=Task.GRADIENT,
        formula=mixture,
        hand=mixture_by_hand,
        data=_mixture,
        wrt=("alphas", "means", "factors"),
        sizes={
            f"d={d}, k={k}": {"d": d, "k": k, "n": 1_000}
            for d, k in ((2, 5), (10, 25), (32, 25), (64, 25))
        },
        tiny={"d": 3, "k": 2, "n": 4},
        peers=PEERS,
    ),
    Workload(
        number=11,
        name="hand tracking",
        task=Task.JACOBIAN,
        formula=skinning,
        hand=skinning_jacobian,
        data=_hand,
        wrt=("p",),
        sizes={"10000 vertices": {"v": 10_000}},
        tiny={"v": 70},
        peers=PEERS,
    ),
]
