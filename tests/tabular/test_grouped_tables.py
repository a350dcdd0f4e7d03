"""Tables whose rows come together: whole groups are held out, and rows hear of each other."""

import json
from itertools import product
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import KFold

from disambig import CandidateLabels, clean_table, fit_table, load_model
from disambig._core.errors import TableError
from disambig.methods import PLKNN
from disambig.solvers.conformal import conformal_threshold
from disambig.tabular.clean_details import details_path, read_details
from disambig.tabular.cleaning import CleanSummary
from disambig.tabular.fit_queue import fit_queue
from disambig.tabular.listener import FitListener
from disambig.tabular.out_of_fold import Folds
from disambig.tabular.task import TableTask, prepare_task
from disambig.tabular.work_folder import work_fingerprint
from tabular.small_tables import neighbours, photos, quick_network

FRAME = photos()
PHOTO = pd.factorize(FRAME["photo"])[0]
OPTIONS = {"ignore": ["truth"], "method": neighbours()}


class Spy(PLKNN):
    """Keeps the groups that it is trained on."""

    seen: ClassVar[list] = []

    def fit(self, X, y, groups=None):
        Spy.seen.append(y.groups)
        return super().fit(X, y, groups)


class Summary(FitListener):
    def on_cleaned(self, summary: CleanSummary) -> None:
        self.summary = summary


def dealt(task: TableTask, n_folds: int = 5, seed: int = 3) -> list[tuple]:
    with fit_queue(neighbours(), n_folds, 1, FitListener()) as queue:
        folds = Folds(task, neighbours(), n_folds=n_folds, seed=seed, queue=queue)
        folds.predictions()
    return [(fit.train, fit.test) for fit in folds._fits]


def shares(cleaned: pd.DataFrame, row: int) -> dict[str, float]:
    """Return the confidences in a cell."""
    cell = cleaned["candidate_confidences"][row]
    return {part.split(":")[0]: float(part.split(":")[1]) for part in cell.split("|")}


def by_enumeration(rows: list[dict[str, float]], keeps) -> list[dict[str, float]]:
    """Return marginals of the assignments of labels to the rows of a group that keep a promise."""
    found = [dict.fromkeys(row, 0.0) for row in rows]
    for labels in product(*rows):
        if keeps(labels):
            probability = np.prod([row[label] for row, label in zip(rows, labels, strict=True)])
            for row, label in zip(found, labels, strict=True):
                row[label] += probability
    return [{label: p / sum(row.values()) for label, p in row.items()} for row in found]


# Folds --------------------------------------------------------------------------------------------


def test_every_fold_is_made_of_whole_groups():
    folds = dealt(prepare_task(FRAME, ignore=["truth"], group="photo"))
    assert sorted(np.concatenate([test for _, test in folds])) == list(range(len(FRAME)))
    for train, test in folds:
        assert not set(PHOTO[train]) & set(PHOTO[test])
        assert len(train) + len(test) == len(FRAME)
    sizes = [len(test) for _, test in folds]
    assert max(sizes) - min(sizes) <= 4  # no photo has more faces


def test_without_groups_folds_are_those_of_rows():
    folds = dealt(prepare_task(FRAME, ignore=["truth", "photo"]))
    expected = KFold(5, shuffle=True, random_state=3).split(FRAME)
    for (train, test), (expected_train, expected_test) in zip(folds, expected, strict=True):
        np.testing.assert_array_equal(train, expected_train)
        np.testing.assert_array_equal(test, expected_test)


def test_rounds_that_look_for_misses_hold_out_whole_groups_too():
    Spy.seen.clear()
    options = {"group": "photo", "miss_rate": 0.2, "n_folds": 3}
    clean_table(FRAME, ignore=["truth"], method=Spy(n_neighbors=5), **options)
    assert len(Spy.seen) >= 4 * 3
    full = np.bincount(PHOTO)
    for groups in Spy.seen:
        numbers, counts = np.unique(groups, return_counts=True)
        assert len(numbers) < len(full)
        np.testing.assert_array_equal(counts, full[numbers])


def test_more_folds_than_groups_are_refused():
    few = FRAME.head(8)
    n_photos = few["photo"].nunique()
    message = (
        rf"9 folds of whole groups need as many groups\. Got {n_photos}, by groups of 'photo'\. "
        r"Use fewer folds \(--folds"
    )
    with pytest.raises(TableError, match=message):
        fit_table(few, **OPTIONS, group="photo", n_folds=9)


def test_interrupted_work_is_not_continued_with_other_groups_or_another_promise():
    told = [
        {"ignore": ["truth", "photo"]},
        {"group": "photo"},
        {"group": "runs", "ignore": ["truth", "photo"]},
        {"group": "photo", "promise": "cover"},
        {"group": "photo", "promise": "exclusive"},
        {"group": "photo", "promise": "cover", "promise_strength": 0.5},
    ]
    frame = FRAME.iloc[::-1].reset_index(drop=True)
    frame.loc[2:9, "label"] = "ann|bob"  # a run of several photos
    tasks = [prepare_task(frame, **{"ignore": ["truth"]} | one) for one in told]
    assert len({work_fingerprint(task, neighbours()) for task in tasks}) == len(told)


# fit ----------------------------------------------------------------------------------------------


def test_the_estimate_says_that_whole_groups_were_held_out(tmp_path):
    model = fit_table(FRAME, **OPTIONS, group="photo", out=tmp_path / "model")
    assert model.plan.names == ["x", "y"]
    first = str(model.estimate).splitlines()[0]
    rows = len(FRAME)
    assert first == f"On held-out rows ({rows} rows, 5 folds by groups of 'photo': 30 groups):"
    assert load_model(tmp_path / "model").estimate == model.estimate
    made = CandidateLabels.from_strings(FRAME["label"]).with_groups(PHOTO)
    again = fit_table(FRAME, labels=made, ignore=["truth", "photo", "label"], method=neighbours())
    assert again.estimate.covering_rate == model.estimate.covering_rate
    assert "5 folds by groups: 30 groups)" in str(again.estimate)


def test_a_model_of_rows_says_nothing_of_groups(tmp_path):
    options = {"ignore": ["truth", "photo"], "method": neighbours()}
    with pytest.warns(UserWarning, match="Hold out whole groups: --group photo"):
        fit_table(FRAME, **options, out=tmp_path / "model")
    estimate = json.loads((tmp_path / "model" / "model.json").read_text())["estimate"]
    assert not {"group", "n_groups"} & set(estimate)
    assert load_model(tmp_path / "model").estimate.n_groups is None


def test_prediction_sets_promise_something_of_new_groups():
    model = fit_table(FRAME, **OPTIONS, group="photo", coverage=0.8, calibrate="none")
    task = prepare_task(FRAME, ignore=["truth"], group="photo")
    with fit_queue(neighbours(), 5, 1, FitListener()) as queue:
        folds = Folds(task, neighbours(), n_folds=5, seed=0, queue=queue)
        said = folds.predictions().probabilities
    sets = task.candidates.with_groups(None)
    expected = conformal_threshold(said, sets, coverage=0.8, kind="estimated", groups=PHOTO)
    assert model.coverage.threshold == pytest.approx(expected)
    assert model.coverage.n_groups == 30
    by_rows = conformal_threshold(said, sets, coverage=0.8, kind="estimated")
    assert by_rows != pytest.approx(expected)


@pytest.mark.parametrize(
    ("options", "holds"),
    [
        ({"group": "label"}, "the candidate labels"),
        ({"group": "truth", "truth": "truth"}, "the true labels"),
        ({"group": "photo", "id": "photo"}, "the names of the rows"),
    ],
)
def test_a_column_of_groups_holds_nothing_else(options, holds):
    with pytest.raises(TableError, match=f"cannot be the groups of rows: it already holds {holds}"):
        fit_table(FRAME, method=neighbours(), **options)


# clean --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["cover", "exclusive"])
def test_confidences_are_marginals_given_the_promise(kind):
    free = clean_table(FRAME, **OPTIONS, group="photo")
    kept = clean_table(FRAME, **OPTIONS, group="photo", promise=kind, promise_strength=1)
    for photo in range(12):
        rows = np.flatnonzero(photo == PHOTO)
        before = [shares(free, row) for row in rows]
        names = set(before[0])
        # As many names as faces: each name once, which is what either promise comes to.
        expected = by_enumeration(before, lambda labels, names=names: set(labels) == names)
        for row, of_row in zip(rows, expected, strict=True):
            room = 1 - kept["miss_probability"][row]
            found = shares(kept, row)
            for name, share in of_row.items():
                assert found[name] == pytest.approx(room * share, abs=2e-3)
            best = max(found, key=found.get)
            assert (kept["chosen_label"][row], kept["confidence"][row]) == (best, found[best])
    right = [(one["chosen_label"] == one["truth"]).mean() for one in (free, kept)]
    assert right[1] > right[0]


TWO = pd.DataFrame(
    {
        "x": ["0", "1", "0", "1", "0.1", "0.9", "0.4", "0.6"],
        "photo": [*"ppqqrrss"],
        "label": ["ann|bob"] * 6 + ["ann", "bob"],
        "checked": ["", "bob", *[""] * 6],
    }
)


def test_the_rest_of_a_group_hears_of_a_known_label():
    options = {"method": PLKNN(n_neighbors=2), "group": "photo", "n_folds": 2, "calibrate": "none"}
    promise = {"promise": "cover", "promise_strength": 1}
    known = clean_table(TWO, truth="checked", **options, **promise)
    assert known["chosen_label"][:2].tolist() == ["ann", "bob"]
    assert known["confidence"][0] > 0.999
    plain = {**options, "ignore": ["checked"]}
    decided = clean_table(TWO, decisions={0: "bob"}, **plain, **promise)
    assert decided["chosen_label"][:2].tolist() == ["bob", "ann"]
    assert decided["confidence"][1] > 0.999
    # Without a promise it would not have been told.
    alone = clean_table(TWO, decisions={0: "bob"}, **plain)
    assert alone["confidence"][1] < 0.999


@pytest.mark.filterwarnings("ignore:In the ")  # confidences of a quick method do not hold
def test_the_model_is_judged_by_what_it_chose_before_anything_was_known():
    listener = Summary()
    promise = {"method": neighbours(), "group": "photo", "promise": "cover"}
    clean_table(FRAME, truth="truth", **promise, listener=listener)
    unaware = clean_table(FRAME, ignore=["truth"], **promise)
    right = (unaware["chosen_label"] == FRAME["truth"]).mean()
    assert right < 1  # or this would say nothing
    assert listener.summary.accuracy.share == pytest.approx(right)


@pytest.mark.parametrize("method", [neighbours(), quick_network()])
def test_in_sample_the_promise_is_applied_once(method):
    promise = {"ignore": ["truth"], "method": method, "group": "photo", "promise": "cover"}
    cleaned = clean_table(FRAME, **promise, in_sample=True)
    confidences = fit_table(FRAME, **promise, n_folds=0).classifier.candidate_confidence_
    expected = np.asarray(confidences.max(axis=1).todense()).ravel()
    np.testing.assert_allclose(cleaned["confidence"], expected, atol=1e-6)


def test_details_say_which_rows_come_together(tmp_path):
    out = tmp_path / "clean.csv"
    clean_table(FRAME, **OPTIONS, group="photo", promise="cover", promise_strength=0.7, out=out)
    details = json.loads(details_path(out).read_text())
    told = ("group", "promise", "promise_strength")
    assert [details[name] for name in told] == ["photo", "cover", 0.7]
    plain = tmp_path / "plain.csv"
    clean_table(FRAME, ignore=["truth", "photo"], method=neighbours(), out=plain)
    assert [json.loads(details_path(plain).read_text())[name] for name in told] == [None] * 3
    clean_table(FRAME, **OPTIONS, group="photo", out=plain)
    assert [getattr(read_details(details_path(plain)), name) for name in told] == [
        "photo",
        None,
        None,
    ]
    for change, message in (
        ({"promise": None}, "a promise has a strength, and nothing else has"),
        ({"group": None}, "a promise is about groups"),
        ({"promise": "each"}, "at promise"),
        ({"promise_strength": 3.0}, "at promise_strength"),
    ):
        details_path(out).write_text(json.dumps(details | change))
        with pytest.raises(TableError, match=message):
            read_details(details_path(out))


def test_groups_that_are_not_in_the_table_are_not_in_its_details(tmp_path):
    made = CandidateLabels.from_strings(FRAME["label"]).with_groups(PHOTO, promise="cover")
    out = tmp_path / "clean.csv"
    options = {"ignore": ["truth", "photo", "label"], "method": neighbours()}
    cleaned = clean_table(FRAME, labels=made, **options, out=out)
    details = read_details(details_path(out))
    assert (details.group, details.promise, details.promise_strength) == (None, None, None)
    by_column = clean_table(FRAME, **OPTIONS, group="photo", promise="cover")
    assert cleaned["confidence"].tolist() == by_column["confidence"].tolist()
