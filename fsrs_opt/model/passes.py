"""Hand-written passes over cards: loss, gradient and Fisher matrix without an autograd graph.

A *pass* runs every card's recurrence once and scores all of its reviews. Cards lie side by side,
longest first, so that step k of all cards that are that long is one vector operation: the work grows
with the number of reviews, not with cards times the longest history.

Every forward line stands beside its derivative in `_later_review`. Two sweeps use it: `_reverse`
(gradient, from the last step back) and `_forward_mode` (gradient and Fisher matrix, with the
derivatives of every card's state carried along). Formulas: `fsrs6.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fsrs_opt.model.fsrs6 import R_CLAMP, as_array, forgetting_curve, initial_state, next_state
from fsrs_opt.model.parameters import D_MAX, D_MIN, N_PARAMETERS, S_MAX, S_MIN, FloatArray
from fsrs_opt.model.pass_result import PassResult

LN_09 = math.log(0.9)


@dataclass(frozen=True)
class Steps:
    """Histories turned on their side: step k holds review k of all cards that have one.

    delta_t, rating, weight: [n_reviews] in step-major order; `starts` [longest + 1]: where each step
    begins; source int64 [n_reviews]: index of the review in the card-major arrays it came from.
    Within a step the cards are ordered longest first, so the cards of step k are the first of step k - 1.
    """

    delta_t: Tensor
    rating: Tensor
    weight: Tensor
    starts: list[int]
    source: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def parameters(self, w: FloatArray) -> Tensor:
        """Parameters [21] in the form of these numbers."""
        return torch.tensor(w, dtype=self.delta_t.dtype, device=self.delta_t.device)

    def step(self, k: int) -> tuple[Tensor, Tensor, Tensor]:
        """delta_t, rating, weight of step k."""
        here = slice(self.starts[k], self.starts[k + 1])
        return self.delta_t[here], self.rating[here], self.weight[here]


def make_steps(
    offsets: NDArray[np.int64],
    delta_t: NDArray[np.integer] | NDArray[np.floating],
    rating: NDArray[np.integer],
    weight: NDArray[np.floating],
    *,
    dtype: str,
    device: torch.device | str,
) -> Steps:
    """Card-major arrays (card c owns reviews offsets[c]:offsets[c + 1]) as `Steps`. dtype: "float64", ..."""
    of_numbers: torch.dtype = getattr(torch, dtype)
    lengths = np.diff(offsets)
    longest_first = np.argsort(-lengths, kind="stable")
    rank = np.empty_like(longest_first)
    rank[longest_first] = np.arange(len(lengths))
    position = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
    per_step = np.bincount(position, minlength=0)
    starts = np.concatenate([[0], np.cumsum(per_step)])
    source = np.empty(len(position), dtype=np.int64)
    source[starts[position] + np.repeat(rank, lengths)] = np.arange(len(position))
    return Steps(
        delta_t=torch.as_tensor(delta_t[source], dtype=of_numbers, device=device),
        rating=torch.as_tensor(rating[source], dtype=of_numbers, device=device),
        weight=torch.as_tensor(weight[source], dtype=of_numbers, device=device),
        starts=starts.tolist(),
        source=source,
    )


@contextmanager
def _one_thread() -> Iterator[None]:
    """Sums of several threads depend on their number; the same input must give the same output."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _columns(*columns: Tensor) -> Tensor:
    return torch.stack(columns, dim=1)


def _inside(value: Tensor, low: float, high: float) -> Tensor:
    return ((value >= low) & (value <= high)).to(value.dtype)


@dataclass(frozen=True)
class _First:
    """First review: state and which of w0..w3 it comes from; derivatives of D by w4, w5."""

    stability: Tensor
    difficulty: Tensor
    D_w: Tensor  # [n, 2]
    one_hot: Tensor  # [n, 4]


def _first_review(rating: Tensor, w: list[float]) -> _First:
    one_hot = torch.nn.functional.one_hot(rating.long() - 1, 4).to(rating.dtype)
    stability = one_hot @ torch.tensor(w[:4], dtype=rating.dtype, device=rating.device)
    growth = torch.exp(w[5] * (rating - 1))
    raw = w[4] - growth + 1
    inside = _inside(raw, D_MIN, D_MAX)
    D_w = _columns(inside, -(rating - 1) * growth * inside)
    return _First(stability, raw.clamp(D_MIN, D_MAX), D_w, one_hot)


@dataclass(frozen=True)
class _Later:
    """A later review: retrievability before it, state after it, and the derivatives of all three.

    S_* and D_* are derivatives of the new stability and difficulty; S_w [n, 12] by w8..w19 and
    D_w [n, 4] by w4..w7; w20 acts through the retrievability only (R_w20).
    """

    retrievability: Tensor
    stability: Tensor
    difficulty: Tensor
    R_S: Tensor
    R_w20: Tensor
    S_S: Tensor
    S_D: Tensor
    S_R: Tensor
    S_w: Tensor
    D_D: Tensor
    D_w: Tensor


def _later_review(S: Tensor, D: Tensor, t: Tensor, rating: Tensor, w: list[float]) -> _Later:
    """One later review from the state (S, D), inside its ranges, with every line's derivative beside it."""
    zero, one = torch.zeros_like(S), torch.ones_like(S)
    ln_S = torch.log(S)

    # retrievability
    factor = math.expm1(-LN_09 / w[20])
    factor_w20 = (factor + 1) * LN_09 / w[20] ** 2
    u = 1 + factor * t / S
    ln_u = torch.log(u)
    R = torch.exp(-w[20] * ln_u)
    R_S = R * w[20] * factor * t / (S * S * u)
    R_w20 = -R * (ln_u + w[20] * factor_w20 * t / (S * u))

    # same day
    inc = torch.exp(w[17] * (rating - 3 + w[18]) - w[19] * ln_S)
    raised = (rating >= 2) & (inc < 1)
    same = S * torch.where(raised, one, inc)
    same_S = torch.where(raised, one, inc * (1 - w[19]))
    raw = torch.where(raised, zero, S * inc)
    same_w17, same_w18, same_w19 = raw * (rating - 3 + w[18]), raw * w[17], -raw * ln_S

    # lapse
    ln_S1, ln_D = torch.log1p(S), torch.log(D)
    power = torch.exp(w[13] * ln_S1)
    scale = torch.exp(-w[12] * ln_D + w[14] * (1 - R))
    new = w[11] * scale * (power - 1)
    ceiling = S * math.exp(-w[17] * w[18])
    below = new <= ceiling
    lapse = torch.where(below, new, ceiling)
    lapse_S = torch.where(below, w[11] * scale * w[13] * power / (S + 1), ceiling / S)
    free = torch.where(below, new, zero)
    lapse_D, lapse_R = -w[12] * free / D, -w[14] * free
    lapse_w11 = torch.where(below, scale * (power - 1), zero)
    lapse_w12, lapse_w14 = -free * ln_D, free * (1 - R)
    lapse_w13 = torch.where(below, w[11] * scale * power * ln_S1, zero)
    held = lapse - free
    lapse_w17, lapse_w18 = -held * w[18], -held * w[17]

    # recall
    hard, easy = rating == 2, rating == 4
    h = torch.where(hard, w[15] * one, one)
    b = torch.where(easy, w[16] * one, one)
    slow = torch.exp(w[8] - w[9] * ln_S)
    gain = torch.expm1(w[10] * (1 - R))
    plain = S * (11 - D) * slow * gain  # growth without the factors of Hard and Easy
    grown = plain * h * b
    recall = S + grown
    recall_S = 1 + grown * (1 - w[9]) / S
    recall_D = -S * slow * gain * h * b
    through_gain = S * (11 - D) * slow * (gain + 1) * h * b
    recall_R = -w[10] * through_gain
    recall_w8, recall_w9, recall_w10 = grown, -grown * ln_S, through_gain * (1 - R)
    recall_w15 = torch.where(hard, plain, zero)
    recall_w16 = torch.where(easy, plain, zero)

    # the branch that was taken
    same_day, lapsed = t == 0, rating == 1
    by_lapse = ~same_day & lapsed
    by_recall = ~same_day & ~lapsed

    def chosen(if_same: Tensor, if_lapse: Tensor, if_recall: Tensor) -> Tensor:
        return torch.where(same_day, if_same, torch.where(lapsed, if_lapse, if_recall))

    raw_S = chosen(same, lapse, recall)
    pass_S = _inside(raw_S, S_MIN, S_MAX)
    lapse_pass, recall_pass = by_lapse * pass_S, by_recall * pass_S
    same_pass = same_day * pass_S
    S_w = _columns(
        recall_w8 * recall_pass,
        recall_w9 * recall_pass,
        recall_w10 * recall_pass,
        lapse_w11 * lapse_pass,
        lapse_w12 * lapse_pass,
        lapse_w13 * lapse_pass,
        lapse_w14 * lapse_pass,
        recall_w15 * recall_pass,
        recall_w16 * recall_pass,
        same_w17 * same_pass + lapse_w17 * lapse_pass,
        same_w18 * same_pass + lapse_w18 * lapse_pass,
        same_w19 * same_pass,
    )

    # difficulty
    change = -(rating - 3) / 9
    damped = D + (10 - D) * w[6] * change
    easy_growth = math.exp(3 * w[5])
    target = w[4] - easy_growth + 1
    raw_D = w[7] * (target - damped) + damped
    pass_D = _inside(raw_D, D_MIN, D_MAX)
    D_D = (1 - w[7]) * (1 - w[6] * change) * pass_D
    D_w = _columns(
        w[7] * pass_D,
        -3 * w[7] * easy_growth * pass_D,
        (1 - w[7]) * (10 - D) * change * pass_D,
        (target - damped) * pass_D,
    )

    return _Later(
        retrievability=R,
        stability=raw_S.clamp(S_MIN, S_MAX),
        difficulty=raw_D.clamp(D_MIN, D_MAX),
        R_S=R_S,
        R_w20=R_w20,
        S_S=chosen(same_S, lapse_S, recall_S) * pass_S,
        S_D=chosen(zero, lapse_D, recall_D) * pass_S,
        S_R=chosen(zero, lapse_R, recall_R) * pass_S,
        S_w=S_w,
        D_D=D_D,
        D_w=D_w,
    )


def _score(R: Tensor, rating: Tensor, weight: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Summed loss, its derivative by R, and the Fisher weight of each review."""
    recalled = rating > 1
    r = R.clamp(R_CLAMP, 1 - R_CLAMP)
    inside = _inside(R, R_CLAMP, 1 - R_CLAMP)
    loss = -(weight * torch.where(recalled, torch.log(r), torch.log1p(-r))).sum()
    by_R = weight * torch.where(recalled, -1 / r, 1 / (1 - r)) * inside
    return loss, by_R, weight * inside / (r * (1 - r))


def _reverse(steps: Steps, w: Tensor) -> PassResult:
    """Loss and gradient: states forwards, then derivatives from the last step back."""
    states = [initial_state(steps.step(0)[1], w)]
    for k in range(1, len(steps)):
        t, rating, _ = steps.step(k)
        S, D = states[-1]
        states.append(next_state(S[: len(t)], D[: len(t)], t, rating, w))

    values = w.tolist()
    loss = torch.zeros((), dtype=torch.float64, device=w.device)
    gradient = torch.zeros_like(w)
    grad_S = torch.zeros(0, dtype=w.dtype, device=w.device)
    grad_D = grad_S
    for k in range(len(steps) - 1, 0, -1):
        t, rating, weight = steps.step(k)
        later = _later_review(*_in_range(states[k - 1], len(t)), t, rating, values)
        step_loss, by_R, _ = _score(later.retrievability, rating, weight)
        loss += step_loss
        grad_S, grad_D = _padded(grad_S, len(t)), _padded(grad_D, len(t))
        grad_R = by_R + grad_S * later.S_R
        gradient[8:20] += grad_S @ later.S_w
        gradient[4:8] += grad_D @ later.D_w
        gradient[20] += grad_R @ later.R_w20
        grad_S, grad_D = (
            grad_S * later.S_S + grad_R * later.R_S,
            grad_S * later.S_D + grad_D * later.D_D,
        )
    first = _first_review(steps.step(0)[1], values)
    n = len(first.stability)
    gradient[:4] += _padded(grad_S, n) @ first.one_hot
    gradient[4:6] += _padded(grad_D, n) @ first.D_w
    return PassResult(loss.item(), as_array(gradient))


def _in_range(state: tuple[Tensor, Tensor], n: int) -> tuple[Tensor, Tensor]:
    """The state of the first n cards, those that have a next review, inside its ranges."""
    return state[0][:n].clamp(S_MIN, S_MAX), state[1][:n].clamp(D_MIN, D_MAX)


def _padded(values: Tensor, n: int) -> Tensor:
    """Cards whose history ends here have no derivative from later steps."""
    return torch.nn.functional.pad(values, (0, n - len(values)))


def _forward_mode(steps: Steps, w: Tensor) -> PassResult:
    """Loss, gradient and Fisher matrix: the derivatives of each card's state by w run along with it."""
    values = w.tolist()
    first = _first_review(steps.step(0)[1], values)
    S, D = first.stability, first.difficulty
    S_by_w = torch.zeros(len(S), N_PARAMETERS, dtype=w.dtype, device=w.device)
    D_by_w = torch.zeros_like(S_by_w)
    S_by_w[:, :4] = first.one_hot
    D_by_w[:, 4:6] = first.D_w
    loss = torch.zeros((), dtype=torch.float64, device=w.device)
    gradient = torch.zeros_like(w)
    fisher = torch.zeros(N_PARAMETERS, N_PARAMETERS, dtype=w.dtype, device=w.device)
    for k in range(1, len(steps)):
        t, rating, weight = steps.step(k)
        n = len(t)
        S_by_w, D_by_w = S_by_w[:n], D_by_w[:n]
        later = _later_review(*_in_range((S, D), n), t, rating, values)
        R_by_w = later.R_S[:, None] * S_by_w
        R_by_w[:, 20] += later.R_w20
        step_loss, by_R, information = _score(later.retrievability, rating, weight)
        loss += step_loss
        gradient += by_R @ R_by_w
        fisher += R_by_w.T @ (information[:, None] * R_by_w)
        S_by_w = later.S_S[:, None] * S_by_w + later.S_D[:, None] * D_by_w + later.S_R[:, None] * R_by_w
        S_by_w[:, 8:20] += later.S_w
        D_by_w = later.D_D[:, None] * D_by_w
        D_by_w[:, 4:8] += later.D_w
        S, D = later.stability, later.difficulty
    return PassResult(loss.item(), as_array(gradient), as_array(fisher))


@torch.no_grad()
def evaluate(steps: Steps, w: FloatArray, *, fisher: bool = False) -> PassResult:
    """Loss and gradient (and the Fisher matrix) of all scored reviews in `steps` at parameters `w` [21].

    Fisher matrix = sum of weight (dR/dw)(dR/dw)^T / (R (1 - R)). The gradient is checked against
    autograd of `FSRS6.forward_classification` in the tests.
    """
    if len(steps) == 0:
        none = np.zeros(N_PARAMETERS)
        return PassResult(0.0, none, np.outer(none, none) if fisher else None)
    with _one_thread():
        return (_forward_mode if fisher else _reverse)(steps, steps.parameters(w))


@torch.no_grad()
def predict(steps: Steps, w: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Retrievability before, stability and difficulty after each review, in card-major order.

    float64 [n_reviews] each; retrievability is NaN at the first review of a card.
    """
    n = len(steps.source)
    at = steps.parameters(w)
    out = np.full((3, n), np.nan)
    S = D = torch.zeros(0)
    with _one_thread():
        for k in range(len(steps)):
            t, rating, _ = steps.step(k)
            here = steps.source[steps.starts[k] : steps.starts[k + 1]]
            if k == 0:
                S, D = initial_state(rating, at)
            else:
                S, D = S[: len(t)], D[: len(t)]
                out[0, here] = as_array(forgetting_curve(t, S.clamp(S_MIN, S_MAX), at))
                S, D = next_state(S, D, t, rating, at)
            out[1, here], out[2, here] = as_array(S), as_array(D)
    return out[0], out[1], out[2]
