"""Batches, parameters and the slow float64 autograd reference that several test files share."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import strategies as st

from fsrs_opt.model import fsrs6
from fsrs_opt.model.batch import FSRSBatch, WindowedBatch
from fsrs_opt.model.parameters import D_MAX, D_MIN, LOWER, S_MAX, S_MIN, UPPER


def reference_batch(dtype: torch.dtype = torch.float64) -> FSRSBatch:
    """The batch of spec figures: four cards, six reviews each, then the scored review."""
    t = [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1], [0, 1, 1, 3], [1, 3, 3, 5], [3, 6, 6, 12]]
    r = [[1, 2, 3, 4], [3, 4, 2, 4], [1, 4, 4, 3], [4, 3, 3, 3], [3, 1, 3, 3], [2, 3, 3, 4]]
    return FSRSBatch(
        t_historys=torch.tensor(t, dtype=dtype),
        r_historys=torch.tensor(r, dtype=dtype),
        delta_ts=torch.tensor([4, 11, 12, 23], dtype=dtype),
        labels=torch.tensor([1, 1, 1, 0], dtype=dtype),
        weights=torch.ones(4, dtype=dtype),
    )


def windowed(cards: list[list[tuple[int, int]]], weight: float = 1.0) -> WindowedBatch:
    """cards: per card its reviews (delta_t, rating); reviews on a later day are scored."""
    offsets = np.cumsum([0] + [len(card) for card in cards]).astype(np.int64)
    delta_t = np.array([t for card in cards for t, _ in card], dtype=np.int32)
    rating = np.array([r for card in cards for _, r in card], dtype=np.int8)
    scored = delta_t > 0
    scored[offsets[:-1]] = False
    weights = np.where(scored, weight * (0.25 + 0.75 * (np.arange(len(rating)) % 7) / 6), 0.0)
    return WindowedBatch(offsets, rating, delta_t, weights, kernel="torch")


def random_batch(n_cards: int) -> WindowedBatch:
    """Cards of random histories, nine reviews long on average."""
    rng = np.random.default_rng(3)
    offsets = np.concatenate([[0], np.cumsum(rng.geometric(1 / 9, n_cards))])
    n = offsets[-1]
    delta_t = rng.integers(0, 40, n).astype(np.int32)
    delta_t[offsets[:-1]] = 0
    rating = rng.choice([1, 2, 3, 4], n, p=[0.1, 0.1, 0.7, 0.1]).astype(np.int8)
    return WindowedBatch(offsets, rating, delta_t, (delta_t > 0) * rng.random(n))


def item_retrievabilities(batch: WindowedBatch, w: torch.Tensor) -> tuple[torch.Tensor, np.ndarray]:
    """Retrievability of each scored review by the module's own equations, card after card, and its index."""
    values, where = [], []
    for start, end in zip(batch.offsets[:-1], batch.offsets[1:], strict=True):
        stability = difficulty = torch.zeros(())
        for i in range(start, end):
            rating = torch.tensor(float(batch.rating[i]), dtype=w.dtype)
            t = torch.tensor(float(batch.delta_t[i]), dtype=w.dtype)
            if i == start:
                stability, difficulty = fsrs6.initial_state(rating, w)
                continue
            if batch.weight[i] > 0:
                values.append(fsrs6.forgetting_curve(t, stability.clamp(S_MIN, S_MAX), w))
                where.append(i)
            stability, difficulty = fsrs6.next_state(
                stability.clamp(S_MIN, S_MAX), difficulty.clamp(D_MIN, D_MAX), t, rating, w
            )
    return (torch.stack(values) if values else torch.zeros(0, dtype=w.dtype)), np.array(where, dtype=int)


def autograd_pass(batch: WindowedBatch, w: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Loss, gradient and Fisher matrix by autograd in float64."""
    weights = torch.tensor(w, dtype=torch.float64, requires_grad=True)
    retrievability, where = item_retrievabilities(batch, weights)
    if not len(where):
        return 0.0, np.zeros(21), np.zeros((21, 21))
    labels = torch.from_numpy((batch.rating[where] > 1).astype(float))
    item_weights = torch.from_numpy(batch.weight[where])
    r = retrievability.clamp(fsrs6.R_CLAMP, 1 - fsrs6.R_CLAMP)
    loss = -(item_weights * (labels * torch.log(r) + (1 - labels) * torch.log1p(-r))).sum()
    gradient = torch.autograd.grad(loss, weights, retain_graph=True)[0]
    by_w = torch.stack([torch.autograd.grad(one, weights, retain_graph=True)[0] for one in r])
    information = (item_weights / (r * (1 - r))).detach()
    fisher = by_w.T @ (information[:, None] * by_w)
    return loss.item(), gradient.numpy(), fisher.numpy()


def relative_error(found: np.ndarray, expected: np.ndarray) -> float:
    """Largest difference, relative to the largest entry of the expected value (at least 1e-3)."""
    return float(np.abs(found - expected).max() / max(np.abs(expected).max(), 1e-3))


@st.composite
def weights(draw: st.DrawFn) -> np.ndarray:
    """Parameters inside the box, each with some probability on one of its faces."""
    place = np.array(draw(st.lists(st.floats(0, 1), min_size=21, max_size=21)))
    face = np.array(draw(st.lists(st.sampled_from([-1, 0, 0, 0, 0, 1]), min_size=21, max_size=21)))
    place = np.where(face < 0, 0.0, np.where(face > 0, 1.0, place))
    w = LOWER + place * (UPPER - LOWER)
    if draw(st.booleans()):
        w[17:20] = 0.0
    # initial stabilities spread over their decades
    w[:4] = np.sort(np.exp(np.log(LOWER[:4]) + place[:4] * np.log(UPPER[:4] / LOWER[:4])))
    return np.clip(w, np.where(np.arange(21) == 19, 0.0, LOWER), UPPER)


review = st.tuples(st.sampled_from([0, 0, 0, 1, 2, 3, 7, 30, 365, 5000]), st.integers(1, 4))
card = st.tuples(st.integers(1, 4), st.lists(review, max_size=8)).map(lambda c: [(0, c[0]), *c[1]])
cards = st.lists(card, min_size=1, max_size=6)
