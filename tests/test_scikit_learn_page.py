"""Every line of the table on the page about scikit-learn, run."""

import pickle
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn import metrics
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.experimental import enable_halving_search_cv  # noqa: F401  # or it is not there
from sklearn.feature_selection import (
    RFE,
    RFECV,
    SelectFromModel,
    SelectKBest,
    SequentialFeatureSelector,
    mutual_info_classif,
)
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    GroupKFold,
    HalvingGridSearchCV,
    HalvingRandomSearchCV,
    KFold,
    LeaveOneOut,
    RandomizedSearchCV,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    permutation_test_score,
    train_test_split,
    validation_curve,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.utils import resample, shuffle

from disambig import PLKNN, CandidateLabels, EMClassifier, FeatureScaler, NCPDClassifier
from disambig._core.errors import CandidateError
from disambig.datasets import make_partial_label_dataset
from disambig.metrics import (
    approximated_accuracy_scorer,
    covering_rate,
    covering_rate_scorer,
    set_log_likelihood_scorer,
)

PAGE = Path(__file__).resolve().parent.parent / "docs" / "scikit-learn.md"
DATA = make_partial_label_dataset(60, 4, 3, overlap=0.6, random_state=0)
X, Y, TRUTH = DATA.X, DATA.candidates, DATA.true_labels
KNN, EM = PLKNN(n_neighbors=5), EMClassifier()
FITTED = clone(EM).fit(X, Y)
GRID = {"n_neighbors": [1, 5]}


def rows_of_the_table():
    """Return, by its first cell, whether a line says that something works or is refused."""
    table = PAGE.read_text(encoding="utf-8").partition("## What works")[2].partition("\n## ")[0]
    cells = [line.split(" | ") for line in table.splitlines() if line.startswith("| ")]
    return {row[0].removeprefix("| "): row[1] for row in cells[1:] if "---" not in row[0]}


def same_rows(y, rows):
    assert y == Y.with_groups(np.arange(60) // 3).with_row_weights(np.arange(60) + 1.0)[rows]


def fits_and_predicts():
    for method in (KNN, EM):
        fitted = clone(method).fit(X, Y)
        probabilities = fitted.predict_proba(X)
        assert (fitted.predict(X) == Y.classes[probabilities.argmax(axis=1)]).all()
        with np.errstate(divide="ignore"):
            np.testing.assert_array_equal(fitted.predict_log_proba(X), np.log(probabilities))


def scores():
    assert FITTED.score(X, Y) == Y.contains(FITTED.predict(X)).mean()
    assert FITTED.score(X, TRUTH) == metrics.accuracy_score(TRUTH, FITTED.predict(X))


def copies():
    assert clone(KNN).get_params() == KNN.get_params()
    assert clone(KNN).set_params(n_neighbors=3).n_neighbors == 3
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(FITTED)).predict_proba(X), FITTED.predict_proba(X)
    )


def takes_sample_weight():
    weights = np.where(TRUTH == 0, 5.0, 1.0)
    weighted = clone(EM).fit(X, Y, sample_weight=weights).predict_proba(X)
    assert weighted[:, 0].mean() > FITTED.predict_proba(X)[:, 0].mean()
    folds = KFold(3, shuffle=True, random_state=0)
    found = cross_val_score(EM, X, Y.with_row_weights(weights), cv=folds, error_score="raise")
    expected = [
        clone(EM).fit(X[a], Y[a], sample_weight=weights[a]).score(X[b], Y[b])
        for a, b in folds.split(X)
    ]
    np.testing.assert_allclose(found, expected)
    with pytest.raises(CandidateError, match="PLKNN cannot use weights of rows"):
        clone(KNN).fit(X, Y.with_row_weights(weights))


def takes_class_weight():
    for weight in ("balanced", {0: 5.0}):
        fitted = EMClassifier(class_weight=weight).fit(X, Y)
        assert np.abs(fitted.predict_proba(X) - FITTED.predict_proba(X)).max() > 1e-4
    network = NCPDClassifier(hidden=8, epochs=2, ramp_epochs=1, random_state=0)
    plain = clone(network).fit(X, Y).predict_proba(X)
    heavy = clone(network).set_params(class_weight={0: 50.0}).fit(X, Y).predict_proba(X)
    assert heavy[:, 0].mean() > plain[:, 0].mean()


def starts_warm():
    method = EMClassifier(max_iter=1, warm_start=True).fit(X, Y)
    before = method.objective_[-1]
    assert method.fit(X, Y).objective_[-1] < before


def goes_through_pipelines():
    both = make_union(StandardScaler(), FeatureScaler(kind="quantile"))
    columns = make_column_transformer((StandardScaler(), [0, 1]), remainder="passthrough")
    for step in (StandardScaler(), columns, both):
        piped = make_pipeline(step, clone(EM)).fit(X, Y)
        alone = clone(EM).fit(clone(step).fit_transform(X), Y)
        np.testing.assert_array_equal(
            piped.predict_proba(X), alone.predict_proba(clone(step).fit_transform(X))
        )
        assert piped.score(X, Y) == covering_rate(Y, piped.predict(X))


def sets_output():
    frame = pd.DataFrame(X, columns=list("abcd"))
    scaler = FeatureScaler().set_output(transform="pandas")
    assert scaler.fit_transform(frame).columns.tolist() == list("abcd")
    fitted = make_pipeline(scaler, clone(EM)).fit(frame, Y)
    assert fitted[-1].feature_names_in_.tolist() == list("abcd")


def routes_metadata():
    weights, groups = np.where(TRUTH == 0, 5.0, 1.0), np.arange(60) // 3
    with sklearn.config_context(enable_metadata_routing=True):
        method = clone(EM).set_fit_request(sample_weight=True, groups=True)
        piped = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), method)
        found = cross_validate(
            piped, X, Y, cv=GroupKFold(3), params={"sample_weight": weights, "groups": groups},
            scoring=covering_rate_scorer, return_estimator=True, error_score="raise",
        )  # fmt: skip
    for fitted, (train, _) in zip(
        found["estimator"], GroupKFold(3).split(X, groups=groups), strict=True
    ):
        scaled = StandardScaler().fit_transform(X[train])
        alone = clone(EM).fit(scaled, Y[train], sample_weight=weights[train])
        np.testing.assert_array_equal(fitted[-1].coef_, alone.coef_)


def splits_rows():
    y = Y.with_groups(np.arange(60) // 3).with_row_weights(np.arange(60) + 1.0)
    numbers = np.arange(60)
    train, test, of_train, of_test = train_test_split(y, numbers, random_state=0)
    same_rows(train, of_train)
    same_rows(test, of_test)
    same_rows(*shuffle(y, numbers, random_state=0))
    same_rows(*resample(y, numbers, random_state=0))


def splits_by_equal_sets():
    train, test = train_test_split(Y, stratify=Y, test_size=0.5, random_state=0)
    count = {row: Y.to_strings().count(row) for row in set(Y.to_strings())}
    for row, total in count.items():
        assert abs(test.to_strings().count(row) - total / 2) <= 1
    assert len(train) + len(test) == 60


def deals_folds():
    for cv in (KFold(3), ShuffleSplit(3, random_state=0), GroupKFold(3), LeaveOneOut(), 5):
        folds = KFold(5) if cv == 5 else cv
        groups = np.arange(60) // 3 if isinstance(cv, GroupKFold) else None
        found = cross_val_score(KNN, X, Y, cv=cv, groups=groups, error_score="raise")
        expected = [
            covering_rate(Y[test], clone(KNN).fit(X[train], Y[train]).predict(X[test]))
            for train, test in folds.split(X, groups=groups)
        ]
        np.testing.assert_allclose(found, expected)


def scores_folds():
    found = cross_validate(KNN, X, Y, cv=KFold(3), error_score="raise")["test_score"]
    np.testing.assert_array_equal(found, cross_val_score(KNN, X, Y, cv=KFold(3)))
    assert (found > 0.5).all()


def scores_by_our_scorers():
    for scorer in (covering_rate_scorer, approximated_accuracy_scorer, set_log_likelihood_scorer):
        found = cross_val_score(EM, X, Y, cv=KFold(3), scoring=scorer, error_score="raise")
        expected = [scorer(clone(EM).fit(X[a], Y[a]), X[b], Y[b]) for a, b in KFold(3).split(X)]
        np.testing.assert_allclose(found, expected)


def predicts_by_folds():
    found = cross_val_predict(KNN, X, Y, cv=KFold(3))
    for train, test in KFold(3).split(X):
        assert (found[test] == clone(KNN).fit(X[train], Y[train]).predict(X[test])).all()


def searches():
    grid = GridSearchCV(KNN, GRID, cv=KFold(3), error_score="raise").fit(X, Y)
    random = RandomizedSearchCV(KNN, GRID, n_iter=2, cv=KFold(3), random_state=0).fit(X, Y)
    expected = [
        cross_val_score(PLKNN(n_neighbors=number), X, Y, cv=KFold(3)).mean() for number in (1, 5)
    ]
    np.testing.assert_allclose(grid.cv_results_["mean_test_score"], expected)
    assert grid.best_params_ == random.best_params_ == {"n_neighbors": [1, 5][np.argmax(expected)]}


def draws_curves():
    _, _, of_size = learning_curve(KNN, X, Y, cv=KFold(3), train_sizes=[0.5, 1.0])
    np.testing.assert_array_equal(of_size[1], cross_val_score(KNN, X, Y, cv=KFold(3)))
    _, of_value = validation_curve(
        KNN, X, Y, param_name="n_neighbors", param_range=[5], cv=KFold(3)
    )
    np.testing.assert_array_equal(of_value[0], of_size[1])
    score, by_chance, _ = permutation_test_score(
        KNN, X, Y, cv=KFold(3), n_permutations=5, random_state=0
    )
    assert score == of_size[1].mean()
    assert score > by_chance.mean()


def inspects():
    found = permutation_importance(FITTED, X, Y, n_repeats=3, random_state=0)
    assert found.importances_mean.max() > 0
    assert partial_dependence(FITTED, X, [0])["average"].shape[0] == 3


def selects_features():
    chosen = SelectFromModel(EM, max_features=2).fit(X, Y).get_support()
    sizes = np.linalg.norm(FITTED.coef_, axis=0, ord=1)
    assert set(np.flatnonzero(chosen)) <= set(np.argsort(sizes)[-2:])
    assert SequentialFeatureSelector(KNN, n_features_to_select=2, cv=KFold(3)).fit(
        X, Y
    ).get_support().sum() == 2  # fmt: skip


def calibrates_what_is_fitted():
    calibrated = CalibratedClassifierCV(FrozenEstimator(FITTED)).fit(X, TRUTH)
    assert calibrated.predict_proba(X).shape == (60, 3)


def scored_by(name):
    return lambda: cross_val_score(KNN, X, Y, cv=KFold(3), scoring=name, error_score="raise")


TWO = CandidateLabels.from_labels((TRUTH > 0).astype(int))
PREDICTED = FITTED.predict(X)

WORKS = {
    "`fit`, `predict`, `predict_proba`, `predict_log_proba`": fits_and_predicts,
    "`score`": scores,
    "`clone`, `get_params`, `set_params`, `pickle`": copies,
    "`sample_weight` in `fit`": takes_sample_weight,
    "`class_weight`": takes_class_weight,
    "`warm_start`": starts_warm,
    "`Pipeline`, `ColumnTransformer`, `FeatureUnion`": goes_through_pipelines,
    "`set_output`": sets_output,
    "metadata routing": routes_metadata,
    "`train_test_split`, `shuffle`, `resample`": splits_rows,
    "`train_test_split(stratify=y)`": splits_by_equal_sets,
    "`KFold`, `ShuffleSplit`, `GroupKFold`, `LeaveOneOut` and `cv=5`": deals_folds,
    "`cross_val_score`, `cross_validate`": scores_folds,
    "`scoring=` a scorer of `disambig.metrics`": scores_by_our_scorers,
    "`cross_val_predict`": predicts_by_folds,
    "`GridSearchCV`, `RandomizedSearchCV`": searches,
    "`learning_curve`, `validation_curve`, `permutation_test_score`": draws_curves,
    "`permutation_importance`, `partial_dependence`": inspects,
    "`SelectFromModel`, `SequentialFeatureSelector`": selects_features,
    "`CalibratedClassifierCV(FrozenEstimator(method))` with true labels": calibrates_what_is_fitted,
}
# Everything in a line must be refused.
REFUSED = {
    "`StratifiedKFold`, `StratifiedGroupKFold`": [
        lambda: list(StratifiedKFold(3).split(X, Y)),
        lambda: list(StratifiedGroupKFold(3).split(X, Y, np.arange(60) // 3)),
    ],
    '`scoring="accuracy"`, `"neg_log_loss"`, `"roc_auc"`, `"f1_macro"` and all other names': [
        scored_by(name) for name in metrics.get_scorer_names()
    ],
    "`accuracy_score`, `log_loss`, `confusion_matrix` and other metrics": [
        lambda: metrics.accuracy_score(Y, PREDICTED),
        lambda: metrics.log_loss(Y, FITTED.predict_proba(X)),
        lambda: metrics.confusion_matrix(Y, PREDICTED),
        lambda: metrics.classification_report(Y, PREDICTED),
        lambda: metrics.roc_auc_score(Y, FITTED.predict_proba(X)),
    ],
    '`cross_val_predict(method="predict_proba")`': [
        lambda: cross_val_predict(KNN, X, Y, cv=KFold(3), method="predict_proba"),
        lambda: cross_val_predict(KNN, X, Y, cv=KFold(3), method="predict_log_proba"),
    ],
    "`HalvingGridSearchCV`, `HalvingRandomSearchCV`": [
        lambda: HalvingGridSearchCV(KNN, GRID, cv=KFold(3)).fit(X, Y),
        lambda: HalvingRandomSearchCV(KNN, GRID, cv=KFold(3)).fit(X, Y),
    ],
    "`RFE`, `RFECV`, `SelectKBest`, `mutual_info_classif`": [
        lambda: RFE(EM).fit(X, Y),
        lambda: RFECV(EM).fit(X, Y),
        lambda: SelectKBest(k=2).fit(X, Y),
        lambda: mutual_info_classif(X, Y),
    ],
    "`CalibratedClassifierCV`": [
        lambda: CalibratedClassifierCV(EM).fit(X, Y),
        lambda: CalibratedClassifierCV(FrozenEstimator(FITTED)).fit(X, Y),
    ],
    "`BaggingClassifier`, `AdaBoostClassifier`": [
        lambda: BaggingClassifier(EM).fit(X, Y),
        lambda: AdaBoostClassifier(EM).fit(X, Y),
    ],
    "`VotingClassifier`, `StackingClassifier`": [
        lambda: VotingClassifier([("knn", KNN), ("em", EM)], voting="soft").fit(X, Y),
        lambda: StackingClassifier([("knn", KNN), ("em", EM)]).fit(X, Y),
    ],
    "`OneVsRestClassifier`, `OneVsOneClassifier`, `OutputCodeClassifier`": [
        lambda: OneVsRestClassifier(EM).fit(X, Y),
        lambda: OneVsOneClassifier(EM).fit(X, Y),
        lambda: OutputCodeClassifier(EM).fit(X, Y),
    ],
    "`MultiOutputClassifier`, `ClassifierChain`": [
        lambda: MultiOutputClassifier(EM).fit(X, Y),
        lambda: ClassifierChain(EM).fit(X, Y),
    ],
    "`SelfTrainingClassifier`": [lambda: SelfTrainingClassifier(EM).fit(X, Y)],
    "`TunedThresholdClassifierCV`, `FixedThresholdClassifier`": [
        lambda: TunedThresholdClassifierCV(EM).fit(X, TWO),
        lambda: FixedThresholdClassifier(EM).fit(X, TWO),
    ],
    "`LogisticRegression`, `RandomForestClassifier` and other learners": [
        lambda: LogisticRegression().fit(X, Y),
        lambda: RandomForestClassifier(n_estimators=2).fit(X, Y),
    ],
}


def test_every_line_has_a_check_and_every_check_a_line():
    assert rows_of_the_table() == dict.fromkeys(WORKS, "works") | dict.fromkeys(REFUSED, "refused")


@pytest.mark.parametrize("line", WORKS)
def test_what_the_page_says_works_does(line):
    with warnings.catch_warnings():
        # The smallest sets of this table are few.
        warnings.simplefilter("error", RuntimeWarning)
        WORKS[line]()


@pytest.mark.parametrize("line", REFUSED)
def test_what_the_page_says_is_refused_is_refused_by_a_clear_error(line):
    for action in REFUSED[line]:
        with pytest.raises(CandidateError, match="of scikit-learn would take all candidates of"):
            action()


def test_a_search_says_in_its_warning_what_to_score_by():
    with pytest.warns(UserWarning, match="covering_rate_scorer"):
        assert np.isnan(cross_val_score(KNN, X, Y, cv=KFold(3), scoring="accuracy")).all()
