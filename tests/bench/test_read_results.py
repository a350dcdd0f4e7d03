"""Results read from a store without running anything. Jobs run in this process."""

import pytest

from bench.small_studies import DILIGENT, bytes_in, diligent, fits_in, metrics_of, small_study
from disambig import DisambigError
from disambig.bench import read_results, run_study

pytestmark = pytest.mark.usefixtures("in_this_process")


def test_what_was_run_is_read_back_and_nothing_runs_or_changes(table, store, log):
    study = small_study(table, diligent())
    ran = run_study(study, store)
    before, n_fits = bytes_in(store), len(fits_in(log))
    stored = read_results(study, store)
    assert metrics_of(stored.result) == metrics_of(ran)
    assert stored.n_missing == 0
    assert stored.notices == ()
    assert len(fits_in(log)) == n_fits > 0
    assert bytes_in(store) == before


def test_jobs_without_a_record_are_counted_and_left_out(table, store):
    run_study(small_study(table, diligent()), store)
    larger = small_study(table, diligent(), "plknn")
    stored = read_results(larger, store)
    titles = {planned.method_title for planned, _ in stored.result.jobs()}
    assert "PLKNN" not in titles
    assert stored.n_missing == 3
    assert len(stored.result.jobs()) == 9
    assert stored.notices == ("3 of 12 jobs have no record yet.",)
    assert stored.result.plan.study is larger


def test_a_damaged_record_counts_as_missing_with_a_notice(table, store):
    study = small_study(table, diligent())
    ran = run_study(study, store)
    victim = ran.plan.jobs[0].job.key
    (store / f"{victim}.json").write_text("{}", encoding="utf-8")
    stored = read_results(study, store)
    assert victim not in stored.result.records
    assert stored.n_missing == 1
    damaged, missing = stored.notices
    assert f"{victim}.json is damaged" in damaged
    assert missing == "1 of 9 jobs have no record yet."
    assert (store / f"{victim}.json").read_text("utf-8") == "{}"


def test_what_failed_is_part_of_the_result(table, store):
    study = small_study(table, diligent(fails_without=7))
    ran = run_study(study, store)
    assert len(ran.failed) > 0
    stored = read_results(study, store)
    assert len(stored.result.failed) == len(ran.failed)
    assert stored.n_missing == 0


def test_a_store_without_any_record_of_the_study_is_refused(table, store, tmp_path):
    run_study(small_study(table, diligent()), store)
    other = small_study(table, {"name": DILIGENT, "title": "other"}, protocol={"folds": 4})
    for folder in (store, tmp_path / "nowhere"):
        with pytest.raises(DisambigError, match="no record of 'small' in .* Run the study first"):
            read_results(other, folder)
    assert not (tmp_path / "nowhere").exists()
