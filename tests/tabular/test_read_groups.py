"""The groups of a cleaned table, read back."""

import numpy as np
import pandas as pd
import pytest

from disambig import clean_table, read_table
from disambig._core.errors import TableError
from disambig.tabular import read_cleaned
from disambig.tabular.clean_details import read_details
from tabular.small_tables import neighbours, three_clouds
from tabular.test_cleaned_table import CLEANED, made_by

PHOTOS = CLEANED.assign(album=["a", "b", "a", ""])


def groups_of(*arguments, **options) -> list[int]:
    return read_cleaned(*arguments, **options).candidates.groups.tolist()


def test_groups_are_those_of_the_column_and_a_row_without_one_stands_alone():
    rows = read_cleaned(PHOTOS, made_by(group="album"))
    assert rows.candidates.groups.tolist() == [0, 1, 0, 2]
    assert (rows.group, rows.candidates.promise) == ("album", None)
    assert "album" in rows.values


def test_what_groups_promise_is_read_back_and_told():
    made = made_by(group="album", promise="cover", promise_strength=0.7)
    rows = read_cleaned(PHOTOS, made)
    assert (rows.candidates.promise.kind, rows.candidates.promise.strength) == ("cover", 0.7)
    about = rows.provenance.about
    assert about["rows come together by"] == "groups of 'album'"
    assert about["groups promise"] == "cover, believed of 70 % of them"


def test_without_groups_rows_stand_alone():
    assert read_cleaned(PHOTOS, made_by()).candidates.groups is None
    assert "rows come together by" not in read_cleaned(PHOTOS, made_by()).provenance.about


def test_a_caller_may_name_another_column_of_which_nothing_is_promised():
    made = made_by(group="album", promise="cover", promise_strength=0.7)
    other = PHOTOS.assign(place=["x", "x", "y", "y"])
    rows = read_cleaned(other, made, group="place")
    assert rows.candidates.groups.tolist() == [0, 0, 1, 1]
    assert (rows.group, rows.candidates.promise) == ("place", None)
    assert read_cleaned(other, made, group="album").candidates.promise.kind == "cover"
    assert groups_of(other, group="place") == [0, 0, 1, 1]
    with pytest.raises(TableError, match="no column 'plac', which should be the groups of rows"):
        read_cleaned(other, group="plac")


def test_a_column_that_is_gone_is_warned_of():
    with pytest.warns(UserWarning, match="came together by column 'album'.*no longer there"):
        rows = read_cleaned(CLEANED, made_by(group="album"))
    assert (rows.candidates.groups, rows.group) == (None, None)


def test_runs_are_those_of_the_cleaning_though_rows_were_settled_since(tmp_path):
    frame = pd.concat([three_clouds(12)] * 3, ignore_index=True).sort_values("label")
    frame = frame.drop(columns="truth").reset_index(drop=True)
    lengths = frame["label"].value_counts(sort=False).tolist()
    settled = {1: frame["label"][1].split("|")[0]}
    out = tmp_path / "clean.csv"
    clean_table(frame, method=neighbours(), group="runs", decisions=settled, n_folds=2, out=out)
    details = read_details(f"{out}.details.json")
    assert details.run_lengths == lengths
    expected = np.repeat(np.arange(len(lengths)), lengths).tolist()
    assert groups_of(read_table(out), details) == expected
    # Of another table they say nothing: then the sets do, in which the settled row differs.
    shorter = details.model_copy(update={"run_lengths": lengths[:-1]})
    assert groups_of(read_table(out), shorter) != expected
    column = frame.assign(runs="one")
    clean_table(column, method=neighbours(), group="runs", in_sample=True, out=out)
    assert groups_of(read_table(out), read_details(f"{out}.details.json")) == [0] * len(frame)


def test_a_cell_that_was_edited_is_left_out():
    cells = {1: "cat:0.6|dog:0.4", 2: "dog:much"}
    made = made_by(group="album", promise="cover", promise_strength=0.7, free_confidences=cells)
    assert read_cleaned(PHOTOS, made).free_confidences == {0: {"cat": 0.6, "dog": 0.4}}
