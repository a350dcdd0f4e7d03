"""Nasty arrays for every method: fitted twice, saved and loaded, in a child with limits."""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from campaign import Campaign, Outcome, in_child

COUNT = 1_000
LISTED = 600  # of them are one nasty thing each, drawn from all; the others are several at once
SECONDS = 60
FITTED, REFUSED = "fitted", "refused"
# Small enough for a thousand fits in minutes; networks and rounds are the same code when larger.
SMALL = {
    "aggd": {"n_neighbors": 4, "max_iter": 2},
    "cc": {"hidden": 8, "epochs": 3},
    "lsbcmm": {"max_iter": 10},
    "m3pl": {"growth": 5.0},
    "ncpd": {"hidden": 8, "epochs": 4, "ramp_epochs": 2, "batch_size": 16},
    "ncpd_plus": {"hidden": 8, "epochs": 4, "batch_size": 16},
    "plsvm": {"max_iter": 100},
    "proden": {"hidden": 8, "epochs": 3},
    "sure": {"max_iter": 10},
}
# One of these in cases that are drawn.
OTHERS = (
    {"scaling": "none"}, {"scaling": "half"}, {"scaling": "global"}, {"scaling": "quantile"},
    {"unit_rows": False}, {"unit_rows": True}, {"n_neighbors": 1}, {"n_neighbors": 1000},
    {"penalty": 1e-6}, {"penalty": 1e6}, {"batch_norm": False}, {"hidden": [4, 4]},
    {"select": "none"}, {"precision": "single"}, {"activation": "mish"}, {"weights": "uniform"},
    {"C": 1e6}, {"validation": 0.3}, {"dropout": 0.0}, {"decay": 1.0},
)  # fmt: skip


class FaultError(Exception):
    """Something that a fit must not do."""


def try_fits(seed: int, numbers: Sequence[int], folder: Path) -> Iterator[Outcome]:
    """Fit methods to numbered nasty problems, of one kind each and then of several."""
    import torch
    from nasty_arrays import FEATURE_KINDS, set_kinds

    from disambig.methods import all_methods

    torch.set_num_threads(1)
    methods, sets = all_methods(), set_kinds()
    listed = [
        *((method, kind, "plain", {}) for kind in FEATURE_KINDS for method in methods),
        *((method, "plain", kind, {}) for kind in sets for method in methods if kind != "plain"),
    ]
    # Neighbours in the list are alike: a short run meets all sorts.
    random.Random(seed).shuffle(listed)
    right = [kind for kind, nasty in FEATURE_KINDS.items() if nasty.is_right is not False]
    right_sets = [kind for kind, nasty in sets.items() if nasty.is_right is not False]
    for number in numbers:
        draw = random.Random(f"{seed} fits {number}")
        if number < LISTED:
            method, features, kind, others = listed[number]
        else:
            method = draw.choice(list(methods))
            features, kind = draw.choice(right), draw.choice(right_sets)
            known = methods[method]().get_params()
            fitting = [other for other in OTHERS if set(other) <= set(known)]
            others = draw.choice([{}, *fitting])
        yield try_fit(method, features, kind, others, number, draw.getrandbits(32), folder)


def try_fit(
    name: str,
    features: str,
    kind: str,
    others: dict[str, Any],
    number: int,
    seed: int,
    folder: Path,
) -> Outcome:
    """Fit one method to one nasty problem, and say what came of it."""
    case = f"{name}: features: {features}, sets: {kind}, {others or 'small'}"
    child = in_child(lambda: fit_and_judge(name, features, kind, others, seed, folder), SECONDS)
    if child.ended == "returned":
        return Outcome(case, str(child.value), number=number)
    failure = str(child.value) if child.ended == "raised" else child.ended
    return Outcome(case, "failed", failure, number)


def fit_and_judge(
    name: str, features: str, kind: str, others: dict[str, Any], seed: int, folder: Path
) -> str:
    """Return whether the problem was fitted or refused; raise ``FaultError`` if it went wrong."""
    import numpy as np
    from nasty_arrays import CLASSES, FEATURE_KINDS, ROWS, plain_features, plain_mask, set_kinds

    from disambig.methods import get_method

    draw = np.random.default_rng(seed)
    truth = draw.integers(CLASSES, size=ROWS)
    of_features, of_sets = FEATURE_KINDS[features], set_kinds()[kind]
    wanted = {of_features.is_right, of_sets.is_right}
    if others or name == "oracle":  # other parameters may be wrong for it
        wanted.add(None)
    try:
        X = of_features.make(draw, plain_features(draw, truth))
        y = of_sets.make(draw, plain_mask(draw, truth)[: len(X) if hasattr(X, "__len__") else None])
        before = [fingerprint(X), fingerprint(y), random_states()]
        method = get_method(name)(**{**SMALL.get(name, {}), **others})
        if "random_state" in method.get_params():
            method.set_params(random_state=seed % 1000)
        probabilities = judge_fits(method, X, y, folder / "model")
    except (ValueError, TypeError) as error:
        check_refusal(error, X if "X" in locals() else None, wanted)
        return REFUSED
    if before != [fingerprint(X), fingerprint(y), random_states()]:
        raise FaultError("inputs or global random states were changed")
    if False in wanted:
        raise FaultError(f"accepted, with probabilities such as {probabilities[0]}")
    return FITTED


def judge_fits(method: Any, X: Any, y: Any, path: Path) -> Any:
    """Fit a method twice, save and load it; return its probabilities of rows far away."""
    import numpy as np
    from nasty_arrays import far_rows
    from scipy import sparse
    from sklearn.base import clone

    from disambig.candidates.target import as_candidates

    first, second = (clone(method).fit(X, y) for _ in range(2))
    new = far_rows(X.toarray() if sparse.issparse(X) else X)
    sets = as_candidates(y)
    confidences = first.candidate_confidence_.toarray()
    check_distributions("confidences", confidences)
    if (confidences[~sets.to_mask()] != 0).any():
        raise FaultError("a confidence outside the candidate set")
    if not sets.contains(first.disambiguate()).all():
        raise FaultError("a label outside the candidate set")
    try:
        probabilities = first.predict_proba(new)
    except ValueError as error:
        raise FaultError(f"finite rows are not predicted: {error}") from error
    check_distributions("probabilities", probabilities)
    if not np.array_equal(confidences, second.candidate_confidence_.toarray()):
        raise FaultError("the same seed gives other confidences")
    if not np.array_equal(probabilities, second.predict_proba(new)):
        raise FaultError("the same seed gives other probabilities")
    first.save(path)
    if not np.array_equal(probabilities, type(method).load(path).predict_proba(new)):
        raise FaultError("loaded, it gives other probabilities")
    return probabilities


def check_distributions(what: str, values: Any) -> None:
    """Refuse what is not one distribution a row."""
    import numpy as np

    if not np.isfinite(values).all():
        row = np.flatnonzero(~np.isfinite(values).all(axis=1))[0]
        raise FaultError(f"{what} that are not finite: row {row}: {values[row]}")
    if (values < 0).any():
        raise FaultError(f"{what} below zero: {values.min()}")
    if np.abs(values.sum(axis=1) - 1).max(initial=0) > 1e-5:
        raise FaultError(f"{what} sum to {values.sum(axis=1).min()} to {values.sum(axis=1).max()}")


def check_refusal(error: Exception, X: Any, wanted: set[bool | None]) -> None:
    """Accept an error that is one of ours or scikit-learn's, where the problem may be refused."""
    import numpy as np
    from scipy import sparse

    if wanted == {True}:
        raise FaultError(f"refused: {error}") from error
    message = str(error)
    if isinstance(error, TypeError) and not (sparse.issparse(X) or False in wanted):
        raise FaultError(f"TypeError: {message}") from error
    if len(message) < 20:
        raise FaultError(f"the message says too little: {message!r}") from error
    numbers = X.data if sparse.issparse(X) else X
    is_number = isinstance(numbers, np.ndarray) and numbers.dtype.kind in "fiub"
    claims = ("contains infinity", "contains NaN", "infs or NaNs")
    is_claimed = "Input y" not in message and any(claim in message for claim in claims)
    if is_number and is_claimed and np.isfinite(numbers).all():
        raise FaultError(f"not true of the features: {message}") from error


def fingerprint(value: Any) -> Any:
    """Return what shows whether an input was changed."""
    import numpy as np
    from scipy import sparse

    from disambig import CandidateLabels

    if isinstance(value, CandidateLabels):
        return fingerprint(value.to_mask()), fingerprint(value.weights)
    if sparse.issparse(value):
        whole = value.tocoo()
        return fingerprint(whole.data), [part.tobytes() for part in whole.coords], value.format
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.tobytes(), value.dtype, value.flags.writeable
    return repr(value)


def random_states() -> tuple[Any, ...]:
    """Return the global states of random numbers."""
    import numpy as np
    import torch

    _, keys, position, *_ = np.random.get_state()  # noqa: NPY002 - read, not used
    return random.getstate(), keys.tobytes(), position, torch.get_rng_state().numpy().tobytes()


CAMPAIGN = Campaign("fits", COUNT, try_fits)
