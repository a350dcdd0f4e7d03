"""What models say of rows they have not seen: calibrated, and with sets that may miss the truth."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from disambig import NCPDPlusClassifier
from disambig._core.errors import ModelFileError, ParameterError, TableError
from disambig.candidates import CandidateLabels
from disambig.methods import SURE
from disambig.tabular import clean_table, fit_table, load_model, read_cleaned
from disambig.tabular.cleaning import CleanSummary
from disambig.tabular.judged_rows import (
    calibration_for_new_rows,
    confidences_in_sets,
    judge_rows,
    split_miss_rate,
)
from disambig.tabular.listener import FitListener
from disambig.tabular.out_of_fold import Folds
from disambig.tabular.task import prepare_task
from disambig.tabular.work_folder import WorkFolder
from tabular.small_tables import neighbours, three_clouds

FRAME = three_clouds(120)
OPTIONS = {"ignore": ["truth"], "method": neighbours()}


def with_misses(frame: pd.DataFrame, rows: list[int]) -> pd.DataFrame:
    """Return the table with a wrong label alone in some rows."""
    frame = frame.copy()
    names = ["cat", "dog", "fox"]
    for row in rows:
        truth = frame.loc[row, "truth"]
        frame.loc[row, "label"] = names[(names.index(truth) + 1) % 3]
    return frame


WRONG = [0, 7, 20, 33, 41, 58, 64, 79, 92, 110]
MISSING = with_misses(FRAME, WRONG)


@pytest.fixture(scope="module")
def cleaned() -> pd.DataFrame:
    return clean_table(MISSING, **OPTIONS)


class Summary(FitListener):
    def __init__(self) -> None:
        self.rounds: list[str] = []

    def on_fit_start(self, title: str) -> None:
        self.rounds.append(title)

    def on_cleaned(self, summary: CleanSummary) -> None:
        self.summary = summary


class Refuses(FitListener):
    def on_fit_start(self, title: str) -> None:
        raise AssertionError(title)


def test_a_wrong_single_label_is_doubted_and_marked(cleaned):
    assert roc_auc_score(np.isin(np.arange(120), WRONG), cleaned["miss_probability"]) > 0.97
    assert (cleaned.loc[WRONG, "label_if_missed"] == cleaned.loc[WRONG, "truth"]).mean() > 0.8
    assert cleaned.loc[WRONG, "second_look"].mean() > 0.8
    assert (cleaned["chosen_label"] != cleaned["truth"])[WRONG].all()  # it stays in its set


def test_confidences_leave_room_for_a_miss(cleaned):
    for row in cleaned.itertuples():
        shares = [float(part.split(":")[1]) for part in row.candidate_confidences.split("|")]
        assert sum(shares) == pytest.approx(1 - row.miss_probability, abs=1e-4)


def test_a_label_leaves_its_set_only_where_that_is_asked_for(cleaned):
    listener = Summary()
    relabelled = clean_table(MISSING, **OPTIONS, relabel=True, listener=listener)
    changed = relabelled["chosen_label"] != cleaned["chosen_label"]
    assert changed[WRONG].mean() > 0.5
    assert not changed.drop(WRONG).any()
    assert listener.summary.rows_relabelled == changed.sum()
    assert (relabelled["chosen_label"] == relabelled["truth"])[changed].all()
    row = relabelled[changed].iloc[0]
    assert f"{row['chosen_label']}:{row['confidence']:g}"[:6] in row["candidate_confidences"]
    assert read_cleaned(relabelled).candidates.sizes[changed.argmax()] == 2


@pytest.mark.filterwarnings("ignore:In the 80 rows")  # of a table too easy to be calibrated on
def test_a_label_from_outside_the_set_counts_as_the_choice_of_the_model():
    listener = Summary()
    options = {**OPTIONS, "ignore": [], "truth": "truth"}
    cleaned = clean_table(MISSING, **options, relabel=True, listener=listener)
    # Without relabelling it is wrong in all rows whose set misses the truth.
    assert listener.summary.true_labels_not_chosen < len(WRONG) / 2
    assert listener.summary.rows_relabelled == 0  # every true label is known, and chosen
    row = cleaned.loc[WRONG[0]]
    listed = row["candidate_confidences"].split("|")
    assert {part.split(":")[0] for part in listed} == {row["truth"], row["label"]}


def test_decisions_on_the_doubtful_rows_do_not_make_the_others_doubtful():
    frame = three_clouds(300)
    noise = np.random.default_rng(0).normal(scale=2, size=300)
    frame["length"] = (frame["length"].astype(float) + noise).astype(str)
    before = clean_table(frame, **OPTIONS)
    decisions = frame.loc[before["second_look"], "truth"].to_dict()
    assert len(decisions) > 20
    after = clean_table(frame, **OPTIONS, decisions=decisions)
    others = ~before["second_look"]
    doubt = [(1 - one.loc[others, "confidence"]).sum() for one in (before, after)]
    assert doubt[1] < 2 * doubt[0] + 1
    assert (after.loc[~others, "confidence"] == 1).all()
    assert (after.loc[~others, "label_if_missed"] == "").all()


def test_a_set_that_a_person_has_settled_is_not_widened(monkeypatch):
    trained = []

    class Spy(Folds):
        def __init__(self, task, *args, **options):
            trained.append(task.training)
            super().__init__(task, *args, **options)

    monkeypatch.setattr("disambig.tabular.judged_rows.Folds", Spy)
    wrong = dict.fromkeys(WRONG, "cat")
    clean_table(MISSING, **OPTIONS, miss_rate=0.2, decisions=wrong)
    assert len(trained) >= 3
    for sets in trained:
        assert sets[WRONG].to_strings() == ["cat"] * len(WRONG)


def test_sets_that_may_miss_the_truth_are_widened_by_rounds_of_folds(tmp_path):
    listener = Summary()
    out = tmp_path / "clean.csv"
    clean_table(MISSING, **OPTIONS, miss_rate="auto", out=out, listener=listener)
    assert listener.rounds[:2] == ["round 1, fold 1 of 5", "round 1, fold 2 of 5"]
    assert "round 3, fold 5 of 5" in listener.rounds
    assert listener.rounds[-1] == "fold 5 of 5"
    details = json.loads((tmp_path / "clean.csv.details.json").read_text())
    assert details["miss_rate"] == "auto"
    assert details["calibrate"] == "sets"
    assert details["misses"]["low"] <= 10 / 120 <= details["misses"]["high"] + 0.05
    assert read_cleaned(pd.read_csv(out)).miss_probability is not None


def test_where_no_set_misses_the_truth_one_round_says_so():
    listener = Summary()
    clean_table(FRAME, **OPTIONS, miss_rate="auto", listener=listener)
    assert [title for title in listener.rounds if title.startswith("round 2")] == []
    assert listener.summary.misses.rate < 0.03
    assert not listener.summary.misses.is_noticeable


def test_doubts_about_whole_groups_are_not_taken_for_misses():
    listener = Summary()
    # Every tenth row is wrong; spread over the groups they are found, as they are without groups.
    wrong = list(range(0, 120, 10))
    frame = with_misses(FRAME, wrong).assign(group=[f"g{row // 10}" for row in range(120)])
    spread = clean_table(frame, **OPTIONS, group="group", listener=listener)
    assert listener.summary.misses.rate == pytest.approx(0.1, abs=0.05)
    assert spread.loc[wrong, "miss_probability"].mean() > 0.8
    # All in one group: the model has not seen it, and may just not know it.
    frame["group"] = ["g" if row in wrong else f"g{row % 9}" for row in range(120)]
    together = clean_table(frame, **OPTIONS, group="group", listener=listener)
    assert listener.summary.misses is None
    assert not together["miss_probability"].any()
    with pytest.warns(UserWarning, match="seem to miss the right label come in whole groups"):
        asked = clean_table(frame, **OPTIONS, group="group", miss_rate="auto")
    assert asked.loc[wrong, "miss_probability"].mean() > 0.8


def test_an_interrupted_search_is_resumed(tmp_path, monkeypatch):
    kept = []
    keep = WorkFolder.keep

    def stop_in_round_two(folder, name, arrays):
        keep(folder, name, arrays)
        kept.append(name)
        if name == "round-2-fold-2":
            raise KeyboardInterrupt

    out = tmp_path / "clean.csv"
    monkeypatch.setattr(WorkFolder, "keep", stop_in_round_two)
    with pytest.raises(KeyboardInterrupt):
        clean_table(MISSING, **OPTIONS, miss_rate="auto", out=out)
    first = list(kept)
    monkeypatch.setattr(WorkFolder, "keep", keep)
    listener = Summary()
    resumed = clean_table(MISSING, **OPTIONS, miss_rate="auto", out=out, listener=listener)
    assert first == [f"round-1-fold-{n}" for n in range(1, 6)] + ["round-2-fold-1", first[-1]]
    pd.testing.assert_frame_equal(resumed, clean_table(MISSING, **OPTIONS, miss_rate="auto"))
    assert not (tmp_path / "clean.csv.partial").exists()


def test_the_rate_of_a_method_is_that_of_the_table():
    method, rate = split_miss_rate(NCPDPlusClassifier(miss_rate="auto"), 0)
    assert (method.miss_rate, rate) == (0, "auto")
    method, rate = split_miss_rate(NCPDPlusClassifier(miss_rate=0.2), 0.1)
    assert (method.miss_rate, rate) == (0, 0.1)
    with pytest.raises(ParameterError, match="'miss_rate' must be a number from 0 to below 1"):
        split_miss_rate(SURE(), 1.5)


def test_without_folds_a_method_finds_misses_by_itself():
    method = NCPDPlusClassifier(miss_rate=0.1, hidden=8, epochs=2, batch_size=64)
    model = fit_table(FRAME, ignore=["truth"], method=method, n_folds=0)
    assert model.classifier.misses_.rate == 0.1


def test_a_model_that_knows_too_little_says_nothing_of_misses():
    task = prepare_task(FRAME, ignore=["truth"])
    judged = judge_rows(task, np.full((120, 3), 1 / 3))
    assert judged.misses is None
    assert not judged.miss_probability.any()
    assert (judged.outside == -1).all()
    asked = judge_rows(task, np.full((120, 3), 1 / 3), miss_rate=0.1)
    assert asked.misses.rate == 0.1


def test_confidences_as_given_are_to_be_had():
    task = prepare_task(FRAME, ignore=["truth"])
    probabilities = np.random.default_rng(0).dirichlet([1, 1, 1], 120)
    judged = judge_rows(task, probabilities)
    confidences = confidences_in_sets(task, probabilities, judged, "none")
    inside = np.where(task.candidates.to_mask(), probabilities, 0)
    expected = inside / inside.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(confidences.toarray(), expected)
    assert calibration_for_new_rows(task, probabilities, judged, "none") == (1.0, 0.0)


def test_calibrating_on_true_labels_takes_some():
    frame = FRAME.assign(truth=FRAME["truth"].where(FRAME.index < 9, ""))
    clean = {"truth": "truth", "method": neighbours(), "calibrate": "truth"}
    with pytest.raises(TableError, match=r"needs at least 10 rows .* Got \d rows"):
        clean_table(frame, **clean, listener=Refuses())
    cleaned = clean_table(FRAME, **clean)
    assert (cleaned["chosen_label"] == FRAME["truth"]).all()


def test_true_labels_make_a_modest_method_surer():
    task = prepare_task(FRAME, truth="truth")
    truth = np.searchsorted(task.candidates.classes, FRAME["truth"])
    modest = np.full((120, 3), 0.3)
    modest[np.arange(120), truth] = 0.4
    judged = judge_rows(task, modest)
    confidences = confidences_in_sets(task, modest, judged, "truth").data
    assert np.median(confidences[confidences > 0.5]) > 0.9
    assert calibration_for_new_rows(task, modest, judged, "truth").power > 5


def test_weights_are_beliefs_only_if_they_are_said_to_be():
    rng = np.random.default_rng(0)
    mask = np.ones((120, 3), dtype=bool)
    weights, probabilities = rng.dirichlet([1, 1, 1], 120), rng.dirichlet([1, 1, 1], 120)
    # Rather alike, so that probabilities bear the weights out.
    probabilities = (weights + 0.2 * probabilities) / 1.2
    shares, votes = (
        CandidateLabels.from_mask(mask, ["a", "b", "c"], weights=given)
        for given in (weights, 7 * weights)
    )

    def confidences(sets, calibrate):
        task = prepare_task(FRAME, labels=sets, ignore=["truth", "label"])
        judged = judge_rows(task, probabilities)
        return confidences_in_sets(task, probabilities, judged, calibrate).toarray()

    np.testing.assert_allclose(confidences(shares, "sets"), confidences(votes, "sets"))
    pooled = confidences(shares, "beliefs")
    assert (pooled.max(axis=1) < confidences(shares, "sets").max(axis=1)).mean() > 0.9
    with pytest.raises(TableError, match="needs labels with weights"):
        clean_table(FRAME, **OPTIONS, calibrate="beliefs")


@pytest.mark.parametrize("option", [{"miss_rate": 0.1}, {"relabel": True}, {"calibrate": "truth"}])
def test_what_takes_unseen_rows_is_refused_in_sample(option):
    with pytest.raises(ParameterError, match="need models that have not seen the row"):
        clean_table(FRAME, **OPTIONS, in_sample=True, **option)


def test_a_model_says_how_many_sets_miss_and_keeps_its_calibration(tmp_path):
    model = fit_table(MISSING, **OPTIONS, out=tmp_path / "model")
    assert model.estimate.misses.low <= 10 / 120 <= model.estimate.misses.high + 0.05
    assert "% of the sets" in str(model.estimate)
    loaded = load_model(tmp_path / "model")
    assert loaded.calibration == model.calibration != (1.0, 0.0)
    raw = fit_table(MISSING, **OPTIONS, calibrate="none")
    assert (raw.predict(FRAME)["predicted_label"] == loaded.predict(FRAME)["predicted_label"]).all()
    assert not np.allclose(raw.predict_proba(FRAME), loaded.predict_proba(FRAME))


def test_a_calibration_that_nobody_could_have_written_is_refused(tmp_path):
    fit_table(FRAME, **OPTIONS, coverage=0.9, out=tmp_path / "model")
    file = tmp_path / "model" / "model.json"
    written = json.loads(file.read_text())
    sure = {**written["coverage"], "coverage": 1.0}
    strict = {**written["coverage"], "threshold": float("nan")}
    for change, message in (
        ({"calibration": [1e300, 0.0]}, "a calibration has a power up to 100"),
        ({"coverage": sure}, "a coverage is between 0 and 1"),
        ({"coverage": strict}, "its threshold from 0 to 1"),
    ):
        file.write_text(json.dumps(written | change))
        with pytest.raises(ModelFileError, match=message):
            load_model(tmp_path / "model")


def test_possible_labels_with_separators_in_them_can_be_read_again():
    names = {"cat": "cat|tom", "dog": "dog", "fox": "fox:1"}
    sets = [[names[label] for label in cell.split("|")] for cell in FRAME["label"]]
    options = {"ignore": ["truth", "label"], "method": neighbours(), "n_folds": 2}
    labels = CandidateLabels.from_sets(sets)
    predicted = fit_table(FRAME, labels=labels, **options, coverage=0.9).predict(FRAME)
    read = predicted["possible_labels"].map(json.loads)
    assert (read.str[0] == predicted["predicted_label"]).all()


def test_predictions_list_labels_that_cannot_be_ruled_out(tmp_path):
    model = fit_table(FRAME, **OPTIONS, coverage=0.9, out=tmp_path / "model")
    predicted = load_model(tmp_path / "model", only_predict=True).predict(FRAME)
    lists = predicted["possible_labels"].str.split("|")
    assert [labels[0] for labels in lists] == predicted["predicted_label"].tolist()
    covered = [truth in labels for truth, labels in zip(FRAME["truth"], lists, strict=True)]
    assert np.mean(covered) >= 0.9
    assert "prediction sets hold the right label" in str(model.coverage)
    safe = fit_table(FRAME, **OPTIONS, coverage=0.9, coverage_kind="safe")
    assert safe.coverage.threshold < model.coverage.threshold
    assert "possible_labels" not in fit_table(FRAME, **OPTIONS).predict(FRAME)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"coverage": 1.5}, "coverage"),
        ({"coverage": 0.9, "coverage_kind": "sure"}, "coverage_kind"),
        ({"coverage": 0.9, "n_folds": 0}, "need folds"),
        ({"miss_rate": "auto", "n_folds": 0}, "need folds"),
        ({"calibrate": "yes"}, "calibrate"),
    ],
)
def test_what_cannot_be_done_is_refused_before_the_work(option, message):
    with pytest.raises(ParameterError, match=message):
        fit_table(FRAME, **OPTIONS, **option)
