from collections import Counter

import pytest

from disambig.study import RecordStore, Study
from disambig.study.plan import make_plan
from study.runner_process import kill_group, runner
from study.small_studies import fits_in, own, wait_until

FOLDS = 10


def settings_for(table, pause):
    return {
        "name": "shared",
        "datasets": [{"path": str(table), "truth": "truth"}],
        "methods": [own(pause=pause)],
        "protocol": {"folds": FOLDS},
    }


def assert_all_done(settings, store):
    plan = make_plan(Study(**settings))
    assert len(plan.jobs) == 3 * FOLDS
    assert all(RecordStore(store).read(planned.job.key).is_done for planned in plan.jobs)


@pytest.mark.slow
def test_two_runners_share_the_work_and_do_nothing_twice(table, store, tmp_path):
    settings, log = settings_for(table, 0.1), tmp_path / "both"
    with runner(settings, store, log) as first, runner(settings, store, log) as second:
        first.join(60)
        second.join(60)
        assert (first.exitcode, second.exitcode) == (0, 0)
    fits = fits_in(log)
    assert Counter(fit["seed"] for fit in fits).most_common(1)[0][1] == 1
    assert len(fits) == FOLDS
    assert len({fit["process"] for fit in fits}) == 2
    assert_all_done(settings, store)


@pytest.mark.slow
def test_what_a_killed_runner_was_at_is_taken_over_by_the_other(table, store, tmp_path):
    settings, log = settings_for(table, 0.2), tmp_path / "both"
    with runner(settings, store, log) as first, runner(settings, store, log) as second:
        wait_until(lambda: len({fit["process"] for fit in fits_in(log)}) == 2)
        kill_group(first)
        second.join(60)
        assert second.exitcode == 0
    assert FOLDS <= len(fits_in(log)) <= FOLDS + 1
    assert_all_done(settings, store)
