import re

import pytest

from bench.small_studies import small_study, write_table
from disambig._core.errors import StudyError
from disambig.bench import ControlledCorruption, Study
from disambig.bench.plan import Split, make_plan
from disambig.bench.trial import GridSelection


def described(plan):
    return [(one.data_title, one.method_title, one.job.split) for one in plan.jobs]


def test_jobs_come_in_the_order_of_datasets_methods_and_splits(tmp_path):
    paths = [write_table(tmp_path / f"{name}.csv") for name in ("zebra", "ant")]
    entries = [{"path": str(path), "truth": "truth"} for path in paths]
    plan = make_plan(small_study(None, "plknn", "ipal", datasets=entries))
    splits = [Split(seed=0, fold=fold, n_folds=3) for fold in range(3)]
    assert described(plan) == [
        (data, method, split)
        for data in ("zebra", "ant")
        for method in ("PLKNN", "IPAL", "LR on a random candidate", "LR on true labels")
        for split in splits
    ]


def test_baselines_are_added_at_the_end_and_once(table):
    def titles(*methods):
        jobs = make_plan(small_study(table, *methods)).jobs
        return list(dict.fromkeys((one.method_title, one.role) for one in jobs))

    method, on_random, on_truth = (
        ("PLKNN", "method"),
        ("LR on a random candidate", "candidate_baseline"),
        ("LR on true labels", "true_label_baseline"),
    )
    assert titles("plknn") == [method, on_random, on_truth]
    assert titles("oracle", "plknn") == [on_truth, method, on_random]
    named = {"name": "random_candidate", "title": "blind"}
    assert titles("plknn", named) == [method, ("blind", "candidate_baseline"), on_truth]


def test_every_share_is_combined_with_every_number_of_false_labels(table):
    entry = {"path": str(table), "truth": "truth", "corruption": {"p": [0.25, 1], "r": [1, 2]}}
    plan = make_plan(small_study(table, "plknn", datasets=[entry]))
    assert list(dict.fromkeys(one.job.corruption for one in plan.jobs)) == [
        ControlledCorruption(p=p, r=r) for r in (1, 2) for p in (0.25, 1)
    ]
    assert plan.jobs[0].data_title == "small, p=0.25, r=1"
    assert plan.jobs[-1].data_title == "small, p=1, r=2"


def test_every_miss_rate_is_combined_with_every_corruption_and_named_in_titles(table):
    corruption = {"p": [0.25, 1], "r": 1, "miss": [0, 0.1]}
    entry = {"path": str(table), "truth": "truth", "corruption": corruption}
    plan = make_plan(small_study(table, "plknn", datasets=[entry]))
    assert list(dict.fromkeys(one.data_title for one in plan.jobs)) == [
        "small, p=0.25, r=1",
        "small, p=0.25, r=1, miss=0.1",
        "small, p=1, r=1",
        "small, p=1, r=1, miss=0.1",
    ]


def test_misses_alone_leave_the_sets_of_the_dataset_and_a_rate_of_zero_changes_no_job(table):
    entry = {"path": str(table), "truth": "truth"}
    plain = make_plan(small_study(table, "plknn"))
    plan = make_plan(
        small_study(table, "plknn", datasets=[entry | {"corruption": {"miss": [0, 0.2]}}])
    )
    assert [one.data_title for one in plan.jobs[::9]] == ["small", "small, miss=0.2"]
    assert all(one.job.corruption is None for one in plan.jobs)
    assert [one.job.key for one in plan.jobs[:9]] == [one.job.key for one in plain.jobs]


def test_sets_that_miss_the_truth_already_are_refused_whichever_fold_they_are_in(tmp_path):
    path = write_table(tmp_path / "small.csv")
    lines = path.read_text(encoding="utf-8").splitlines()
    cells = lines[7].split(",")
    cells[3] = next(name for name in ("cat", "dog") if name != cells[4])
    path.write_text("\n".join([*lines[:7], ",".join(cells), *lines[8:]]), encoding="utf-8")
    entry = {"path": str(path), "truth": "truth", "corruption": {"miss": 0.1}}
    with pytest.raises(StudyError, match=r"datasets\[0\]: The truth can be left out only .* row 6"):
        make_plan(small_study(None, "plknn", datasets=[entry]))


def test_repeats_have_the_seeds_that_follow(table):
    protocol = {"folds": 2, "repeats": 3, "seed": 5}
    jobs = make_plan(small_study(table, "plknn", protocol=protocol)).jobs[:6]
    assert [(one.job.split.seed, one.job.split.fold) for one in jobs] == [
        (seed, fold) for seed in (5, 6, 7) for fold in (0, 1)
    ]


def test_a_hold_out_is_one_job_for_every_repeat(table):
    protocol = {"kind": "holdout", "test_share": 0.25, "repeats": 2}
    jobs = make_plan(small_study(table, "plknn", protocol=protocol)).jobs
    assert [one.job.split for one in jobs[:2]] == [
        Split(seed=0, test_share=0.25),
        Split(seed=1, test_share=0.25),
    ]
    assert len(jobs) == 6


def test_only_a_method_with_a_grid_has_a_selection(table):
    tuned = {"name": "plknn", "grid": {"n_neighbors": [3, 5]}}
    protocol = {"folds": 2, "selection": "oracle", "inner_folds": 4}
    jobs = make_plan(small_study(table, tuned, "ipal", protocol=protocol)).jobs
    selections = {one.method_title: one.job.selection for one in jobs}
    assert selections.pop("PLKNN") == GridSelection("oracle", 4)
    assert set(selections.values()) == {None}


def test_a_change_of_the_selection_renames_only_what_is_selected(table):
    tuned = {"name": "plknn", "grid": {"n_neighbors": [3, 5]}}

    def keys(inner_folds):
        protocol = {"folds": 2, "inner_folds": inner_folds}
        jobs = make_plan(small_study(table, tuned, "ipal", protocol=protocol)).jobs
        return {(one.method_title, one.job.split.fold): one.job.key for one in jobs}

    before, after = keys(3), keys(4)
    changed = {title for title in before if before[title] != after[title]}
    assert changed == {("PLKNN", 0), ("PLKNN", 1)}


def test_only_methods_with_epochs_are_followed_over_them(table):
    quick = {"name": "ncpd", "parameters": {"hidden": 8, "epochs": 3, "ramp_epochs": 2}}
    jobs = make_plan(small_study(table, quick, protocol={"folds": 2, "by_epoch": True})).jobs
    followed = {one.method_title: one.job.by_epoch for one in jobs}
    assert followed == {"NCPD": True, "LR on a random candidate": False, "LR on true labels": False}


def test_titles_and_the_place_of_the_data_do_not_change_keys(tmp_path):
    entry = {"path": str(write_table(tmp_path / "a.csv")), "truth": "truth"}
    moved = {"path": str(write_table(tmp_path / "b" / "c.csv")), "truth": "truth"}
    renamed = {"name": "plknn", "title": "Neighbours"}
    first = make_plan(small_study(None, "plknn", datasets=[entry]))
    second = make_plan(small_study(None, renamed, datasets=[moved], name="other"))
    assert [one.job.key for one in first.jobs] == [one.job.key for one in second.jobs]


def test_jobs_of_a_batch_differ_in_their_split_only(table):
    entry = {"path": str(table), "truth": "truth", "corruption": {"p": [0.2, 0.4], "r": 1}}
    plan = make_plan(small_study(table, "plknn", datasets=[entry]))
    batches = plan.families()
    assert [one for batch in batches for one in batch] == list(plan.jobs)
    assert len(batches) == 2 * 3
    for batch in batches:
        assert len({one.job.split for one in batch}) == 3
        facts = [{**one.job.content, "split": None} for one in batch]
        assert facts == [facts[0]] * 3


def two_files_of_one_name(folder):
    paths = [write_table(folder / name / "data.csv", random_state=i) for i, name in enumerate("ab")]
    return [{"path": str(path), "truth": "truth"} for path in paths]


def test_data_of_one_title_is_refused(tmp_path):
    study = small_study(None, "plknn", datasets=two_files_of_one_name(tmp_path))
    with pytest.raises(StudyError, match=r"datasets\[1\]: 'data' is there already.*a 'title'"):
        make_plan(study)


def test_data_of_one_name_is_refused_even_if_its_corruption_differs(tmp_path):
    first, second = two_files_of_one_name(tmp_path)
    entries = [
        {**first, "corruption": {"p": 0.1, "r": 1}},
        {**second, "corruption": {"p": 0.4, "r": 1}},
    ]
    with pytest.raises(StudyError, match=r"datasets\[1\]: 'data, p=0.1, r=1' is there already"):
        make_plan(small_study(None, "plknn", datasets=entries))


def test_one_dataset_may_have_its_own_sets_and_made_ones(table):
    entry = {"path": str(table), "truth": "truth"}
    made = {**entry, "corruption": {"p": 0.5, "r": 1}}
    plan = make_plan(small_study(None, "plknn", datasets=[entry, made]))
    assert {planned.data_title for planned in plan.jobs} == {"small", "small, p=0.5, r=1"}


def test_shares_that_are_nearly_equal_have_titles_of_their_own(table):
    corruption = {"p": [0.3333333, 0.3333334], "r": 1}
    entry = {"path": str(table), "truth": "truth", "corruption": corruption}
    plan = make_plan(small_study(None, "plknn", datasets=[entry]))
    assert len({planned.data_title for planned in plan.jobs}) == 2


def test_more_inner_folds_than_rows_are_refused_where_there_is_a_grid(table):
    tuned = {"name": "plknn", "grid": {"n_neighbors": [2, 3]}}
    protocol = {"folds": 3, "inner_folds": 21}
    make_plan(small_study(table, "plknn", protocol=protocol))
    with pytest.raises(StudyError, match=r"datasets\[0\]: 'inner_folds' must be .* to 20. Got 21"):
        make_plan(small_study(table, tuned, protocol=protocol))


def test_a_path_is_a_path_and_no_name():
    study = Study(name="a", datasets=[{"path": "glass"}], methods=["plknn"])
    with pytest.raises(StudyError, match=r"datasets\[0\]: "):
        make_plan(study)


def test_files_of_one_name_in_two_folders_do_not_share_a_batch(tmp_path):
    first, second = two_files_of_one_name(tmp_path)
    entries = [first, second | {"title": "the other"}]
    for batch in make_plan(small_study(None, "plknn", datasets=entries)).families():
        assert len({one.job.data for one in batch}) == 1
        assert len({id(one.dataset) for one in batch}) == 1


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("no_such_set", "There is no dataset called 'no_such_set'"),
        ({"path": "/no/such/file.csv"}, "There is no file /no/such/file.csv"),
        ({"name": "glass", "corruption": {"p": 0.1, "r": 9}}, "'r' must be an integer from 1 to 5"),
    ],
    ids=str,
)
def test_data_that_cannot_be_used_is_reported_by_its_place(entry, message):
    study = Study(name="a", datasets=["glass", entry], methods=["plknn"])
    with pytest.raises(StudyError, match=re.escape(f"datasets[1]: {message}")):
        make_plan(study)


def test_a_real_world_set_that_is_not_at_hand_is_reported_by_its_place(monkeypatch):
    monkeypatch.delenv("DISAMBIG_DATA", raising=False)
    study = Study(name="a", datasets=["glass", "lost"], methods=["plknn"])
    with pytest.raises(StudyError, match=r"datasets\[1\]: Lost: .* needs its file"):
        make_plan(study)


def test_a_table_needs_true_labels(tmp_path, table):
    study = small_study(table, "plknn", datasets=[{"path": str(table)}])
    with pytest.raises(StudyError, match=r"datasets\[0\]: Every column of .*'truth'"):
        make_plan(study)
    lines = [line.rpartition(",")[0] for line in table.read_text().splitlines()]
    table.write_text("\n".join(lines))
    with pytest.raises(StudyError, match=r"datasets\[0\]: Evaluation needs true labels, and small"):
        make_plan(study)


def test_too_few_rows_for_the_folds_are_reported_before_anything_runs(table):
    study = small_study(table, "plknn", protocol={"folds": 31})
    with pytest.raises(
        StudyError, match=r"datasets\[0\]: 'n_folds' must be an integer from 2 to 30"
    ):
        make_plan(study)


# How many jobs ----------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", [{"folds": 10**9}, {"repeats": 10**9}])
def test_too_many_jobs_are_refused_before_any_is_made(protocol):
    study = small_study(None, "plknn", datasets=["glass", "ecoli"], protocol=protocol)
    with pytest.raises(StudyError, match=r"000,000 jobs, and the limit is 100,000.*--max-jobs \d+"):
        make_plan(study)


def test_jobs_are_counted_as_they_are_made(table):
    entry = {"path": str(table), "truth": "truth", "corruption": {"p": [0.2, 0.4], "r": 1}}
    study = small_study(table, "plknn", datasets=[entry], protocol={"folds": 3, "repeats": 2})
    count = len(make_plan(study).jobs)
    assert len(make_plan(study, max_jobs=count).jobs) == count
    with pytest.raises(StudyError, match=rf"small has {count} jobs, and the limit is {count - 1}"):
        make_plan(study, max_jobs=count - 1)


def test_more_folds_than_rows_are_refused_whatever_the_limit(table):
    study = small_study(table, "plknn", protocol={"folds": 10**9})
    with pytest.raises(StudyError, match="from 2 to 30. Got 1000000000"):
        make_plan(study, max_jobs=10**12)


def test_sets_by_flips_and_by_instance_are_made_once_and_named_in_titles(table):
    entry = {"path": str(table), "truth": "truth"}

    def plan(**corruption):
        entries = [entry | {"corruption": corruption}]
        return make_plan(small_study(table, "plknn", datasets=entries))

    flips = plan(q=[0, 0.5], miss=[0, 0.25])
    assert list(dict.fromkeys(one.data_title for one in flips.jobs)) == [
        "small, q=0",
        "small, q=0, miss=0.25",
        "small, q=0.5",
        "small, q=0.5, miss=0.25",
    ]
    plain, flipped = (flips.jobs[number].dataset for number in (0, -1))
    assert (plain.candidates.sizes == 1).all()
    assert flipped.candidates.sizes.mean() > 1.2
    by_instance = plan(instance=1.0).jobs[0].dataset
    assert by_instance.name == "small, instance=1"
    assert by_instance.candidates.contains(by_instance.true_labels).all()
    # The likeliest false label is in every set.
    assert by_instance.candidates.sizes.min() == 2
    assert by_instance.candidates == plan(instance=[1.0]).jobs[-1].dataset.candidates


def test_data_without_true_labels_cannot_have_sets_made_of_them(tmp_path):
    path = tmp_path / "blind.csv"
    path.write_text("a,label\n1,cat\n2,dog\n3,cat|dog\n")
    entry = {"path": str(path), "corruption": {"q": 0.1}}
    with pytest.raises(StudyError, match="made from true labels, and blind has none"):
        make_plan(small_study(path, "plknn", datasets=[entry]))


def test_every_imbalance_is_combined_with_every_corruption_and_changes_the_job_alone(table):
    entry = {
        "path": str(table),
        "truth": "truth",
        "imbalance": [1.0, 4.0],
        "corruption": {"p": [0.25, 1], "r": 1},
    }
    plan = make_plan(small_study(table, "plknn", datasets=[entry]))
    assert list(dict.fromkeys((one.data_title, one.job.imbalance) for one in plan.jobs)) == [
        ("small, p=0.25, r=1", 1),
        ("small, p=1, r=1", 1),
        ("small, imbalance=4, p=0.25, r=1", 4),
        ("small, imbalance=4, p=1, r=1", 4),
    ]
    assert len({one.job.data for one in plan.jobs}) == 1
    with pytest.raises(StudyError, match="has 36 jobs, and the limit is 35"):
        make_plan(small_study(table, "plknn", datasets=[entry]), max_jobs=35)
