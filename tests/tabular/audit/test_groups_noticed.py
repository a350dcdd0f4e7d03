"""Groups that nobody named: noticed where there are some, and nowhere else."""

import logging

import numpy as np
import pandas as pd
import pytest

from disambig import CandidateLabels, audit_table, fit_table, load_dataset
from disambig.candidates import corrupt_controlled, corrupt_coupled
from disambig.datasets import example_tables
from disambig.tabular.audit import groups_noticed
from disambig.tabular.audit.groups_noticed import notice_groups
from tabular.small_tables import neighbours, three_clouds

NAMES = ["ann", "bob", "eve", "joe", "kim", "lee", "max", "pat"]


def photos(n_photos=120, *, shuffled=False, seed=0):
    """Return a table of faces: the names of a photo are those of its caption."""
    rng = np.random.default_rng(seed)
    photo = np.repeat(np.arange(n_photos), rng.integers(1, 6, n_photos))
    captions = np.array(["|".join(rng.choice(NAMES, 2, replace=False)) for _ in range(n_photos)])
    table = pd.DataFrame(
        {
            "height": rng.normal(size=len(photo)).round(3).astype(str),
            "width": rng.normal(size=len(photo)).round(3).astype(str),
            "teeth": rng.integers(20, 32, len(photo)).astype(str),
            "label": captions[photo],
            "photo": [f"IMG {number}.jpg" for number in photo],
        }
    )
    return table.sample(frac=1, random_state=seed, ignore_index=True) if shuffled else table


def noticed_in(table, **settings):
    y = CandidateLabels.from_strings(table["label"])
    return notice_groups(y, table, reserved=["label"], **settings)


@pytest.mark.parametrize("shuffled", [False, True])
def test_a_column_whose_values_split_the_table_into_equal_sets_is_named(shuffled):
    table = photos(shuffled=shuffled)
    found = noticed_in(table)
    assert (found.sign, found.group) == ("column", "photo")
    assert f"'photo', which has {table['photo'].nunique()} values" in str(found)
    assert "--group photo (in Python group='photo')" in str(found)
    assert "trained on some rows of each and judged by the others" in str(found)
    assert found.seen.endswith("have the same candidate labels.")


def test_a_column_that_fits_but_for_few_rows_is_named_with_these():
    table = photos()
    # Some row of several labels: it gets a name that is nobody's in its photo.
    table.loc[table["label"].str.contains("|", regex=False).argmax(), "label"] = "zoe|yan"
    found = noticed_in(table)
    assert found.group == "photo"
    assert found.seen.endswith("have the same candidate labels, with few exceptions.")


def test_the_column_of_the_largest_groups_is_named():
    table = photos()
    table["face"] = table["photo"] + np.where(np.arange(len(table)) % 2, "left", "right")
    assert noticed_in(table).group == "photo"
    assert noticed_in(table.drop(columns="photo")).group == "face"


def test_some_rows_that_were_settled_do_not_hide_a_column():
    table = photos()
    table.loc[::10, "label"] = "ann"
    assert noticed_in(table).group == "photo"


def test_numbers_can_name_groups_and_measurements_cannot():
    table = photos()
    number = table.pop("photo").factorize()[0]
    for values in (number, number.astype(float), number.astype(str)):
        assert noticed_in(table.assign(roll=values)).group == "roll"
    assert noticed_in(table.assign(roll=number + 0.5)).group == "runs"


def test_a_column_that_writes_the_sets_in_another_way_is_not_named():
    truth = np.random.default_rng(0).choice(NAMES, 300)
    y = corrupt_coupled(truth, p=1, epsilon=1, random_state=0)
    codes = pd.factorize(np.array(y.to_strings()))[0]
    assert notice_groups(y, pd.DataFrame({"code": codes})) is None
    # Twice as many values, which the sets do not explain.
    halves = 2 * codes + np.arange(300) % 2
    assert notice_groups(y, pd.DataFrame({"code": halves})).group == "code"


def test_cells_that_are_lists_or_empty_name_no_group():
    table = photos(shuffled=True)
    photo = table.pop("photo")
    assert noticed_in(table.assign(boxes=[[1, 2]] * len(table), none=None)) is None
    some = photo.where(np.arange(len(photo)) % 4 > 0, None)
    assert noticed_in(table.assign(photo=some)).group == "photo"


def test_runs_of_equal_sets_are_noticed_if_no_column_fits():
    found = noticed_in(photos().drop(columns="photo"))
    assert (found.sign, found.group) == ("runs", "runs")
    assert "--group runs (in Python group='runs')" in str(found)
    assert noticed_in(photos(shuffled=True).drop(columns="photo")) is None


def test_near_duplicates_are_noticed_and_a_sorted_table_can_hold_out_its_sets():
    rng = np.random.default_rng(0)
    table = photos(n_photos=300, shuffled=True)
    number = table.pop("photo").factorize()[0]
    values = pd.DataFrame(rng.normal(size=(300, 8))[number]).add_prefix("x")
    values += 0.05 * rng.normal(size=values.shape)
    found = noticed_in(table, values=values)
    assert (found.sign, found.group) == ("near_duplicates", None)
    assert "near duplicates" in str(found)
    assert "Name the column that says which rows come together: --group" in str(found)
    table["label"] = ["|".join(sorted(cell.split("|"))) for cell in table["label"]]
    order = np.argsort(table["label"].to_numpy(), kind="stable")
    in_order = noticed_in(table.iloc[order], values=values.iloc[order])
    assert (in_order.sign, in_order.group) == ("near_duplicates", "runs")
    assert "If there is none, --group runs" in str(in_order)
    others = values.sample(frac=1, random_state=1)
    assert noticed_in(table.iloc[order], values=others) is None


def test_groups_that_were_named_are_not_noticed():
    table = photos()
    y = CandidateLabels.from_strings(table["label"]).with_groups(table["photo"])
    assert notice_groups(y, table) is None


def test_small_tables_and_single_labels_give_no_sign():
    assert noticed_in(photos(n_photos=12)) is None
    table = photos()
    table["label"] = [cell.split("|")[0] for cell in table["label"]]
    assert noticed_in(table) is None
    assert noticed_in(table.sort_values("label")) is None


@pytest.mark.parametrize("name", ["glass", "ecoli", "vehicle", "abalone"])
def test_corrupted_tables_give_no_sign_in_any_order(name):
    data = load_dataset(name)
    truth, values = data.true_labels, pd.DataFrame(data.X).add_prefix("x")
    rng = np.random.default_rng(0)
    n_labels = len(np.unique(truth))
    any_order = rng.permutation(n_labels)[np.unique(truth, return_inverse=True)[1]]
    orders = [
        np.arange(len(truth)),
        rng.permutation(len(truth)),
        np.argsort(truth, kind="stable"),
        np.argsort(any_order, kind="stable"),
    ]
    for order in orders:
        for y in (
            corrupt_controlled(truth[order], p=0.7, r=1, random_state=0),
            corrupt_controlled(truth[order], p=1, r=3, random_state=0),
            corrupt_coupled(truth[order], p=1, epsilon=0.7, random_state=0),
            corrupt_coupled(truth[order], p=1, epsilon=1, random_state=0),
        ):
            of_rows = values.iloc[order]
            assert notice_groups(y, of_rows, of_rows) is None
            by_cell = np.argsort(y.to_strings(), kind="stable")
            assert notice_groups(y[by_cell], of_rows.iloc[by_cell], of_rows.iloc[by_cell]) is None


def test_the_tables_of_the_package_give_no_sign():
    table = example_tables()["vehicles.csv"]
    audit = audit_table(table, truth="checked", id="vehicle")
    assert "groups_not_named" not in [finding.kind for finding in audit.findings]
    assert noticed_in(three_clouds(600)) is None


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("name", "sign"), [("msrcv2", "runs"), ("birdsong", "runs"), ("lost", "near_duplicates")]
)
def test_real_data_that_come_in_groups_are_noticed(name, sign):
    data = load_dataset(name)
    values = pd.DataFrame(data.X).add_prefix("x")
    found = notice_groups(data.candidates, values, values)
    # The file of Lost is sorted by its sets, so that its order says nothing.
    assert (found.sign, found.group) == (sign, "runs")
    runs = data.candidates.with_groups("runs").groups
    order = np.random.default_rng(0).permutation(len(values))
    named = values.assign(photo=runs).iloc[order]
    assert notice_groups(data.candidates[order], named).group == "photo"


def test_a_fit_with_folds_warns_and_one_with_groups_or_without_folds_does_not(recwarn):
    table = photos(60).drop(columns="photo")
    fit_table(table, method=neighbours(), n_folds=2)
    assert ["--group runs" in str(one.message) for one in recwarn].count(True) == 1
    assert any(one.filename == __file__ for one in recwarn)
    recwarn.clear()
    fit_table(table, method=neighbours(), n_folds=2, group="runs")
    fit_table(table, method=neighbours(), n_folds=0)
    assert not [one for one in recwarn if "--group" in str(one.message)]


def test_no_fit_fails_because_groups_could_not_be_looked_for(monkeypatch, caplog):
    def fail(*args, **settings):
        raise ZeroDivisionError

    monkeypatch.setattr(groups_noticed, "notice_groups", fail)
    with caplog.at_level(logging.DEBUG):
        fit_table(photos(60), method=neighbours(), n_folds=2, ignore="photo")
    assert "Could not look for groups" in caplog.text
