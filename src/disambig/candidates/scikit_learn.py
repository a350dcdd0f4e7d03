"""What scikit-learn may read candidate sets as: rows, never a matrix of labels that are all right.

scikit-learn takes a matrix of 0 and 1 as *y* for several labels of a row that are all right. Of a
candidate set one is. So a metric, a forest or a stack of classifiers that turned sets into such a
matrix would compute something, silently, that means nothing. What takes rows of *y* and hands them
on (folds, searches, pipelines) never looks at them as a matrix.
"""

from types import FrameType

from disambig._core.errors import CandidateError

# These ask only what kind of y it is, or keep equal rows in equal shares.
_MAY_LOOK = {
    "check_cv",
    "StratifiedShuffleSplit.split",
    "StratifiedShuffleSplit._iter_indices",
}
# What to do instead, by where in scikit-learn the sets were read.
_ADVICE = {
    "sklearn.metrics": (
        "Score by the sets: scoring=covering_rate_scorer, approximated_accuracy_scorer or "
        "set_log_likelihood_scorer, from disambig.metrics; or give true labels."
    ),
    "sklearn.calibration": (
        "Calibrate a fitted method with true labels: "
        "CalibratedClassifierCV(FrozenEstimator(method)).fit(X, true_labels)."
    ),
    "sklearn.ensemble": (
        "Fit methods of disambig by themselves and average their predict_proba, or give labels "
        "that one of them has disambiguated: method.disambiguate()."
    ),
    "sklearn.feature_selection": (
        "Choose features by a method that learns from sets: SelectFromModel(EMClassifier())."
    ),
    "sklearn.model_selection._classification_threshold": (
        "Choose a threshold with true labels, or use ConformalSets."
    ),
    "sklearn.model_selection._split": "Use KFold, or GroupKFold where rows come together.",
    "sklearn.model_selection._search_successive_halving": (
        "Use GridSearchCV or RandomizedSearchCV."
    ),
    "sklearn.model_selection._validation": (
        "Loop over the folds: method.fit(X[train], y[train]).predict_proba(X[test])."
    ),
    "sklearn": (
        "Use a method of disambig, or give labels that one has disambiguated: "
        "method.disambiguate()."
    ),
}
# Parts that others are made of, and that nobody calls with sets.
_HELPERS = ("sklearn.base", "sklearn.utils", "sklearn.preprocessing._label")


def refuse_scikit_learn(frame: FrameType | None) -> None:
    """Refuse to be read as a matrix of labels by scikit-learn; everybody else may.

    ``frame`` is where the matrix was asked for. Names of functions and modules are all that is
    looked at, so a scikit-learn that moves them is answered by an error with plainer advice.
    """
    callers = []
    while frame is not None and _package(frame) in ("numpy", "scipy", "sklearn"):
        if _package(frame) == "sklearn":
            callers.append(frame)
        frame = frame.f_back
    if not callers or any(caller.f_code.co_qualname in _MAY_LOOK for caller in callers):
        return
    place = next(p for p in _ADVICE if any(_module(caller).startswith(p) for caller in callers))
    there = [caller for caller in callers if _module(caller).startswith(place)]
    raise CandidateError(
        f"{_name(there)} of scikit-learn would take all candidates of a row for right, and only "
        f"one of them is. {_ADVICE[place]}"
    )


def _module(frame: FrameType) -> str:
    name: str = frame.f_globals.get("__name__", "")
    return name


def _package(frame: FrameType) -> str:
    return _module(frame).partition(".")[0]


def _name(callers: list[FrameType]) -> str:
    """Return what was called with the sets, as users know it: a class or a function."""
    names = []
    for caller in callers:
        name, owner = caller.f_code.co_name, caller.f_locals.get("self")
        helps = _module(caller).startswith(_HELPERS)
        name = name if owner is None else type(owner).__name__
        if name.isidentifier() and not name.startswith("_"):
            names.append((not helps, name))
    # The outermost, but a helper only where there is nothing else.
    is_found = any(found for found, _ in names)
    return next((name for found, name in reversed(names) if found == is_found), "A function")
