"""Records know the code that made them. Jobs run in this process."""

import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import disambig
from bench.small_studies import bytes_in, metrics_of, small_study
from disambig._core import fingerprint
from disambig.bench import (
    ControlledCorruption,
    RecordStore,
    StudyListener,
    make_report,
    read_results,
    run_study,
    write_report,
)
from disambig.bench.evaluate import Predictions
from disambig.bench.record import Job, changed_modules
from disambig.bench.reported_study import read_study_file
from disambig.bench.trial import GridSelection, Split
from disambig.metrics import METRICS, Metric

pytestmark = pytest.mark.usefixtures("in_this_process")

NAMES = ("ncpd", "ncpd_plus", "plknn", "random_candidate")


def keys():
    """Return the key of a job of every method, and of one with a grid."""
    split, corruption = Split(seed=0, n_folds=3), ControlledCorruption(p=0.5, r=1)
    jobs = {name: Job(name, "data", split, corruption=corruption) for name in NAMES}
    jobs["grid"] = replace(
        jobs["plknn"], grid={"n_neighbors": [1, 2]}, selection=GridSelection(n_folds=2)
    )
    jobs["misses"] = replace(jobs["plknn"], miss=0.1)
    return {name: job.key for name, job in jobs.items()}


SOURCES = {path: path.read_text("utf-8") for path in Path(disambig.__path__[0]).rglob("*.py")}


@pytest.fixture
def change(tmp_path, monkeypatch):
    """Return a function that lets our package have another line in the file that has it."""
    source_file = fingerprint._source_file

    def change_line(old, new):
        (changed,) = [path for path, text in SOURCES.items() if old in text]
        copy = tmp_path / changed.name
        copy.write_text(SOURCES[changed].replace(old, new), encoding="utf-8")

        def find(module, folders):
            file = source_file(module, folders)
            return copy if file == changed else file

        monkeypatch.setattr(fingerprint, "_source_file", find)
        fingerprint.code_hashes.cache_clear()

    yield change_line
    monkeypatch.undo()
    fingerprint.code_hashes.cache_clear()


EVERY = {*NAMES, "grid", "misses"}
EQUATION_5 = "math.exp(-5 *"


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        (EQUATION_5, "math.exp(-50 *", {"ncpd", "ncpd_plus"}),
        ("class PLKNN(", "LIMIT = 1\n\nclass PLKNN(", set()),
        ("class PLKNN(", "@print\nclass PLKNN(", {"plknn", "grid", "misses"}),
        ("def corrupt_controlled(", "@print\ndef corrupt_controlled(", EVERY),
        ("def leave_out_truth(", "@print\ndef leave_out_truth(", {"misses"}),
        ("def leave_out_of_training(", "@print\ndef leave_out_of_training(", {"misses"}),
        ("def choose_parameters(", "@print\ndef choose_parameters(", {"grid"}),
        ("def make_trial(", "@print\ndef make_trial(", EVERY),
        ("predicted=probabilities.argmax(", "predicted=probabilities.argmin(", EVERY),
        ("def outcome_of(", "@print\ndef outcome_of(", set()),
        ("METRICS = {", "def f1(outcome):\n    return 1\n\nMETRICS = {\n    'f1': f1,", set()),
        ("def run_study(", "@print\ndef run_study(", set()),
        ('__version__ = "', '__version__ = "9', set()),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_change_gives_another_key_to_the_jobs_that_depend_on_it(change, old, new, changed):
    before = keys()
    change(old, new)
    after = keys()
    assert {name for name in before if before[name] != after[name]} == changed


# Stores with results of other code ---------------------------------------------------------------

PLKNN_CHANGED = (
    "3 of 12 jobs (PLKNN) were recorded with other code: disambig.methods.classical.plknn changed."
)


class Notebook(StudyListener):
    """Writes down what was started, and the notices."""

    def __init__(self):
        self.started, self.notices = [], None

    def on_start(self, plan, done, notices):
        self.notices = notices

    def on_jobs_start(self, jobs):
        self.started.extend(planned.method_title for planned in jobs)


def test_what_other_code_made_is_run_again_and_said(table, store, change):
    study = small_study(table, "plknn", "sure")
    first = run_study(study, store)
    before = bytes_in(store)
    change("class PLKNN(", "@print\nclass PLKNN(")
    stored = read_results(study, store)
    assert metrics_of(stored.result) == metrics_of(first)
    assert stored.notices == (
        f"{PLKNN_CHANGED} They are shown as they were recorded; 'disambig study' runs them again.",
    )
    assert make_report(stored.result, missing=stored.notices).findings

    notebook = Notebook()
    again = run_study(study, store, listener=notebook)
    assert notebook.started == ["PLKNN"] * 3
    notice = f"{PLKNN_CHANGED} They are run again; the old records stay in the store."
    assert notebook.notices == [notice]
    assert again.notices == (notice,)
    assert metrics_of(again) == metrics_of(first)
    assert before.items() < bytes_in(store).items()
    assert run_study(study, store).notices == read_results(study, store).notices == ()


def test_a_result_of_the_code_that_is_back_is_taken_up_again(table, store, change, monkeypatch):
    study = small_study(table, "plknn")
    run_study(study, store)
    with monkeypatch.context() as patch:
        patch.setattr(Job, "find_code", lambda job: {"other": job.method})
        run_study(study, store)
    notebook = Notebook()
    run_study(study, store, listener=notebook)
    assert (notebook.started, notebook.notices) == ([], [])


def as_version_0_1_0(store):
    """Turn the records of a store into those of the first version."""
    for path in store.glob("*.json"):
        record = json.loads(path.read_text(encoding="utf-8"))
        del record["code"], record["metric_code"], record["seal"], record["environment"]["disambig"]
        record["job"] |= {"version": "0.1.0", "code": None}
        record["key"] = key = record["key"].replace("-", "")[:32]
        predictions = path.with_suffix(".npz")
        with np.load(predictions) as archive:
            old = {name: archive[name] for name in ("rows", "predicted", "classes")}
            old["probability"] = archive["probabilities"].max(axis=1)
        content = io.BytesIO()
        np.savez_compressed(content, **old)
        reseal(store, record, key, content.getvalue())
        path.unlink()
        predictions.unlink()


def reseal(store, record, key, predictions):
    """Write a record as the store would, with other predictions."""
    import hashlib

    (store / f"{key}.npz").write_bytes(predictions)
    record["predictions"] = hashlib.sha256(predictions).hexdigest()
    seal = hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()
    (store / f"{key}.json").write_text(json.dumps(record | {"seal": seal}), encoding="utf-8")


def test_a_store_of_the_first_version_is_reported_and_run_again(table, store):
    study = small_study(table, "plknn")
    first = run_study(study, store)
    as_version_0_1_0(store)
    before = bytes_in(store)
    stored = read_results(study, store)
    assert metrics_of(stored.result) == metrics_of(first)
    (notice,) = stored.notices
    assert notice.startswith(
        "9 of 9 jobs (PLKNN, LR on a random candidate, LR on true labels) were recorded with other "
        "code: that of disambig 0.1.0, which did not record it."
    )
    assert stored.n_missing == 0

    notebook = Notebook()
    again = run_study(study, store, listener=notebook)
    assert len(notebook.started) == 9
    assert again.notices[0].startswith(notice.partition(" They")[0])
    assert before.items() < bytes_in(store).items()
    assert metrics_of(again) == metrics_of(first)


# Metrics that are added or changed later ---------------------------------------------------------


def log_loss(outcome):
    columns = [outcome.classes.tolist().index(label) for label in outcome.true_labels.tolist()]
    probabilities = outcome.probabilities[np.arange(len(columns)), columns]
    return float(-np.log(np.maximum(probabilities, 1e-9)).mean())


def always_one(outcome):
    return float(len(outcome.true_labels) > 0)


def refuses(outcome):
    raise disambig.DisambigError("it is not defined here.")


def test_a_metric_added_later_is_computed_from_kept_predictions(
    table, store, tmp_path, monkeypatch
):
    run_study(small_study(table, "plknn"), store)
    before = bytes_in(store)
    monkeypatch.setitem(METRICS, "log_loss", Metric(log_loss, "log loss", lower_is_better=True))
    study = small_study(table, "plknn", metrics=["log_loss"])
    notebook = Notebook()
    late = run_study(study, store, listener=notebook)
    assert notebook.started == []
    assert notebook.notices == [
        "log_loss was computed from the kept predictions of 9 records made before it."
    ]
    assert metrics_of(late) == metrics_of(run_study(study, tmp_path / "fresh"))
    assert bytes_in(store) == before
    assert metrics_of(read_results(study, store).result) == metrics_of(late)
    assert "log loss" in make_report(late).findings[0]


def test_a_metric_that_is_changed_is_computed_again(table, store, monkeypatch):
    study = small_study(table, "plknn")
    run_study(study, store)
    monkeypatch.setitem(METRICS, "accuracy", Metric(always_one, "accuracy"))
    result = run_study(study, store)
    assert {record.metrics["accuracy"] for _, record in result.jobs()} == {1.0}
    assert result.notices[0].startswith("accuracy was computed from the kept predictions of 9")


def test_a_metric_that_cannot_be_computed_is_said(table, store, tmp_path, monkeypatch):
    run_study(small_study(table, "plknn"), store)
    monkeypatch.setitem(METRICS, "strange", Metric(refuses, "strange"))
    study = small_study(table, "plknn", metrics=["accuracy", "strange"])
    notebook = Notebook()
    result = run_study(study, store, listener=notebook)
    assert notebook.started == []  # nothing would be won by running them again
    assert result.notices == ()
    assert result.gaps == ("strange cannot be computed for 9 records: it is not defined here.",)
    report = make_report(result)
    assert (report.missing, report.caveats) == ((), result.gaps)
    page = write_report(report, tmp_path)
    assert result.gaps[0] in page.read_text("utf-8")
    assert read_study_file(tmp_path).missing == ()  # another time it may be computed
    assert "-: no run gave a value." in report.tables["strange"].notes


def test_records_that_keep_too_little_for_a_metric_are_run_again(table, store, monkeypatch):
    run_study(small_study(table, "plknn"), store)
    as_version_0_1_0(store)
    monkeypatch.setitem(METRICS, "log_loss", Metric(log_loss, "log loss", lower_is_better=True))
    study = small_study(table, "plknn", metrics=["log_loss"])
    stored = read_results(study, store)
    assert stored.notices[-1] == (
        "log_loss cannot be computed for 9 records: An earlier version of disambig kept only the "
        "most probable class. Run the study again."
    )
    assert make_report(stored.result).caveats == stored.notices[-1:]
    result = run_study(study, store)
    assert all("log_loss" in record.metrics for _, record in result.jobs())
    assert result.gaps == ()


def test_a_record_of_this_code_that_keeps_too_little_is_replaced(table, store, monkeypatch):
    study = small_study(table, "plknn")
    first = run_study(study, store)
    records = RecordStore(store)
    victim, record = first.jobs()[0]
    old = records.read_predictions(record)
    short = replace(old, disambiguated=old.disambiguated[:-1])
    reseal(store, vars(record), record.key, short.to_bytes())
    assert records.read(record.key).is_done
    monkeypatch.setitem(METRICS, "log_loss", Metric(log_loss, "log loss"))
    study = small_study(table, "plknn", metrics=["log_loss"])
    notebook = Notebook()
    result = run_study(study, store, listener=notebook)
    assert notebook.started == [victim.method_title]
    assert notebook.notices[1] == (
        "log_loss cannot be computed for 1 record: The kept rows or classes are not those of the "
        "split. Run the study again. That is done now."
    )
    assert all("log_loss" in record.metrics for _, record in result.jobs())
    assert len(records.read_predictions(records.read(record.key)).disambiguated) == 20


def test_predictions_are_small_beside_the_data():
    rng = np.random.default_rng(0)
    probabilities = rng.dirichlet(np.ones(50), size=2000)
    kept = Predictions(
        rows=np.arange(2000),
        probabilities=probabilities.astype(np.float32),
        predicted=probabilities.argmax(axis=1),
        disambiguated=rng.integers(0, 50, 18000),
        classes=np.arange(50).astype(str),
    )
    assert len(kept.to_bytes()) < 2000 * 50 * 4.4


def test_modules_that_changed_came_or_went_are_named():
    before, after = {"a": "1", "b": "1", "gone": "1"}, {"a": "1", "b": "2", "new": "1"}
    assert changed_modules(before, after) == ["b", "gone", "new"]
