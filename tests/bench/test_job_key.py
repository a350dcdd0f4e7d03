import importlib
import sys
from dataclasses import replace

import numpy as np
import pytest

from bench.small_studies import write_table
from disambig import CandidateLabels, load_dataset
from disambig.bench import ControlledCorruption
from disambig.bench.record import Job, data_fingerprint, recipe_of
from disambig.bench.trial import GridSelection, Split
from disambig.datasets import make_partial_label_dataset

JOB = Job(
    method="plknn",
    data="0123",
    split=Split(seed=1, fold=2, n_folds=10),
    parameters={"n_neighbors": 5, "scaling": "half"},
    grid={"weights": ["distance", "uniform"]},
    selection=GridSelection("covering_rate", 3),
    corruption=ControlledCorruption(p=0.3, r=1),
)

OTHER_JOBS = {
    "method": {"method": "ipal"},
    "parameters": {"parameters": {"n_neighbors": 6, "scaling": "half"}},
    "no parameters": {"parameters": {}},
    "grid": {"grid": {"weights": ["uniform"]}},
    "order of the grid": {"grid": {"weights": ["uniform", "distance"]}},
    "criterion": {"selection": GridSelection("oracle", 3)},
    "inner folds": {"selection": GridSelection("covering_rate", 5)},
    "no selection": {"selection": None},
    "data": {"data": "0124"},
    "p": {"corruption": ControlledCorruption(p=0.4, r=1)},
    "r": {"corruption": ControlledCorruption(p=0.3, r=2)},
    "own sets": {"corruption": None},
    "fold": {"split": Split(seed=1, fold=3, n_folds=10)},
    "number of folds": {"split": Split(seed=1, fold=2, n_folds=5)},
    "hold-out": {"split": Split(seed=1, test_share=0.1)},
    "seed": {"split": Split(seed=2, fold=2, n_folds=10)},
    "epochs": {"by_epoch": True},
    "misses": {"miss": 0.1},
    "more misses": {"miss": 0.2},
    "imbalance": {"imbalance": 10.0},
    "more imbalance": {"imbalance": 100.0},
}


@pytest.mark.parametrize("change", OTHER_JOBS)
def test_the_key_changes_with_all_that_the_result_depends_on(change):
    assert replace(JOB, **OTHER_JOBS[change]).key != JOB.key


def test_no_two_of_these_jobs_share_a_key():
    keys = {replace(JOB, **changes).key for changes in OTHER_JOBS.values()}
    assert len(keys) == len(OTHER_JOBS)


def test_the_key_is_a_short_name_for_a_file_and_the_same_in_every_process():
    recipe, code = JOB.key.split("-")
    assert (len(recipe), len(code)) == (24, 12)
    assert int(recipe + code, 16)
    assert replace(JOB).key == JOB.key


def test_a_job_without_misses_is_described_as_it_was_before_there_were_any():
    # Or every study would be computed again.
    assert JOB.recipe == "778f1fefc97d14073a19d6c4"
    assert "miss" not in JOB.content
    assert replace(JOB, miss=0.1).content["miss"] == 0.1


def test_a_job_of_all_training_rows_is_described_as_it_was_before_any_were_left_out():
    assert "imbalance" not in JOB.content
    assert replace(JOB, imbalance=10.0).content["imbalance"] == 10
    assert recipe_of(JOB.content) == JOB.recipe


def test_a_record_of_a_job_with_misses_is_known_by_its_recipe():
    job = replace(JOB, miss=0.1)
    assert recipe_of(job.content) == job.recipe != JOB.recipe
    assert recipe_of(JOB.content) == JOB.recipe


def test_the_order_of_parameters_does_not_matter():
    other = replace(JOB, parameters={"scaling": "half", "n_neighbors": 5})
    assert other.key == JOB.key


def test_a_job_makes_its_method_with_its_parameters():
    method = JOB.make_method()
    assert type(method).card.name == "plknn"
    assert method.n_neighbors == 5


# Data --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def data():
    return make_partial_label_dataset(20, 3, 4, average_candidates=2, random_state=0)


def other_data(data):
    moved = data.X.copy()
    moved[3, 1] = np.nextafter(moved[3, 1], np.inf)
    mask = data.candidates.to_mask()
    fewer = mask.copy()
    fewer[0] = np.arange(4) == data.true_labels[0]
    labels = data.true_labels.copy()
    labels[5] = (labels[5] + 1) % 4
    names = ["d", "c", "b", "a"]
    weighted = CandidateLabels.from_mask(mask, weights=mask * np.array([1.0, 2.0, 1.0, 1.0]))
    heavier = CandidateLabels.from_mask(mask, weights=mask * np.array([1.0, 3.0, 1.0, 1.0]))
    return {
        "one value": {"X": moved},
        "one set": {"candidates": CandidateLabels.from_mask(fewer)},
        "one true label": {"true_labels": labels},
        "no true labels": {"true_labels": None},
        "names of classes": {
            "candidates": CandidateLabels.from_mask(mask, names),
            "true_labels": np.array(names)[data.true_labels],
        },
        "one more class": {"candidates": data.candidates.with_classes([0, 1, 2, 3, 4])},
        "weights": {"candidates": weighted},
        "other weights": {"candidates": heavier},
        "shape": {"X": data.X.reshape(20, 3)[:, :2], "feature_names": ["a", "b"]},
        "order": {
            "X": data.X[::-1],
            "candidates": data.candidates[::-1],
            "true_labels": data.true_labels[::-1],
        },
    }


def test_the_fingerprint_changes_with_all_content(data):
    changed = [data_fingerprint(replace(data, **changes)) for changes in other_data(data).values()]
    assert len({data_fingerprint(data), *changed}) == 1 + len(changed)


def test_the_fingerprint_does_not_depend_on_how_numbers_lie_in_memory(data):
    turned = replace(data, X=np.asfortranarray(data.X))
    assert data_fingerprint(turned) == data_fingerprint(data)


def test_the_fingerprint_does_not_depend_on_how_sets_are_stored(data):
    sparse = CandidateLabels.from_mask(data.candidates.to_sparse(), data.candidates.classes)
    assert data_fingerprint(replace(data, candidates=sparse)) == data_fingerprint(data)


def test_the_fingerprint_is_that_of_the_first_version():
    # Records of version 0.1.0 are recognised by it.
    assert data_fingerprint(load_dataset("glass")) == (
        "da4ae1118b06744f5dbd84f9b31fe5f70eaafbd598ad975b7bd65418935f9d58"
    )


def test_the_name_and_the_place_of_a_file_do_not_matter(tmp_path):
    first = load_dataset(write_table(tmp_path / "a.csv"), truth="truth")
    second = load_dataset(write_table(tmp_path / "b" / "other.csv"), truth="truth")
    assert first.name != second.name
    assert data_fingerprint(first) == data_fingerprint(second)


# Methods from elsewhere --------------------------------------------------------------------------

SOURCE = """
from disambig.methods import PLKNN

class Mine(PLKNN):
    pass
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    path = tmp_path / "a_method_of_mine.py"
    path.write_text(SOURCE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    yield path
    sys.modules.pop("a_method_of_mine", None)


def test_a_method_from_elsewhere_has_another_key_when_its_file_changes(module):
    job = replace(JOB, method="a_method_of_mine:Mine")
    before = job.key
    assert replace(job).key == before
    module.write_text(SOURCE + "\n# better\n", encoding="utf-8")
    assert replace(job).key != before


def test_two_methods_of_one_file_have_two_keys(module):
    module.write_text(SOURCE + SOURCE.replace("Mine", "Yours"), encoding="utf-8")
    keys = {replace(JOB, method=f"a_method_of_mine:{name}").key for name in ("Mine", "Yours")}
    assert len(keys) == 2
