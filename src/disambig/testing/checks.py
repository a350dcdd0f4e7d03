"""Checks that every partial-label method must pass.

scikit-learn's ``check_estimator`` covers plain labels; these checks cover candidate sets. A check
that fails raises ``AssertionError`` with the reason, or passes on the error of the method.
"""

import inspect
import pickle
import random
import re
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from disambig._core.typing import AnyArray, FloatArray
from disambig.candidates.labels import CandidateLabels
from disambig.datasets.synthetic import make_partial_label_dataset

Check = Callable[[Any], None]


def check_partial_label_estimator(estimator: Any) -> None:
    """Run all checks on an unfitted estimator; the first that fails raises an error.

    Parameters
    ----------
    estimator : PartialLabelClassifier or anything with its methods
        The estimator, with parameters that make it fast on about a hundred rows.

    See Also
    --------
    partial_label_checks : Returns the single checks, for a parametrised test.

    Examples
    --------
    >>> from disambig import PLKNN
    >>> from disambig.testing import check_partial_label_estimator
    >>> check_partial_label_estimator(PLKNN(n_neighbors=5))
    """
    for check in partial_label_checks():
        check(estimator)


def partial_label_checks() -> list[Check]:
    """Return all checks; call each with an unfitted estimator.

    See Also
    --------
    check_partial_label_estimator : Runs them all.

    Examples
    --------
    >>> from disambig import PLKNN
    >>> from disambig.testing import partial_label_checks
    >>> check = partial_label_checks()[0]
    >>> check(PLKNN(n_neighbors=5))
    """
    return [
        value
        for name, value in globals().items()
        if name.startswith("check_") and value is not check_partial_label_estimator
    ]


# Data and helpers --------------------------------------------------------------------------------


class _Data:
    """Three well separated classes; an estimator that reads true labels is given those."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator
        made = make_partial_label_dataset(
            120, 4, 3, average_candidates=1.5, overlap=0.2, random_state=0
        )
        assert made.true_labels is not None
        self.X = made.X[:90]
        self.new_X = made.X[90:]
        self.truth = made.true_labels[:90]
        self.new_truth = made.true_labels[90:]
        self.y = made.candidates[:90]
        if _reads_true_labels(estimator):
            self.y = CandidateLabels.from_labels(self.truth)

    def fit(self, y: Any = None, *, X: Any = None) -> Any:
        """Return a fitted copy of the estimator, with a fixed seed."""
        copy = clone(self.estimator)
        if _is_random(copy):
            copy.set_params(random_state=0)
        return copy.fit(self.X if X is None else X, self.y if y is None else y)

    def proba(self, fitted: Any) -> FloatArray:
        """Return the probabilities of the new rows."""
        probabilities: FloatArray = fitted.predict_proba(self.new_X)
        return probabilities


def _reads_true_labels(estimator: Any) -> bool:
    return _role(estimator) == "true_label_baseline"


def _role(estimator: Any) -> str:
    return str(getattr(getattr(estimator, "card", None), "role", "method"))


def _is_random(estimator: Any) -> bool:
    return "random_state" in estimator.get_params()


def _confidence(fitted: Any) -> FloatArray:
    confidence = fitted.candidate_confidence_
    return np.asarray(confidence.toarray() if hasattr(confidence, "toarray") else confidence)


def _refusal(action: Callable[[], Any]) -> str:
    try:
        action()
    except ValueError as error:
        return str(error)
    raise AssertionError("input that should raise a ValueError was accepted")


# The checks --------------------------------------------------------------------------------------


def check_probabilities(estimator: Any) -> None:
    """Probabilities have one column per class, are not negative and sum to one."""
    data = _Data(estimator)
    fitted = data.fit()
    probabilities = data.proba(fitted)
    assert probabilities.shape == (len(data.new_X), 3), "one row per sample, one column per class"
    assert (probabilities >= 0).all(), "probabilities must not be negative"
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-5)
    expected = fitted.classes_[probabilities.argmax(axis=1)]
    assert (fitted.predict(data.new_X) == expected).all(), "predict is not the most probable class"


def check_confidences(estimator: Any) -> None:
    """Confidences sum to one in every row and are zero outside the candidates."""
    data = _Data(estimator)
    confidence = _confidence(data.fit())
    assert confidence.shape == data.y.shape, "one confidence for every training row and class"
    assert (confidence[~data.y.to_mask()] == 0).all(), "confidence outside the candidate sets"
    assert (confidence >= 0).all(), "confidences must not be negative"
    np.testing.assert_allclose(confidence.sum(axis=1), 1, atol=1e-5)


def check_disambiguation(estimator: Any) -> None:
    """The chosen label of a training row is its most confident candidate."""
    data = _Data(estimator)
    fitted = data.fit()
    chosen = fitted.disambiguate()
    assert len(chosen) == len(data.X), "one label for every training row"
    assert data.y.contains(chosen).all(), "a label outside the candidate set was chosen"
    confidence = _confidence(fitted)
    best = confidence.max(axis=1)
    assert (confidence[np.arange(len(chosen)), chosen] == best).all(), "not the most confident"


def check_disambiguates_better_than_a_guess(estimator: Any) -> None:
    """On separated classes most training rows are disambiguated correctly, except by a baseline."""
    if _role(estimator) == "candidate_baseline":
        return
    data = _Data(estimator)
    accuracy = np.mean(data.fit().disambiguate() == data.truth)
    assert accuracy >= 0.85, f"{accuracy:.2f} of the training rows are correct, a guess gets 0.75"


def check_learns_from_candidates(estimator: Any) -> None:
    """On separated classes with ambiguous sets, most new rows are predicted correctly."""
    data = _Data(estimator)
    accuracy = np.mean(data.fit().predict(data.new_X) == data.new_truth)
    assert accuracy >= 0.8, f"accuracy {accuracy:.2f} where 0.8 is easy"


def check_learns_from_plain_labels(estimator: Any) -> None:
    """With one candidate per row it is an ordinary classifier."""
    data = _Data(estimator)
    accuracy = np.mean(data.fit(data.truth).predict(data.new_X) == data.new_truth)
    assert accuracy >= 0.95, f"accuracy {accuracy:.2f} where 0.95 is easy"


def check_all_labels_everywhere(estimator: Any) -> None:
    """Sets that hold every class carry no information, and break nothing."""
    if _reads_true_labels(estimator):
        return
    data = _Data(estimator)
    fitted = data.fit(CandidateLabels.from_mask(np.ones(data.y.shape, dtype=bool)))
    assert np.isfinite(data.proba(fitted)).all(), "probabilities must be finite"


def check_unused_class(estimator: Any) -> None:
    """A class that is never a candidate still has its column."""
    data = _Data(estimator)
    fitted = data.fit(data.y.with_classes([0, 1, 2, 3]))
    probabilities = data.proba(fitted)
    assert probabilities.shape[1] == 4, "a class without candidates has no column"
    assert np.isfinite(probabilities).all(), "probabilities must be finite"


def check_single_class(estimator: Any) -> None:
    """If there is only one class, it is certain."""
    data = _Data(estimator)
    fitted = data.fit(CandidateLabels.from_labels(["only"] * len(data.X)))
    np.testing.assert_allclose(data.proba(fitted), 1, atol=1e-5)
    assert _confidence(fitted).shape == (len(data.X), 1), "one confidence for every training row"
    np.testing.assert_allclose(_confidence(fitted), 1, atol=1e-5)
    assert (fitted.predict(data.new_X) == "only").all(), "predict does not return the only label"


def check_repeated_rows(estimator: Any) -> None:
    """Repeated rows are treated alike, and all rows may be equal."""
    data = _Data(estimator)
    n_rows = len(data.X)
    twice = np.tile(np.arange(n_rows), 2)
    fitted = data.fit(data.y[twice], X=data.X[twice])
    probabilities = fitted.predict_proba(data.X[twice])
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(probabilities[n_rows:], probabilities[:n_rows], atol=1e-5)
    confidence = _confidence(fitted)
    np.testing.assert_allclose(confidence.sum(axis=1), 1, atol=1e-5)
    if not _is_random(estimator):
        np.testing.assert_allclose(confidence[n_rows:], confidence[:n_rows], atol=1e-3)
    same = np.repeat(data.X[:1], n_rows, axis=0)
    fitted = data.fit(X=same)
    np.testing.assert_allclose(_confidence(fitted).sum(axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(data.proba(fitted).sum(axis=1), 1, atol=1e-5)
    probabilities = fitted.predict_proba(same)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(probabilities, np.tile(probabilities[0], (n_rows, 1)), atol=1e-5)


def check_constant_features(estimator: Any) -> None:
    """Constant features change nothing, or little if the method draws random numbers."""
    data = _Data(estimator)
    constant = np.array([0.1, 7e5])  # their mean may be off in the last digit
    wider, new_wider = (
        np.column_stack([X, np.tile(constant, (len(X), 1))]) for X in (data.X, data.new_X)
    )
    found = data.fit(X=wider)
    accuracy = np.mean(found.predict(new_wider) == data.new_truth)
    assert accuracy >= 0.8, f"accuracy {accuracy:.2f} with constant features"
    if _is_random(estimator):  # with more features, other numbers are drawn
        return
    expected = data.fit()
    np.testing.assert_allclose(found.predict_proba(new_wider), data.proba(expected), atol=1e-6)
    np.testing.assert_allclose(_confidence(found), _confidence(expected), atol=1e-6)


def check_single_row(estimator: Any) -> None:
    """A single row works, or raises a ValueError."""
    data = _Data(estimator)
    try:
        fitted = data.fit(data.y[:1], X=data.X[:1])
    except ValueError:
        return
    assert len(fitted.predict(data.new_X)) == len(data.new_X), "one prediction per row"


def check_weights(estimator: Any) -> None:
    """Candidates may carry weights."""
    data = _Data(estimator)
    mask = data.y.to_mask()
    weighted = CandidateLabels.from_mask(mask, weights=mask * [1.0, 2.0, 3.0])
    confidence = _confidence(data.fit(weighted))
    assert (confidence[~mask] == 0).all(), "confidence outside the candidate sets"
    np.testing.assert_allclose(confidence.sum(axis=1), 1, atol=1e-5)


def check_weights_count(estimator: Any) -> None:
    """If only the weights distinguish candidates, the method learns from them."""
    if _reads_true_labels(estimator):
        return
    data = _Data(estimator)
    weights = np.where(np.arange(3) == data.truth[:, np.newaxis], 0.9, 0.05)
    everything = CandidateLabels.from_mask(np.ones(data.y.shape, dtype=bool), weights=weights)
    accuracy = np.mean(data.fit(everything).predict(data.new_X) == data.new_truth)
    assert accuracy >= 0.8, f"accuracy {accuracy:.2f}: the weights of candidates are ignored"


def check_equal_weights(estimator: Any) -> None:
    """Weights that are equal within each row have no effect."""
    data = _Data(estimator)
    mask = data.y.to_mask()
    sizes = 1.0 + np.arange(len(mask))[:, np.newaxis] % 7
    expected = data.fit()
    found = data.fit(CandidateLabels.from_mask(mask, weights=mask * sizes))
    np.testing.assert_allclose(data.proba(found), data.proba(expected), atol=1e-6)
    np.testing.assert_allclose(_confidence(found), _confidence(expected), atol=1e-6)


def check_promises_of_groups(estimator: Any) -> None:
    """A row that comes with one of a known label, and must have another, is not given that one."""
    if _reads_true_labels(estimator):
        return
    data = _Data(estimator)
    pairs = np.arange(len(data.X)) // 2
    # Pairs of the same row: nothing but the promise tells them apart.
    X = data.X[pairs * 2]
    mask = np.ones(data.y.shape, dtype=bool)
    known = CandidateLabels.from_labels(data.truth[::2], classes=data.y.classes).to_mask()
    mask[::2] = known
    y = CandidateLabels.from_mask(mask, data.y.classes)
    y = y.with_groups(pairs, promise="exclusive", strength=1.0)
    fitted = data.fit(y, X=X)
    confidence = _confidence(fitted)
    assert np.allclose(confidence.sum(axis=1), 1), "rows do not sum to one"
    assert confidence[1::2][known].max() < 0.01, "two rows of a group are given the same label"
    chosen = fitted.disambiguate(X[:2], y[:2])
    assert chosen[0] != chosen[1], "a new row has the label that the other one is known to have"


def check_class_names(estimator: Any) -> None:
    """Labels are returned as they were given, in the order of the candidates' classes."""
    data = _Data(estimator)
    names = np.array(["wolf", "cat", "dog"])  # not sorted
    sets = CandidateLabels.from_mask(data.y.to_mask(), names)
    fitted = data.fit(sets)
    assert list(fitted.classes_) == list(names), "classes_ are not the classes of the candidates"
    assert sets.contains(fitted.disambiguate()).all(), "disambiguate does not return labels"
    accuracy = np.mean(fitted.predict(data.new_X) == names[data.new_truth])
    assert accuracy >= 0.8, f"accuracy {accuracy:.2f}: predict does not return the right labels"


def check_rows_are_independent(estimator: Any) -> None:
    """The prediction for a row does not depend on the other rows."""
    data = _Data(estimator)
    fitted = data.fit()
    one_by_one = np.vstack([fitted.predict_proba(row[np.newaxis]) for row in data.new_X])
    np.testing.assert_allclose(one_by_one, data.proba(fitted), atol=1e-5)


def check_pickling(estimator: Any) -> None:
    """A fitted method can be pickled, to be sent to another process."""
    data = _Data(estimator)
    fitted = data.fit()
    try:
        copy = pickle.loads(pickle.dumps(fitted))  # noqa: S301  # made on the same line
    except (AttributeError, TypeError, pickle.PicklingError) as error:
        raise AssertionError(f"it cannot be pickled: {error}") from error
    np.testing.assert_array_equal(data.proba(copy), data.proba(fitted))
    np.testing.assert_array_equal(copy.disambiguate(), fitted.disambiguate())


def check_refused_fit(estimator: Any) -> None:
    """A fit that is refused does not mix the old model with the new one."""
    data = _Data(estimator)
    used = data.fit()
    _refusal(lambda: used.fit(data.X, data.y[:-1]))
    try:
        probabilities = data.proba(used)
    except NotFittedError:
        return
    expected = data.proba(data.fit())
    np.testing.assert_array_equal(probabilities, expected)


def check_forms_of_y(estimator: Any) -> None:
    """A container, a boolean mask and a sparse mask mean the same."""
    data = _Data(estimator)
    expected = data.proba(data.fit())
    for form in (data.y.to_mask(), data.y.to_sparse()):
        got = data.proba(data.fit(form))
        np.testing.assert_array_equal(got, expected, err_msg=f"y as {type(form).__name__}")


def check_class_order(estimator: Any) -> None:
    """Reordering classes changes nothing else, unless the method draws random numbers."""
    if _is_random(estimator):
        return
    data = _Data(estimator)
    expected = data.proba(data.fit())
    reordered = data.fit(data.y.with_classes([2, 0, 1]))
    assert list(reordered.classes_) == [2, 0, 1], "classes_ must keep the order of the candidates"
    np.testing.assert_allclose(data.proba(reordered), expected[:, [2, 0, 1]], atol=1e-3)


def check_sample_order(estimator: Any) -> None:
    """The order of training rows does not matter, unless the method draws random numbers."""
    if _is_random(estimator):
        return
    data = _Data(estimator)
    fitted = data.fit()
    order = np.random.default_rng(0).permutation(len(data.X))
    shuffled = data.fit(data.y[order], X=data.X[order])
    np.testing.assert_allclose(data.proba(shuffled), data.proba(fitted), atol=1e-3)
    np.testing.assert_allclose(_confidence(shuffled), _confidence(fitted)[order], atol=1e-3)


def check_inputs_unmodified(estimator: Any) -> None:
    """Features and masks are not modified."""
    data = _Data(estimator)
    X, mask = data.X.copy(), data.y.to_mask()
    fitted = data.fit(mask, X=X)
    fitted.predict(X)
    np.testing.assert_array_equal(X, data.X, err_msg="X was changed")
    np.testing.assert_array_equal(mask, data.y.to_mask(), err_msg="y was changed")


def check_refit_forgets(estimator: Any) -> None:
    """Fitting again gives the same as fitting for the first time."""
    data = _Data(estimator)
    used = data.fit(data.y[:40], X=data.X[:40] * 2).fit(data.X, data.y)
    fresh = data.fit()
    np.testing.assert_array_equal(data.proba(used), data.proba(fresh))


def check_reproducible(estimator: Any) -> None:
    """The same seed gives the same bits; global random states are not changed."""
    data = _Data(estimator)
    python_state, numpy_state = random.getstate(), _numpy_state()
    first = data.proba(data.fit())
    assert random.getstate() == python_state, "the state of the module random was changed"
    assert _numpy_state() == numpy_state, "the global state of NumPy was changed"
    second = data.proba(data.fit())
    np.testing.assert_array_equal(first, second)


def check_score_is_covering_rate(estimator: Any) -> None:
    """``score`` is the share of predictions inside the candidate sets."""
    data = _Data(estimator)
    fitted = data.fit()
    covered = data.y.contains(fitted.predict(data.X)).mean()
    assert fitted.score(data.X, data.y) == covered, "score is not the covering rate"


def check_bad_input(estimator: Any) -> None:
    """Bad input is refused with a message that says why."""
    data = _Data(estimator)
    lengths = _refusal(lambda: data.fit(data.y[:-1]))
    named = {"89", "90"} <= set(re.findall(r"\d+", lengths))
    assert named, f"the message does not name the lengths: {lengths}"
    integers = data.y.to_mask().astype(int)
    hint = _refusal(lambda: data.fit(integers))
    assert "from_mask" in hint, f"the message does not say how to give a mask: {hint}"
    missing = data.X.copy()
    missing[3, 1] = np.nan
    _refusal(lambda: data.fit(X=missing))


def check_documentation(estimator: Any) -> None:
    """Docstrings list the parameters as the signature does, and only attributes that exist.

    Both may be described by the docstring of a base class.
    """
    cls = type(estimator)
    parameters = [name for name in inspect.signature(cls).parameters if name != "self"]
    described = {name for base in cls.__mro__ for name in _documented_names(base, "Parameters")}
    missing = [name for name in parameters if name not in described]
    assert not missing, f"parameters without a description: {missing}"
    documented = _documented_names(cls, "Parameters")
    in_order = [name for name in parameters if name in documented]
    assert documented == in_order, f"documented {documented}, the signature has {parameters}"
    fitted = _Data(estimator).fit()
    attributes = {name for base in cls.__mro__ for name in _documented_names(base, "Attributes")}
    missing = [name for name in sorted(attributes) if not hasattr(fitted, name)]
    assert not missing, f"attributes that are documented but missing: {missing}"


def _numpy_state() -> tuple[bytes, int]:
    _, keys, position, *_ = np.random.get_state()  # noqa: NPY002  # read, not used
    state: AnyArray = np.asarray(keys)
    return state.tobytes(), int(position)


def _documented_names(cls: type, section: str) -> list[str]:
    """Return the names in one section of a numpydoc docstring."""
    text = inspect.cleandoc(cls.__doc__ or "")
    match = re.search(
        rf"^{section}\n-+\n(.*?)(?=^\w[^\n]*\n-+\n|\Z)", text, re.DOTALL | re.MULTILINE
    )
    lines = match.group(1).splitlines() if match else []
    return [
        name.strip()
        for line in lines
        if " : " in line and not line.startswith(" ")
        for name in line.split(" : ")[0].split(",")
    ]
