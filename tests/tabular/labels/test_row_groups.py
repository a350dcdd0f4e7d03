"""Which rows of a table come together: by a column, by runs, or by the sets themselves."""

import numpy as np
import pandas as pd
import pytest

from disambig import CandidateLabels
from disambig._core.errors import ParameterError, TableError
from disambig.candidates import Promise
from disambig.candidates.groups import DEFAULT_STRENGTH
from disambig.tabular.defaults import DEFAULT_PROMISE_STRENGTH
from disambig.tabular.labels.row_groups import RowGroups, groups_of

SETS = CandidateLabels.from_strings(["a|b", "a|b", "b|c", "b|c", "a|b"])


def put_on(photos: list[object], sets: CandidateLabels = SETS, **options: object):
    frame = pd.DataFrame({"photo": pd.Series(photos, dtype=object)})
    return RowGroups(**{"group": "photo"} | options).put_on(sets, frame)


def test_rows_with_the_same_cell_are_a_group_however_it_is_typed():
    grouped, notices = put_on([3, "3", 3.0, " 4", "4 "])
    assert grouped.groups.tolist() == [0, 0, 0, 1, 1]
    assert notices == []
    assert grouped.promise is None


def test_a_row_with_a_blank_cell_stands_alone_with_a_notice():
    grouped, (notice,) = put_on(["x", None, "", "NA", "x"])
    assert grouped.groups.tolist() == [0, 1, 2, 3, 0]
    assert notice == (
        "Column 'photo' names no group for 3 rows, the first is row 2. Each of them stands alone."
    )
    # A blank row is not the group that happens to have its number as a name.
    grouped, (notice,) = put_on(["1", None, "1", "x", "x"])
    assert grouped.groups.tolist() == [0, 1, 0, 2, 2]
    assert "names no group for row 2. It stands alone." in notice


def test_runs_are_neighbours_with_equal_sets_unless_a_column_has_that_name():
    frame = pd.DataFrame({"x": range(5)})
    grouped, _ = RowGroups(group="runs").put_on(SETS, frame)
    assert grouped.groups.tolist() == [0, 0, 1, 1, 2]
    assert RowGroups(group="runs").column(frame) is None
    named, _ = RowGroups(group="runs").put_on(SETS, frame.assign(runs=[*"vvvvw"]))
    assert named.groups.tolist() == [0, 0, 0, 0, 1]


def test_a_promise_goes_with_the_groups():
    grouped, _ = put_on([*"ppqqq"], promise="exclusive", promise_strength=0.5)
    assert grouped.promise == Promise("exclusive", 0.5)
    assert DEFAULT_PROMISE_STRENGTH == DEFAULT_STRENGTH


def test_sets_made_elsewhere_keep_their_groups_unless_others_are_named():
    frame = pd.DataFrame({"photo": [*"ppqqq"]})
    made = SETS.with_groups([1, 1, 1, 2, 2], promise="cover")
    assert RowGroups().put_on(made, frame)[0] is made
    promised, _ = RowGroups(promise="exclusive").put_on(made, frame)
    assert promised.groups.tolist() == [0, 0, 0, 1, 1]
    assert promised.promise == Promise("exclusive")
    other, _ = RowGroups(group="photo").put_on(made, frame)
    assert (other.groups.tolist(), other.promise) == ([0, 0, 1, 1, 1], None)


def test_sets_of_some_rows_have_the_groups_of_these():
    frame = pd.DataFrame({"photo": [*"ppqqq"]})
    rows = np.array([False, True, True, False, True])
    grouped, _ = RowGroups(group="photo").put_on(SETS[rows], frame, rows)
    assert grouped.groups.tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"group": None, "promise": "cover"}, ParameterError, "name the column .* by --group"),
        ({"group": "foto"}, TableError, "Did you mean 'photo'.* use the word runs"),
        ({"promise": "each"}, ParameterError, "'promise' must be"),
        ({"promise": "cover", "promise_strength": 2}, ParameterError, "'promise_strength' must be"),
        ({"promise_strength": 0.5}, ParameterError, "needs a promise: --promise cover"),
    ],
)
def test_what_cannot_be_said_of_groups_is_refused(options, error, message):
    with pytest.raises(error, match=message):
        put_on([*"ppqqq"], **options)


def test_a_column_without_any_group_is_refused_and_one_of_single_rows_noticed():
    with pytest.raises(TableError, match="No row has a group in column 'photo'"):
        put_on([None, "", "NA", None, ""])
    _, (notice,) = put_on([*"abcde"])
    assert notice.startswith("No two rows have the same group in column 'photo'")
    with pytest.raises(TableError, match=r"Column 'photo' holds groups, one .* in row 2"):
        put_on(["a", ["a", "b"], "b", "b", "b"])


def test_groups_have_a_name_in_messages():
    assert groups_of("photo") == "groups of 'photo'"
    assert groups_of("runs") == "runs of equal sets"
    assert groups_of(None) == "groups"
