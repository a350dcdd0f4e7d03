import os
import signal
import time

import numpy as np
import pytest

from bench.runner_process import group_of, kill_group, runner
from bench.small_studies import bytes_in, diligent, fits_in, metrics_of
from disambig.bench import RecordStore, Study, run_study
from waiting import open_gate, wait_until

FOLDS = 6


def kill_runner_only(process):
    os.kill(process.pid, signal.SIGKILL)


@pytest.mark.slow
def test_a_study_that_is_killed_again_and_again_at_any_moment_comes_to_its_end(
    table, store, tmp_path, log, in_this_process
):
    gate, killed_log = tmp_path / "gate", tmp_path / "killed"
    methods = [
        {**diligent(gate=str(gate), strength=strength), "title": str(strength)}
        for strength in (1, 2)
    ]
    settings = {
        "name": "gated",
        "datasets": [{"path": str(table), "truth": "truth"}],
        "methods": methods,
        "protocol": {"folds": FOLDS},
    }
    seen, pauses = {}, np.random.default_rng(0).uniform(0, 0.2, size=2)
    # With its workers, and without: then these end by themselves, while the study goes on.
    for kill, pause in zip((kill_group, kill_runner_only), pauses, strict=True):
        before = len(fits_in(killed_log))
        open_gate(gate, before + 4)  # two times four of 12: it cannot end before it is killed
        with runner(settings, store, killed_log, jobs=2) as process:
            wait_until(lambda n=before: len(fits_in(killed_log)) > n + 2)
            wait_until(lambda old=seen: old.keys() < bytes_in(store).keys())
            time.sleep(pause)
            kill(process)
            process.join()
            assert process.exitcode == -signal.SIGKILL
            now = bytes_in(store)
            assert seen.items() <= now.items()  # what was recorded before stays as it was
            seen = now
            wait_until(lambda one=process: not group_of(one))
    assert 0 < len(seen) < 2 * 4 * FOLDS

    open_gate(gate)
    study = Study(**settings)
    result = run_study(study, store)
    assert seen.items() <= bytes_in(store).items()
    whole = run_study(study, tmp_path / "whole")
    assert len(whole.records) == 4 * FOLDS
    assert metrics_of(result) == metrics_of(whole)
    for key in whole.records:
        assert (store / f"{key}.npz").read_bytes() == (tmp_path / f"whole/{key}.npz").read_bytes()
        assert RecordStore(store).read(key).is_done
    assert {path.stem for path in store.glob("[!.]*.json")} == set(whole.records)
