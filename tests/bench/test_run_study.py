import hashlib
import json
import shutil
from concurrent.futures import Future
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest

from bench.in_process import InThisProcess
from bench.small_studies import bytes_in, diligent, fits_in, metrics_of, small_study, write_table
from bench.study_methods import LOG_VARIABLE
from disambig import PLKNN, load_dataset
from disambig._core.errors import ClusterError
from disambig.bench import (
    RecordStore,
    StudyListener,
    cross_validate,
    make_report,
    read_results,
    run_study,
)
from disambig.bench.backends import BACKENDS
from disambig.bench.execute import execute_all
from disambig.bench.plan import make_plan
from disambig.bench.runner import _Runner, _work_of
from disambig.bench.store import Claims
from disambig.methods import OracleClassifier, RandomCandidateClassifier

METHODS = (diligent(), "plknn")


class Notebook(StudyListener):
    """Writes down what happens."""

    def __init__(self):
        self.done_before, self.damaged, self.started, self.ended = None, None, [], []

    def on_start(self, plan, done, damaged):
        assert self.done_before is None
        self.n_jobs, self.done_before, self.damaged = len(plan.jobs), set(done), damaged

    def on_jobs_start(self, jobs):
        self.started.extend(planned.job.key for planned in jobs)

    def on_job_end(self, planned, record):
        assert planned.job.key == record.key
        self.ended.append(record.key)


class Finished:
    """A small study that was run from the beginning to the end, once for all tests here."""

    def __init__(self, folder):
        self.folder, self.log = folder, folder / "log"
        self.table, self.store = write_table(folder / "small.csv"), folder / "store"
        self.notebook = Notebook()
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(LOG_VARIABLE, str(self.log))
            self.result = run_study(self.study(), self.store, listener=self.notebook)
        self.keys = [planned.job.key for planned in self.result.plan.jobs]

    def study(self, *methods, **settings):
        return small_study(self.table, *(methods or METHODS), **settings)


pytestmark = pytest.mark.usefixtures("quick_workers")


@pytest.fixture(scope="module")
def finished(tmp_path_factory, quick_workers):
    return Finished(tmp_path_factory.mktemp("finished"))


@pytest.fixture
def copy(finished, tmp_path):
    return shutil.copytree(finished.store, tmp_path / "copy")


def test_every_job_has_a_record_in_the_end(finished):
    assert len(finished.keys) == 12
    assert set(finished.result.records) == set(finished.keys)
    assert finished.result.failed == []
    for planned, record in finished.result.jobs():
        assert record == RecordStore(finished.store).read(planned.job.key)
        assert record.is_done


def test_the_store_holds_records_and_predictions_and_the_claims(finished):
    expected = {f"{key}{suffix}" for key in finished.keys for suffix in (".json", ".npz")}
    assert {path.name for path in finished.store.iterdir()} == {*expected, "claims.lock"}


def test_events_add_up(finished):
    notebook = finished.notebook
    assert notebook.n_jobs == 12
    assert (notebook.done_before, notebook.damaged) == (set(), [])
    assert sorted(notebook.started) == sorted(finished.keys)
    assert sorted(notebook.ended) == sorted(finished.keys)


def test_accuracies_are_those_of_cross_validation(finished):
    data = load_dataset(finished.table, truth="truth")
    methods = {
        "PLKNN": PLKNN(),
        "LR on a random candidate": RandomCandidateClassifier(),
        "LR on true labels": OracleClassifier(),
    }
    for title, method in methods.items():
        expected = [vars(score) for score in cross_validate(method, data, n_folds=3)]
        found = [
            record.metrics
            for planned, record in finished.result.jobs()
            if planned.method_title == title
        ]
        assert found == expected


def test_predictions_agree_with_the_metrics(finished):
    data, records = load_dataset(finished.table, truth="truth"), RecordStore(finished.store)
    rows = []
    for planned, record in finished.result.jobs():
        predictions = records.read_predictions(record)
        said = predictions.classes[predictions.predicted]
        assert record.metrics["accuracy"] == np.mean(said == data.true_labels[predictions.rows])
        if planned.method_title == "PLKNN":
            rows.extend(predictions.rows.tolist())
    assert sorted(rows) == list(range(30))


def test_nothing_is_run_twice(finished):
    before, fits, notebook = bytes_in(finished.store), fits_in(finished.log), Notebook()
    again = run_study(finished.study(), finished.store, listener=notebook)
    assert notebook.done_before == set(finished.keys)
    assert (notebook.started, notebook.ended) == ([], [])
    assert len(fits) == len(fits_in(finished.log)) == 3
    assert bytes_in(finished.store) == before
    assert metrics_of(again) == metrics_of(finished.result)


def test_another_study_takes_what_it_needs_from_the_same_store(finished, tmp_path):
    moved = write_table(tmp_path / "moved" / "elsewhere.csv")
    renamed = {"name": "plknn", "title": "Neighbours"}
    notebook = Notebook()
    result = run_study(small_study(moved, renamed, name="other"), finished.store, listener=notebook)
    assert notebook.started == []
    assert {planned.method_title for planned, _ in result.jobs()} == {
        "Neighbours",
        "LR on a random candidate",
        "LR on true labels",
    }


def test_the_number_of_processes_changes_no_bit_of_the_results(finished, store):
    result = run_study(finished.study(), store, jobs=2)
    assert metrics_of(result) == metrics_of(finished.result)
    for key in finished.keys:
        name = f"{key}.npz"
        assert (store / name).read_bytes() == (finished.store / name).read_bytes()


@pytest.mark.usefixtures("in_this_process")
def test_repeats_can_be_added_without_doing_the_first_again(finished, copy, log):
    before, notebook = bytes_in(copy), Notebook()
    more = finished.study(protocol={"folds": 3, "repeats": 2})
    result = run_study(more, copy, listener=notebook)
    assert len(result.records) == 24
    assert notebook.done_before == set(finished.keys)
    assert not set(notebook.started) & set(finished.keys)
    assert sorted(notebook.ended) == sorted(notebook.started)
    assert len(fits_in(log)) == 3
    assert before.items() <= bytes_in(copy).items()


@pytest.mark.usefixtures("in_this_process")
def test_one_job_under_two_titles_is_run_once_and_its_damage_reported_once(finished, store, log):
    methods = [{**diligent(), "title": "first"}, {**diligent(), "title": "second"}]
    store.mkdir()
    (store / f"{finished.keys[0]}.json").write_text("{")
    notebook = Notebook()
    result = run_study(finished.study(*methods), store, listener=notebook)
    assert len(fits_in(log)) == 3
    assert len(notebook.started) == len(set(notebook.started)) == 9
    assert sorted(notebook.ended) == sorted(notebook.started)
    assert len(notebook.damaged) == 1
    first, second = (
        [record for planned, record in result.jobs() if planned.method_title == title]
        for title in ("first", "second")
    )
    assert first == second


def test_one_job_on_the_same_data_under_two_names_is_run_once(tmp_path, store, log):
    # The same data twice, as a careless list of files has it, and processes for both.
    paths = [write_table(tmp_path / f"{name}.csv") for name in ("here", "there")]
    entries = [{"path": str(path), "truth": "truth"} for path in paths]
    protocol = {"kind": "holdout", "test_share": 0.5}
    study = small_study(None, diligent(pause=0.3), datasets=entries, protocol=protocol)
    run_study(study, store, jobs=2)
    assert len(fits_in(log)) == 1


# Damaged records ---------------------------------------------------------------------------------


def damage(store, keys):
    """Damage a record for every key, each in another way; return the files that are bad."""
    cut, edited, swapped, other, no_text, lost, bad_predictions = (
        store / f"{key}.json" for key in keys
    )
    cut.write_bytes(cut.read_bytes()[:200])
    edited.write_text(edited.read_text().replace('"accuracy": 0.', '"accuracy": 1.'))
    first, second = swapped.read_bytes(), other.read_bytes()
    swapped.write_bytes(second)
    other.write_bytes(first)
    no_text.write_bytes(b"\xff\xfe")
    lost.with_suffix(".npz").unlink()
    bad_predictions.with_suffix(".npz").write_bytes(b"PK")
    without = (path.with_suffix(".npz") for path in (lost, bad_predictions))
    return [cut, edited, swapped, other, no_text, *without]


@pytest.mark.usefixtures("in_this_process")
def test_damaged_records_are_reported_and_done_again_and_the_rest_is_left_alone(finished, copy):
    before = bytes_in(copy)
    keys = finished.keys[2:9]
    files = damage(copy, keys)
    gone = finished.keys[10]
    (copy / f"{gone}.json").rename(copy / f".{gone}-0123.json")  # as a killed writer leaves it
    (copy / "notes.json").write_text("{}")
    notebook = Notebook()
    result = run_study(finished.study(), copy, listener=notebook)
    assert len(notebook.damaged) == 7
    for error, path in zip(notebook.damaged, files, strict=True):
        assert str(path) in str(error)
    assert sorted(notebook.started) == sorted([*keys, gone])
    assert metrics_of(result) == metrics_of(finished.result)
    after = bytes_in(copy)
    untouched = {name for name in before if name.partition(".")[0] not in {*keys, gone}}
    assert {name: after[name] for name in untouched} == {name: before[name] for name in untouched}
    records = RecordStore(copy)
    assert all(records.read(key).is_done for key in finished.keys)


def forge(path, **changes):
    """Write a record with other content and a seal that fits."""
    content = json.loads(path.read_text("utf-8")) | changes
    del content["seal"]
    seal = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    path.write_text(json.dumps(content | {"seal": seal}), encoding="utf-8")


@pytest.mark.usefixtures("in_this_process")
def test_records_that_nobody_can_use_are_done_again_even_if_their_seal_fits(finished, copy):
    keys = finished.keys[2:9]
    deep, types, curve, job, predictions, lists, empty = (copy / f"{key}.json" for key in keys)
    deep.write_text("[" * 100_000, encoding="utf-8")
    forge(types, metrics=None)
    forge(curve, by_epoch=[{}])
    forge(job, job={})
    bad = predictions.with_suffix(".npz")
    with np.load(bad) as arrays:
        np.savez_compressed(bad, **{**arrays, "probabilities": np.zeros((0, 0))})
    # The metric is computed again, from predictions that cannot be used.
    digest = hashlib.sha256(bad.read_bytes()).hexdigest()
    forge(predictions, predictions=digest, metrics={}, metric_code={})
    forge(lists, error=["a"], status="failed")
    forge(empty, metrics={}, metric_code={}, predictions=None)
    stored = read_results(finished.study(), copy)
    make_report(stored.result, missing=stored.notices)
    notebook = Notebook()
    result = run_study(finished.study(), copy, listener=notebook)
    said = "\n".join(notebook.damaged)
    assert all(str(path) in said for path in (deep, types, curve, job, bad, lists, empty))
    assert sorted(notebook.started) == sorted(keys)
    assert metrics_of(result) == metrics_of(finished.result)


# On disk -----------------------------------------------------------------------------------------


def test_records_are_readable_by_people(finished):
    text = (finished.store / f"{finished.keys[3]}.json").read_text(encoding="utf-8")
    content = json.loads(text)
    assert text.count("\n") > 20
    assert content["job"]["method"] == "plknn"
    assert content["job"]["split"] == {"seed": 0, "fold": 0, "n_folds": 3, "test_share": None}
    assert content["dataset"] == "small"


def test_a_plan_can_be_had_without_running(finished):
    assert [planned.job.key for planned in make_plan(finished.study()).jobs] == finished.keys


# A backend that forgets ---------------------------------------------------------------------------


class Forgetful(InThisProcess):
    """Forgets a call a few times, as a cluster does that is started anew."""

    def __init__(self, times):
        self.times, self.key = times, None

    def is_the_one(self, job):
        self.key = self.key or job.key
        return job.key == self.key

    def submit(self, function, *arguments):
        jobs = [job for batch in arguments[1] for job in batch] if function is execute_all else []
        if not self.times or not any(map(self.is_the_one, jobs)):
            return super().submit(function, *arguments)
        self.times -= 1
        future = Future()
        future.cancel()
        future.set_running_or_notify_cancel()
        return future


@pytest.mark.parametrize(("times", "failed"), [(3, 0), (4, 1)])
def test_a_call_that_a_backend_forgets_is_made_again_a_few_times(
    table, store, monkeypatch, times, failed
):
    monkeypatch.setitem(BACKENDS, "local", lambda jobs, address: nullcontext(Forgetful(times)))
    result = run_study(small_study(table, diligent()), store)
    assert len(result.failed) == failed
    for _, record in result.failed:
        assert record.error["type"] == "CancelledError"
        assert record.error["message"]


def test_short_jobs_of_one_kind_share_a_call_as_long_as_there_is_enough_for_all(table, store):
    plan = make_plan(small_study(table, "plknn", "clpl", protocol={"folds": 8}))
    runner = _Runner(plan, RecordStore(store), InThisProcess(), Claims(store), StudyListener())

    def calls(seconds, width):
        runner.waiting.extend([planned] for planned in plan.jobs)
        runner.seconds = {_work_of(planned.job): seconds for planned in plan.jobs}
        while runner.waiting:
            yield [planned.job for (planned,) in runner._next_call(width)]

    assert [len(call) for call in calls(0.0, 1)] == [1] * len(plan.jobs)  # never ran
    assert [len(call) for call in calls(0.3, 1)] == [1] * len(plan.jobs)
    assert next(calls(0.1, 100)) == [plan.jobs[0].job]
    runner.waiting.clear()
    packed = list(calls(0.1, 1))
    assert [job for call in packed for job in call] == [planned.job for planned in plan.jobs]
    assert max(map(len, packed)) == 5  # half a second, which is all that a kill can cost
    assert all(len({job.method for job in call}) == 1 for call in packed)


@pytest.mark.parametrize("other", [{"data": "0" * 64}, {"grid": {"k": [3, 5]}}], ids=str)
def test_what_may_take_long_shares_no_call_because_other_work_was_short(table, store, other):
    plan = make_plan(small_study(table, "plknn", protocol={"folds": 8}))
    runner = _Runner(plan, RecordStore(store), InThisProcess(), Claims(store), StudyListener())
    runner.seconds = {_work_of(plan.jobs[0].job): 0.01}
    unknown = [replace(planned, job=replace(planned.job, **other)) for planned in plan.jobs]
    runner.waiting.extend([planned] for planned in (*plan.jobs, *unknown))
    assert [len(runner._next_call(1)) for _ in range(4)] == [8, 1, 1, 1]


class SoonGone(InThisProcess):
    """A cluster that is gone when its first call has ended."""

    looks = 0

    def width(self):
        self.looks += 1
        if self.looks > 2:
            raise ClusterError("gone")
        return super().width()


def test_what_ended_before_a_cluster_was_gone_is_kept(table, store, monkeypatch):
    monkeypatch.setitem(BACKENDS, "local", lambda jobs, address: nullcontext(SoonGone()))
    with pytest.raises(ClusterError, match="gone"):
        run_study(small_study(table, "plknn"), store)
    assert len(list(store.glob("*.json"))) == 1
