import pytest

from bench.small_studies import SIDE_BY_SIDE, fits_in, metrics_of, small_study, write_table
from disambig.bench import run_study
from disambig.bench.execute import execute


def groups_in(log):
    """Return the sizes of the groups that a method was given; single fits are logged too."""
    return [fit["together"] for fit in fits_in(log) if fit["together"] > 1]


@pytest.mark.usefixtures("in_this_process")
def test_all_folds_that_are_still_to_do_go_to_the_method_at_once(table, store, log):
    result = run_study(small_study(table, SIDE_BY_SIDE), store)
    assert groups_in(log) == [3]
    lost = next(planned.job.key for planned in result.plan.jobs[1:])
    (store / f"{lost}.json").unlink()
    more = run_study(small_study(table, SIDE_BY_SIDE, protocol={"folds": 3, "repeats": 2}), store)
    assert groups_in(log) == [3, 4]
    sizes = [record.side_by_side for one, record in more.jobs() if one.job.method == SIDE_BY_SIDE]
    assert sizes == [3, 4, 3, 4, 4, 4]
    assert metrics_of(result).items() <= metrics_of(more).items()


@pytest.mark.usefixtures("in_this_process")
def test_a_group_has_the_rows_of_its_own_data(store, tmp_path):
    # Two files of one name: each is learned from, and neither in the place of the other.
    paths = [write_table(tmp_path / str(seed) / "data.csv", random_state=seed) for seed in (0, 1)]
    entries = [{"path": str(path), "truth": "truth"} for path in paths]
    entries[1]["title"] = "the other"
    result = run_study(small_study(None, SIDE_BY_SIDE, datasets=entries), store)
    for planned, record in result.jobs():
        [(expected, _)] = execute(planned.dataset, [planned.job])
        assert record.metrics == expected.metrics


@pytest.mark.usefixtures("log", "quick_workers")
def test_a_fold_that_kills_its_process_does_not_keep_the_others_from_their_end(table, store):
    entry = {"name": SIDE_BY_SIDE, "parameters": {"dies_without": 7}}
    result = run_study(small_study(table, entry), store)
    assert len(result.failed) == 1
