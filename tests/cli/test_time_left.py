from types import SimpleNamespace

import pytest

from bench.small_studies import small_study, write_table
from disambig.bench.plan import make_plan
from disambig.cli.study_view import TimeLeft


def cost(seconds):
    return SimpleNamespace(seconds={"fit": 0.75 * seconds, "predict": 0.25 * seconds})


@pytest.fixture
def jobs(tmp_path):
    """Return a job by the first letters of its data, with its corruption, and method."""
    entries = [
        {
            "path": str(write_table(tmp_path / f"{name}.csv", n_rows)),
            "truth": "truth",
            "corruption": {"p": [0.1, 0.5], "r": 1},
        }
        for name, n_rows in (("small", 30), ("large", 60))
    ]
    plan = make_plan(small_study(None, "plknn", "ipal", datasets=entries))
    return {(one.data_title, one.method_title): one for one in plan.jobs}


def test_nothing_is_known_before_a_job_has_ended(jobs):
    assert TimeLeft().seconds(jobs.values(), elapsed=3.0) is None


def test_the_rest_costs_what_its_like_has_cost_at_the_pace_so_far(jobs):
    left, job = TimeLeft(), jobs["small, p=0.1, r=1", "PLKNN"]
    left.learn(job, cost(2.0))
    left.learn(job, cost(4.0))
    # Work of six seconds took four, in two processes; three more jobs are work of nine.
    assert left.seconds([job] * 3, elapsed=4.0) == pytest.approx(6.0)


def test_other_data_is_taken_to_cost_what_the_method_costs_elsewhere(jobs):
    left = TimeLeft()
    left.learn(jobs["small, p=0.1, r=1", "PLKNN"], cost(1.0))
    left.learn(jobs["large, p=0.1, r=1", "PLKNN"], cost(9.0))
    left.learn(jobs["large, p=0.1, r=1", "IPAL"], cost(30.0))

    def expected(data, method):
        return left.seconds([jobs[data, method]], elapsed=40.0)

    assert expected("large, p=0.1, r=1", "PLKNN") == pytest.approx(9.0)
    assert expected("large, p=0.5, r=1", "PLKNN") == pytest.approx(9.0)
    assert expected("small, p=0.5, r=1", "IPAL") == pytest.approx(30.0)
    assert expected("small, p=0.5, r=1", "LR on true labels") == pytest.approx(40 / 3)


def test_records_of_an_earlier_run_say_what_jobs_cost_and_nothing_about_the_pace(jobs):
    left, job = TimeLeft(), jobs["small, p=0.1, r=1", "PLKNN"]
    left.learn(job, cost(2.0), now=False)
    assert left.seconds([job], elapsed=1.0) is None
    left.learn(job, cost(2.0))
    assert left.seconds([job], elapsed=8.0) == pytest.approx(8.0)


def test_nothing_left_takes_no_time(jobs):
    left = TimeLeft()
    left.learn(jobs["small, p=0.1, r=1", "PLKNN"], cost(2.0))
    assert left.seconds([], elapsed=1.0) == 0


def test_jobs_that_took_no_time_divide_nothing_by_zero(jobs):
    left, job = TimeLeft(), jobs["small, p=0.1, r=1", "PLKNN"]
    left.learn(job, cost(0.0))
    assert left.seconds([job], elapsed=5.0) is None
    left.learn(job, SimpleNamespace(seconds={}))
    assert left.seconds([job], elapsed=5.0) is None
    left.learn(jobs["small, p=0.1, r=1", "IPAL"], cost(2.0))
    assert left.seconds([job], elapsed=5.0) == 0
    assert left.seconds([job, jobs["large, p=0.5, r=1", "IPAL"]], elapsed=5.0) == pytest.approx(5.0)


def test_every_kind_that_is_unknown_falls_back_on_the_next_that_is_wider(jobs):
    """The same job costs what is known of its setting, its dataset, its method, or of all jobs."""
    left, wanted = TimeLeft(), jobs["small, p=0.1, r=1", "PLKNN"]
    known = [
        (("large, p=0.1, r=1", "IPAL"), 8.0, 8.0),
        (("large, p=0.1, r=1", "PLKNN"), 4.0, 4.0),
        (("small, p=0.5, r=1", "PLKNN"), 2.0, 2.0),
        (("small, p=0.1, r=1", "PLKNN"), 1.0, 1.0),
    ]
    worked = 0.0
    for name, seconds, expected in known:
        left.learn(jobs[name], cost(seconds))
        worked += seconds
        assert left.seconds([wanted], elapsed=worked) == pytest.approx(expected)


def test_two_processes_halve_what_is_left(jobs):
    alone, together, job = TimeLeft(), TimeLeft(), jobs["small, p=0.1, r=1", "PLKNN"]
    for left in (alone, together):
        for _ in range(4):
            left.learn(job, cost(3.0))
    # The same work of 12 s, in 12 s and in 6 s.
    assert alone.seconds([job] * 2, elapsed=12.0) == pytest.approx(6.0)
    assert together.seconds([job] * 2, elapsed=6.0) == pytest.approx(3.0)
