from collections import Counter

import pytest

from bench.runner_process import kill_group, runner
from bench.small_studies import diligent, fits_in
from disambig.bench import RecordStore, Study
from disambig.bench.plan import make_plan
from waiting import PATIENCE, open_gate, wait_until

FOLDS = 6


def settings_for(table, gate):
    return {
        "name": "shared",
        "datasets": [{"path": str(table), "truth": "truth"}],
        "methods": [diligent(gate=str(gate))],
        "protocol": {"folds": FOLDS},
    }


def processes_in(log):
    return {fit["process"] for fit in fits_in(log)}


def assert_all_done(settings, store):
    plan = make_plan(Study(**settings))
    assert len(plan.jobs) == 3 * FOLDS
    assert all(RecordStore(store).read(planned.job.key).is_done for planned in plan.jobs)


@pytest.mark.slow
def test_two_runners_share_the_work_and_do_nothing_twice(table, store, tmp_path):
    gate, log = tmp_path / "gate", tmp_path / "both"
    settings = settings_for(table, gate)
    with runner(settings, store, log) as first, runner(settings, store, log) as second:
        wait_until(lambda: len(processes_in(log)) == 2)
        open_gate(gate)
        first.join(PATIENCE)
        second.join(PATIENCE)
        assert (first.exitcode, second.exitcode) == (0, 0)
    fits = fits_in(log)
    assert Counter(fit["seed"] for fit in fits).most_common(1)[0][1] == 1
    assert len(fits) == FOLDS
    assert len(processes_in(log)) == 2
    assert_all_done(settings, store)


@pytest.mark.slow
def test_what_a_killed_runner_was_at_is_taken_over_by_the_other(table, store, tmp_path):
    gate, log = tmp_path / "gate", tmp_path / "both"
    settings = settings_for(table, gate)
    with runner(settings, store, log) as first, runner(settings, store, log) as second:
        wait_until(lambda: len(processes_in(log)) == 2)  # both are in the middle of a fit
        kill_group(first)
        open_gate(gate)
        second.join(PATIENCE)
        assert second.exitcode == 0
    assert len(fits_in(log)) == FOLDS + 1
    assert_all_done(settings, store)
