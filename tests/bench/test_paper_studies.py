import shutil

import numpy as np
import pytest

from disambig import NCPDClassifier, all_methods, load_dataset
from disambig._core.errors import ParameterError
from disambig.bench.paper import (
    PAPER_STUDIES,
    paper_study,
    published_accuracies,
    without_missing_data,
)
from disambig.bench.plan import make_plan
from disambig.bench.settings import Study

NEIGHBOURS = {"n_neighbors": [5, 10, 15, 20]}
MANY = ["NCPD", "NCPD+", "PLKNN", "M3PL", "IPAL", "SURE", "AGGD"]
READINGS = {
    "NCPD (plainest network)": NCPDClassifier.from_paper(),
    "NCPD (two hidden layers)": NCPDClassifier.from_paper(hidden=[512, 512]),
}
REAL_WORLD = ["lost", "birdsong", "msrcv2", "soccer_player", "yahoo_news"]


@pytest.fixture
def no_data(monkeypatch, tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.setenv("DISAMBIG_DATA", str(folder))
    return folder


def titles(study):
    return [method.shown_title for method in study.methods]


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("name", PAPER_STUDIES)
def test_every_study_of_the_paper_can_be_read_and_says_what_it_is(name, quick):
    study = paper_study(name, quick=quick)
    assert study.name == (f"{name}-quick" if quick else name)
    assert len(study.about) > 100
    assert ("What is cut" in study.about) == quick
    assert study.reference_title == "NCPD"
    assert study.protocol.selection == "covering_rate"


@pytest.mark.parametrize("name", PAPER_STUDIES)
def test_the_studies_have_ten_folds_as_the_paper_has(name):
    study = paper_study(name)
    assert (study.protocol.kind, study.protocol.folds) == ("kfold", 10)
    assert study.protocol.repeats == (2 if name == "ablation" else 1)


def test_the_table_has_the_methods_and_data_and_grids_of_the_paper():
    study = paper_study("table")
    assert titles(study) == [*MANY, *READINGS]
    assert [entry.name for entry in study.datasets] == REAL_WORLD
    assert all(entry.corruption is None for entry in study.datasets)
    assert {method.shown_title: method.grid for method in study.methods} == {
        "NCPD": {},
        "NCPD+": {},
        "PLKNN": NEIGHBOURS,
        "M3PL": {"C": [0.01, 0.1, 1.0, 10.0, 100.0]},
        "IPAL": NEIGHBOURS,
        "SURE": {},
        "AGGD": NEIGHBOURS,
        **{title: {} for title in READINGS},
    }


@pytest.mark.parametrize("title", READINGS)
def test_the_table_has_ncpd_with_plainer_networks_too(title):
    (entry,) = (method for method in paper_study("table").methods if method.title == title)
    ours = entry.method_class(**entry.parameters)
    assert ours.get_params() == READINGS[title].get_params()


def test_the_curves_have_the_corruption_of_the_paper():
    study = paper_study("curves")
    assert titles(study) == MANY
    assert [entry.name for entry in study.datasets] == ["glass", "ecoli", "vehicle", "abalone"]
    for entry in study.datasets:
        assert entry.corruption.p == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
        assert entry.corruption.r == [1, 2, 3]
    grids = {method.shown_title: method.grid for method in study.methods}
    assert grids["PLKNN"] == grids["IPAL"] == grids["AGGD"] == NEIGHBOURS


@pytest.mark.parametrize("quick", [False, True])
def test_the_ablation_follows_the_epochs_with_one_idea_switched_off_or_several_added(quick):
    study = paper_study("ablation", quick=quick)
    assert study.protocol.by_epoch
    assert {method.shown_title: method.parameters for method in study.methods} == {
        "NCPD": {},
        "NCPD+": {},
        "w/o NC": {"cooperation": False},
        "w/o PD": {"progressive": False},
    }
    assert [entry.name for entry in study.datasets] == ["msrcv2"]


def test_the_groups_have_every_method_with_its_defaults():
    study = paper_study("groups")
    every = [name for name, method in all_methods().items() if method.card.role == "method"]
    assert sorted(method.name for method in study.methods) == sorted(every)
    assert not any(method.grid or method.parameters for method in study.methods)
    assert titles(paper_study("groups", quick=True)) == MANY


@pytest.mark.parametrize("quick", [False, True])
def test_the_groups_are_held_out_as_rows_as_groups_and_with_cover_promised(quick):
    study = paper_study("groups", quick=quick)
    assert study.protocol.groups == [False, True]
    assert [(entry.name, entry.promise) for entry in study.datasets] == [
        (name, ["none", "cover"]) for name in REAL_WORLD[:3]
    ]


@pytest.mark.realdata
def test_rows_of_the_groups_are_jobs_of_the_table_where_nothing_is_chosen():
    table, _ = without_missing_data(paper_study("table"))
    known = make_plan(table).by_key
    jobs = make_plan(paper_study("groups")).jobs
    shared = [planned for planned in jobs if planned.job.key in known]
    assert {planned.groups_title for planned in shared} == {""}
    baselines = {"oracle", "random_candidate"}
    assert {planned.job.method for planned in shared} == {"ncpd", "ncpd_plus", "sure", *baselines}
    assert len(shared) == 5 * 3 * 10
    data = dict.fromkeys(planned.data_title for planned in jobs)
    assert list(data)[:3] == ["lost", "lost, new groups", "lost, new groups, cover"]


@pytest.mark.realdata
def test_what_is_said_about_the_files_of_lost_and_birdsong_is_so():
    about = paper_study("groups").about
    lost, birdsong = (load_dataset(name, groups=True).candidates for name in ("lost", "birdsong"))
    # By candidate, the first class first: rows with it come before rows without.
    masks = lost.prior().toarray() > 0
    assert masks.tolist() == sorted(masks.tolist(), reverse=True)
    assert lost.groups.max() + 1 == len(set(lost.to_strings())) == 97
    assert "its 97 runs have 97 different sets" in about
    sizes = np.bincount(birdsong.groups)
    assert sizes.max() == 1280
    assert set(birdsong.sizes[birdsong.groups == sizes.argmax()]) == {1}
    assert "1,280 rows with a single label, a quarter of its rows" in about
    assert sizes.max() / len(birdsong) == pytest.approx(0.25, abs=0.01)


def n_jobs(study):
    combinations = [
        len(entry.corruption.p) * len(entry.corruption.r) if entry.corruption else 1
        for entry in study.datasets
    ]
    return sum(combinations) * len(study.methods) * study.protocol.folds * study.protocol.repeats


@pytest.mark.parametrize("name", PAPER_STUDIES)
def test_a_quick_study_is_a_part_of_the_whole_one(name):
    whole, quick = paper_study(name), paper_study(name, quick=True)
    compared = set(MANY) if name == "groups" else set(titles(whole)) - set(READINGS)
    compared = {title for title in compared if not title.endswith(", linear")}
    assert titles(quick) == [title for title in titles(whole) if title in compared]
    data = {entry.name: entry.corruption for entry in whole.datasets}
    for entry in quick.datasets:
        if entry.corruption is not None:
            assert set(entry.corruption.p) <= set(data[entry.name].p)
            assert set(entry.corruption.r) <= set(data[entry.name].r)
        else:
            assert data[entry.name] is None
    assert not any(method.grid for method in quick.methods)
    assert n_jobs(quick) < n_jobs(whole) / 3


def test_an_unknown_study_is_refused():
    with pytest.raises(ParameterError, match="'name' must be one of 'table', 'curves', 'ablation'"):
        paper_study("figures")


def test_published_figures_are_there_for_every_method_and_dataset():
    published = published_accuracies()
    assert list(published) == REAL_WORLD
    for methods in published.values():
        assert list(methods) == [title for title in MANY if title != "NCPD+"]
        assert all(0 < std < 0.1 < mean < 1 for mean, std in methods.values())
    assert published["lost"]["NCPD"] == (0.790, 0.055)
    assert published["yahoo_news"]["AGGD"] == (0.637, 0.008)


def test_in_the_paper_ncpd_wins_everywhere():
    for methods in published_accuracies().values():
        assert max(methods, key=lambda title: methods[title][0]) == "NCPD"


# Data that is not at hand ------------------------------------------------------------------------


def test_without_any_of_its_data_there_is_no_study_left(no_data):
    rest, missing = without_missing_data(paper_study("table"))
    assert rest is None
    assert [card.name for card in missing] == REAL_WORLD


def test_data_inside_the_package_is_never_missing(no_data):
    study = paper_study("curves")
    rest, missing = without_missing_data(study)
    assert rest == study
    assert missing == []


def test_the_rest_of_a_study_is_on_the_data_that_is_at_hand(no_data):
    (no_data / "MSRCv2.mat").touch()
    rest, missing = without_missing_data(paper_study("table"))
    assert [entry.name for entry in rest.datasets] == ["msrcv2"]
    assert [card.name for card in missing] == [name for name in REAL_WORLD if name != "msrcv2"]
    assert rest.methods == paper_study("table").methods


def test_no_folder_at_all_is_as_good_as_an_empty_one(monkeypatch):
    monkeypatch.delenv("DISAMBIG_DATA", raising=False)
    rest, missing = without_missing_data(paper_study("table", quick=True))
    assert rest is None
    assert [card.name for card in missing] == ["lost", "birdsong", "msrcv2"]


def test_files_of_the_user_are_not_looked_for(no_data, table):
    entries = ["lost", {"path": str(table), "truth": "truth"}, {"path": "gone.csv"}]
    rest, missing = without_missing_data(Study(name="a", datasets=entries, methods=["plknn"]))
    assert [entry.path for entry in rest.datasets] == [str(table), "gone.csv"]
    assert [card.name for card in missing] == ["lost"]


def test_studies_are_readable_as_files_of_the_users_own(tmp_path):
    from importlib.resources import files

    folder = files("disambig.bench") / "paper_studies"
    names = sorted(path.name for path in folder.iterdir() if path.name.endswith(".toml"))
    assert len(names) == 11  # five studies, five quick ones, the published figures
    for name in names:
        if name != "published.toml":
            shutil.copy(str(folder / name), tmp_path / name)
            stem = name.removesuffix(".toml")
            expected = paper_study(stem.removesuffix("-quick"), quick=stem.endswith("-quick"))
            assert Study.from_toml(tmp_path / name) == expected
