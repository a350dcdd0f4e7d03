import signal
import time

import pytest

from bench.small_studies import diligent, fits_in, metrics_of, small_study
from disambig.bench import RecordStore, StudyListener, run_study
from waiting import PATIENCE

pytestmark = pytest.mark.usefixtures("quick_workers")


def statuses(result, title):
    return {
        planned.job.split.fold: record.status
        for planned, record in result.jobs()
        if planned.method_title == title
    }


def bad_fold(result, row):
    """Return the fold in which a row is held out."""
    (fold,) = {
        planned.job.split.fold
        for planned in result.plan.jobs
        if row in planned.job.split.rows(30)[1]
    }
    return fold


def labelled(label, **parameters):
    return {**diligent(**parameters), "title": label}


def test_jobs_that_fail_or_die_do_not_stop_the_others_and_are_tried_again(
    table, store, log, tmp_path
):
    healer = tmp_path / "healer"
    study = small_study(
        table,
        labelled("raises", fails_without=7, healed_by=str(healer)),
        labelled("dies", dies_without=20, healed_by=str(healer)),
        labelled("healthy"),
    )
    result = run_study(study, store, jobs=2)
    raised, died = bad_fold(result, 7), bad_fold(result, 20)
    everything = {0: "done", 1: "done", 2: "done"}
    assert statuses(result, "raises") == {**everything, raised: "failed"}
    assert statuses(result, "dies") == {**everything, died: "failed"}
    for title in ("healthy", "LR on a random candidate", "LR on true labels"):
        assert statuses(result, title) == everything

    failed = {planned.method_title: (planned, record) for planned, record in result.failed}
    assert set(failed) == {"raises", "dies"}
    for planned, record in failed.values():
        assert RecordStore(store).read(planned.job.key) == record
        assert record.metrics == {}
    assert failed["raises"][1].error["message"] == "row 7 is not there"
    assert f"SIGKILL(-{signal.SIGKILL:d})" in failed["dies"][1].error["message"]

    assert len(fits_in(log)) == 10  # what dies is tried twice: somebody may have killed it
    healer.touch()
    again = run_study(study, store)
    assert again.failed == []
    assert len(fits_in(log)) == 12
    before, after = metrics_of(result), metrics_of(again)
    assert {one for one in before if before[one] != after[one]} == {
        (planned.method_title, planned.data_title, planned.job.split)
        for planned, _ in result.failed
    }


def test_a_job_whose_process_was_killed_once_is_done(table, store, log, tmp_path):
    healer = str(tmp_path / "healer")
    study = small_study(table, labelled("dies", dies_without=20, healed_by=healer, dies_once=True))
    result = run_study(study, store, jobs=2)
    assert result.failed == []
    assert len(fits_in(log)) == 4


def test_a_method_that_leaves_python_fails_its_job_only(table, store):
    study = small_study(table, labelled("leaves", exits_without=7))
    result = run_study(study, store)
    assert [planned.job.split.fold for planned, _ in result.failed] == [bad_fold(result, 7)]
    assert result.failed[0][1].error["type"] == "SystemExit"


class Impatient(StudyListener):
    """Ends a run in the middle, as a user does from the keyboard."""

    def __init__(self, log):
        self.log = log

    def on_wait(self):
        if len(fits_in(self.log)) >= 3:
            raise KeyboardInterrupt


def test_an_interrupt_ends_the_run_at_once_and_keeps_what_is_done(table, store, log):
    quick, slow = labelled("quick"), labelled("slow", pause=2.0 * PATIENCE)
    study = small_study(table, quick, slow)
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run_study(study, store, jobs=2, listener=Impatient(log))
    assert time.monotonic() - started < PATIENCE
    assert len(list(store.glob("[!.]*.json"))) >= 1
