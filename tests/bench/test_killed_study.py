import os
import signal
import time

import numpy as np
import pytest

from bench.runner_process import group_of, kill_group, runner
from bench.small_studies import bytes_in, fits_in, metrics_of, own
from disambig.bench import RecordStore, Study, run_study
from waiting import PATIENCE, open_gate, wait_until

FOLDS = 8


def gated_study(table, gate):
    methods = [
        {**own(gate=str(gate), strength=strength), "title": str(strength)} for strength in (1, 2)
    ]
    return {
        "name": "gated",
        "datasets": [{"path": str(table), "truth": "truth"}],
        "methods": methods,
        "protocol": {"folds": FOLDS},
    }


@pytest.mark.slow
def test_a_study_that_is_killed_again_and_again_at_any_moment_comes_to_its_end(
    table, store, tmp_path, log
):
    gate, killed_log = tmp_path / "gate", tmp_path / "killed"
    settings = gated_study(table, gate)
    seen, kills = {}, 0
    for pause in np.random.default_rng(0).uniform(0, 0.2, size=3):
        before = len(fits_in(killed_log))
        open_gate(gate, before + 4)  # three times four of 16: it cannot end before it is killed
        with runner(settings, store, killed_log, jobs=2) as process:
            # The third fit is begun when the first of two is on record.
            wait_until(lambda n=before: len(fits_in(killed_log)) > n + 2)
            time.sleep(pause)
            kill_group(process)
            process.join()
            assert process.exitcode == -signal.SIGKILL
        kills += 1
        now = bytes_in(store)
        assert seen.items() <= now.items()  # what was recorded before stays as it was
        seen = now
    assert 0 < len(seen) < 2 * 4 * FOLDS

    open_gate(gate)
    with runner(settings, store, killed_log, jobs=2) as process:
        process.join(PATIENCE)
        assert process.exitcode == 0
    assert seen.items() <= bytes_in(store).items()
    # Only what was under way was lost: one job of each of two processes.
    assert len(fits_in(killed_log)) <= 2 * FOLDS + 2 * kills

    study = Study(**settings)
    result = run_study(study, store)  # nothing is left to do
    assert len(fits_in(log)) == 0
    whole = run_study(study, tmp_path / "whole", jobs=2)
    assert len(whole.records) == 4 * FOLDS
    assert metrics_of(result) == metrics_of(whole)
    for key in whole.records:
        assert (store / f"{key}.npz").read_bytes() == (tmp_path / f"whole/{key}.npz").read_bytes()
        assert RecordStore(store).read(key).is_done
    assert {path.stem for path in store.glob("[!.]*.json")} == set(whole.records)


@pytest.mark.slow
def test_workers_of_a_runner_that_is_killed_do_not_stay_and_its_study_goes_on(
    table, store, tmp_path, log
):
    gate = tmp_path / "gate"
    settings = gated_study(table, gate)
    open_gate(gate, 4)
    with runner(settings, store, log, jobs=2) as process:
        wait_until(lambda: len(fits_in(log)) >= 3)
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        assert process.exitcode == -signal.SIGKILL
        done = bytes_in(store)
        open_gate(gate)
        with runner(settings, store, tmp_path / "second", jobs=2) as second:
            second.join(PATIENCE)
            assert second.exitcode == 0
        wait_until(lambda: not group_of(process))
    assert done.items() <= bytes_in(store).items()
    assert run_study(Study(**settings), store).failed == []
