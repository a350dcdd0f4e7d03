import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bench.small_studies import DILIGENT, SIDE_BY_SIDE, fits_in, write_table
from bench.study_methods import Diligent
from disambig import PLKNN, NCPDClassifier, load_dataset
from disambig.bench import ControlledCorruption, RecordStore, cross_validate
from disambig.bench.execute import execute, failure
from disambig.bench.record import Job, data_fingerprint
from disambig.bench.trial import GridSelection, Split, choose_parameters, make_trial
from disambig.metrics import METRICS

QUICK = {"hidden": 8, "epochs": 3, "ramp_epochs": 2}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = write_table(tmp_path_factory.mktemp("data") / "small.csv")
    return load_dataset(path, truth="truth")


def jobs_on(data, method, **settings):
    return [
        Job(
            method=method,
            data=data_fingerprint(data),
            split=Split(seed=4, fold=fold, n_folds=3),
            **settings,
        )
        for fold in range(3)
    ]


def records_of(outcomes):
    return [record for record, _ in outcomes]


def without_times(record):
    return replace(record, seconds={}, peak_memory_mb=None, finished="", side_by_side=1)


def test_metrics_are_those_of_cross_validation(data):
    corruption = ControlledCorruption(p=0.5, r=1)
    outcomes = execute(data, jobs_on(data, "plknn", corruption=corruption))
    expected = list(cross_validate(PLKNN(), data, n_folds=3, seed=4, corruption=corruption))
    assert [record.metrics for record in records_of(outcomes)] == [vars(one) for one in expected]


def test_accuracy_can_be_worked_out_from_predictions(data):
    for job, (record, predictions) in zip(
        jobs_on(data, "plknn"), execute(data, jobs_on(data, "plknn")), strict=True
    ):
        _, test = job.split.rows(30)
        np.testing.assert_array_equal(predictions.rows, test)
        said = predictions.classes[predictions.predicted]
        assert record.metrics["accuracy"] == np.mean(said == data.true_labels[predictions.rows])
        np.testing.assert_allclose(predictions.probabilities.sum(axis=1), 1, rtol=1e-6)


def test_a_record_says_all_that_is_known_and_can_be_kept(data, store):
    job = jobs_on(data, "plknn", parameters={"n_neighbors": 4})[1]
    [(record, predictions)] = execute(data, [job])
    assert record.key == job.key
    assert record.job["parameters"] == {"n_neighbors": 4}
    assert record.job["split"]["fold"] == 1
    assert record.dataset == "small"
    assert record.status == "done"
    assert set(record.metrics) == set(METRICS)
    assert set(record.seconds) == {"fit", "predict"}
    assert min(record.seconds.values()) > 0
    assert record.peak_memory_mb > 10
    assert record.environment["packages"]["numpy"] == np.__version__
    assert (record.chosen, record.choices, record.by_epoch, record.error) == (None, [], None, None)
    records = RecordStore(store)
    kept = records.write(record, predictions)
    assert records.read(job.key) == kept


def test_the_choice_from_a_grid_is_recorded_and_used(data):
    grid, selection = {"n_neighbors": [2, 9]}, GridSelection("approximated_accuracy", 3)
    jobs = jobs_on(data, "plknn", grid=grid, selection=selection)
    for job, record in zip(jobs, records_of(execute(data, jobs)), strict=True):
        trial = make_trial(data, job.split)
        expected = choose_parameters(PLKNN(), grid, trial, selection)
        assert record.chosen == expected.parameters
        assert record.choices == [list(scored) for scored in expected.scores]
        assert set(record.seconds) == {"choose", "fit", "predict"}
        fitted = PLKNN(**expected.parameters).fit(trial.train.X, trial.train.candidates)
        hits = fitted.predict(trial.test.X) == trial.test.true_labels
        assert record.metrics["accuracy"] == np.mean(hits)


def test_watching_the_epochs_changes_nothing_that_is_learned(data):
    plain = execute(data, jobs_on(data, "ncpd", parameters=QUICK))
    watched = execute(data, jobs_on(data, "ncpd", parameters=QUICK, by_epoch=True))
    for before, after in zip(records_of(plain), records_of(watched), strict=True):
        assert after.status == "done", after.error
        assert before.by_epoch is None
        assert len(after.by_epoch) == 3
        assert after.by_epoch[-1] == after.metrics["accuracy"]
        assert after.metrics == before.metrics


@pytest.mark.filterwarnings("ignore:Training ends after")
def test_epochs_are_those_of_shorter_trainings(data):
    job = jobs_on(data, "ncpd", parameters=QUICK, by_epoch=True)[0]
    [record] = records_of(execute(data, [job]))
    trial = make_trial(data, job.split)
    for epochs in (1, 2, 3):
        method = NCPDClassifier(**QUICK, random_state=trial.method_seed).set_params(epochs=epochs)
        fitted = method.fit(trial.train.X, trial.train.candidates)
        expected = np.mean(fitted.predict(trial.test.X) == trial.test.true_labels)
        assert record.by_epoch[epochs - 1] == expected


# Side by side ------------------------------------------------------------------------------------


def test_a_method_that_can_takes_all_folds_at_once(data, log):
    outcomes = execute(data, jobs_on(data, SIDE_BY_SIDE))
    assert [fit["together"] for fit in fits_in(log)] == [3, 1, 1, 1]
    assert [record.side_by_side for record in records_of(outcomes)] == [3, 3, 3]
    assert len({record.seconds["fit"] for record in records_of(outcomes)}) == 1


def test_side_by_side_gives_what_each_gives_alone(data):
    jobs = jobs_on(data, SIDE_BY_SIDE)
    together = [without_times(record) for record in records_of(execute(data, jobs))]
    alone = [without_times(records_of(execute(data, [job]))[0]) for job in jobs]
    assert together == alone


def test_one_bad_fold_does_not_spoil_those_beside_it(data):
    jobs = jobs_on(data, SIDE_BY_SIDE, parameters={"fails_without": 7})
    (bad,) = [number for number, job in enumerate(jobs) if 7 in job.split.rows(30)[1]]
    records = records_of(execute(data, jobs))
    assert [record.status for record in records] == [
        "failed" if number == bad else "done" for number in range(3)
    ]
    assert [record.key for record in records] == [job.key for job in jobs]
    healthy = records_of(execute(data, jobs_on(data, SIDE_BY_SIDE)))
    for number in {0, 1, 2} - {bad}:
        assert records[number].metrics == healthy[number].metrics


# Going wrong -------------------------------------------------------------------------------------


def test_an_error_is_in_the_record_with_its_place(data, store):
    jobs = jobs_on(data, DILIGENT, parameters={"fails_without": 7})
    (failed,) = [one for one in execute(data, jobs) if one[0].status == "failed"]
    record, predictions = failed
    assert predictions is None
    assert record.metrics == {}
    assert record.error["type"] == "ArithmeticError"
    assert record.error["message"] == "row 7 is not there"
    assert "study_methods.py" in record.error["traceback"]
    RecordStore(store).write(record)
    assert RecordStore(store).read(record.key) == record


def test_data_that_a_method_refuses_fails_the_job_only(data):
    job = replace(jobs_on(data, "plknn")[0], corruption=ControlledCorruption(p=0.5, r=5))
    [(record, _)] = execute(data, [job])
    assert record.status == "failed"
    assert "'r' must be an integer from 1 to 2" in record.error["message"]


def test_a_worker_with_other_code_refuses_the_job(data):
    job = jobs_on(data, "plknn")[0]
    other = {**job.code, "disambig.solvers.neighbors": "other"}
    job.__dict__.update(code=other)  # as worked out by the runner
    [(record, _)] = execute(data, [job])
    assert record.status == "failed"
    assert "other code of disambig.solvers.neighbors" in record.error["message"]


def test_a_method_that_a_worker_cannot_find_fails_the_job_only(data):
    job = jobs_on(data, "bench.study_methods:Gone")[0]
    job.__dict__.update(code={}, key="0" * 32)  # as worked out where the method is
    [(record, _)] = execute(data, [job])
    assert record.status == "failed"
    assert "There is no method 'bench.study_methods:Gone'" in record.error["message"]


def test_a_failure_that_is_known_from_outside_has_the_same_shape(data, store):
    job = jobs_on(data, "plknn")[0]
    record, predictions = failure(data, job, RuntimeError("the process died"))
    assert (record.key, record.status, predictions) == (job.key, "failed", None)
    assert record.error["message"] == "the process died"
    assert RecordStore(store).write(record) == record


def test_numerical_libraries_have_one_thread_while_a_job_runs(tmp_path):
    # In a process where nothing has been said about threads, and where torch comes with the method.
    code = (
        "import sys; from disambig import load_dataset; from disambig.bench.execute import execute;"
        "from disambig.bench.record import Job; from disambig.bench.trial import Split;"
        "job = Job(method='bench.torch_method:ThreadCounter', data='', "
        "split=Split(seed=0, n_folds=3));"
        "data = load_dataset(sys.argv[1], truth='truth');"
        "[(record, predictions)] = execute(data, [job]);"
        "print(record.error, set(predictions.probabilities.max(axis=1).tolist()))"
    )
    path = write_table(tmp_path / "small.csv")
    search_path = os.pathsep.join(
        [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    )
    printed = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        env={**os.environ, "PYTHONPATH": search_path, "OMP_NUM_THREADS": "4"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert printed.stdout.strip() == "None {1.0}"


def test_a_record_is_plain_text_without_surprises(data):
    [(record, _)] = execute(data, jobs_on(data, "random_candidate")[:1])
    assert json.loads(record.to_json())["metrics"] == record.metrics


def test_jobs_of_one_process_wait_for_each_other(data, monkeypatch):
    # A worker of a cluster may have threads; limits of threads and memory are the process's.
    at_work, together = [], []

    def fit_and_count(method, X, candidates):
        at_work.append(method)
        time.sleep(0.05)  # time for the others to come in, if they could
        together.append(len(at_work))
        at_work.remove(method)
        return candidates.prior()

    monkeypatch.setattr(Diligent, "_fit", fit_and_count)
    monkeypatch.setattr(Diligent, "_predict_proba", lambda _, X: np.full((len(X), 3), 1 / 3))
    jobs = jobs_on(data, DILIGENT)[:3]
    with ThreadPoolExecutor(3) as pool:
        outcomes = list(pool.map(lambda job: execute(data, [job]), jobs))
    assert together == [1, 1, 1]
    assert [record.status for [(record, _)] in outcomes] == ["done"] * 3


class Strange(BaseException):
    """No error as Python means it."""


def test_an_error_without_words_is_named(data):
    record, _ = failure(data, jobs_on(data, DILIGENT)[0], Strange())
    assert record.error["message"] == "Strange()"
