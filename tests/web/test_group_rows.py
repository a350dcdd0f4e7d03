"""Rows that come together, as the scripts of a page read them."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from disambig import CandidateLabels
from disambig.web import doubtful_rows
from disambig.web.doubtful_rows import doubtful_data
from disambig.web.group_rows import GroupAnswers
from disambig.web.table_report import table_page
from web.hand_made_rows import five_rows
from web.photo_rows import counted, photo_rows


def test_a_page_has_the_names_and_sizes_of_groups_and_the_rest_of_their_rows():
    payload = doubtful_data(photo_rows(), saved_in="log.jsonl")
    numbers = [row[0] for row in payload["rows"]]
    groups = payload["groups"]
    assert sorted(numbers) == [2, 3, 4, 5, 6]
    assert [row[:2] for row in groups["mates"]] == [[1, "b1"]]  # sure, but in the photo of others
    of = dict(zip([*numbers, 1], groups["of"], strict=True))
    names = {number: None if of[number] is None else groups["names"][of[number]] for number in of}
    assert names == {1: "beach", 2: "beach", 4: "beach", 3: "garden", 5: "garden", 6: None}
    assert dict(zip(groups["names"], groups["sizes"], strict=True)) == {"beach": 3, "garden": 2}
    assert groups["by"] == "photo"
    assert (groups["promise"], groups["strength"]) == ("exclusive", 0.9)
    assert groups["isTold"] == [True, True]
    assert json.loads(json.dumps(payload, allow_nan=False)) == payload


def test_other_rows_of_a_group_come_with_all_that_doubtful_ones_have():
    rows = photo_rows(
        miss_probability=np.full(6, 0.6),
        label_if_missed=np.full(6, 4),
        per_network={0: [[0.8, 0.15, 0.05]]},
    )
    payload = doubtful_data(rows)
    (mate,) = payload["groups"]["mates"]
    shares = sorted(counted({})[0].values(), reverse=True)
    assert mate[:3] == [1, "b1", [0, 2, 1]]
    assert mate[3] == [round(share, 4) for share in shares]
    assert mate[4:] == [[[0.8, 0.05, 0.15]], ["b1", "beach"]]
    assert [1, 0.6, 4] in payload["misses"]


def test_only_groups_of_which_all_rows_are_known_by_themselves_are_told():
    free = dict(photo_rows().free_confidences)
    del free[0]  # of the beach
    groups = doubtful_data(photo_rows(free_confidences=free), saved_in="log.jsonl")["groups"]
    told = dict(zip(groups["names"], groups["isTold"], strict=True))
    assert told == {"beach": False, "garden": True}
    without = doubtful_data(photo_rows(free_confidences={}), saved_in="log.jsonl")["groups"]
    assert not any(without["isTold"])
    assert doubtful_data(five_rows())["groups"] is None


def test_the_surest_row_that_deserves_a_second_look_is_the_measure_of_all():
    surest = max(max(counted({})[row].values()) for row in (1, 2, 3, 4, 5))
    assert doubtful_data(photo_rows())["groups"]["surest"] == round(surest, 4)


@pytest.mark.parametrize(
    ("kind", "groups", "can_keep"),
    [
        # Four faces have three names between them, two have two.
        ("exclusive", [0, 0, 1, 0, 1, 0], {4: False, 2: True}),
        ("cover", [0, 0, 1, 0, 1, 0], {4: True, 2: True}),
        # Three faces have five names, two have four.
        ("exclusive", [0, 1, 2, 1, 1, 2], {3: True, 2: True}),
        ("cover", [0, 1, 2, 1, 1, 2], {3: False, 2: False}),
    ],
)
def test_a_promise_that_a_group_cannot_keep_is_told_from_others(kind, groups, can_keep):
    moved = photo_rows(kind=kind).candidates.with_groups(groups, promise=kind)
    described = doubtful_data(photo_rows(kind=kind, candidates=moved))["groups"]
    assert dict(zip(described["sizes"], described["canKeep"], strict=True)) == can_keep


def test_runs_are_called_by_their_rows():
    sets = photo_rows().candidates.with_groups([0, 0, 1, 1, 1, 2])
    groups = doubtful_data(photo_rows(candidates=sets, group="runs"))["groups"]
    assert groups["by"] is None
    assert set(groups["names"]) == {"rows 1 to 2", "rows 3 to 5"}


def many_rows(n_rows: int, n_groups: int, **changes: object):
    """Return rows of which the first of every group is doubtful."""
    groups = np.arange(n_rows) % n_groups
    shares = [{"cat": 0.6, "dog": 0.4}] * n_rows
    rows = five_rows(
        shares,
        second_look=np.arange(n_rows) < n_groups,
        values=pd.DataFrame({"group": [f"g{group}" for group in groups]}),
        group="group",
    )
    return replace(rows, candidates=rows.candidates.with_groups(groups), **changes)


def test_of_a_large_group_the_nearest_rows_are_there_and_its_size_says_how_many_more():
    groups = doubtful_data(many_rows(100, 1))["groups"]
    assert [mate[0] for mate in groups["mates"]] == list(range(2, 26))
    assert groups["sizes"] == [100]
    # No more of them than of doubtful rows.
    assert len(doubtful_data(many_rows(100, 2), most=2)["groups"]["mates"]) == 2


def test_rows_of_groups_that_do_not_fit_are_left_out_and_leave_columns_in(monkeypatch):
    everything = doubtful_data(many_rows(40, 10), most=10)
    assert len(everything["groups"]["mates"]) == 10  # three of the first groups, none of the last
    size = len(json.dumps(everything["rows"], separators=(",", ":")))
    monkeypatch.setattr(doubtful_rows, "_BYTES_FOR_ROWS", 2 * size)
    payload = doubtful_data(many_rows(40, 10), most=10)
    assert payload["rows"] == everything["rows"]
    assert 0 < len(payload["groups"]["mates"]) < 10
    assert len(payload["groups"]["of"]) == 10 + len(payload["groups"]["mates"])


def test_a_page_of_groups_stays_small():
    n_rows = 20_000
    names = [f"label {number}" for number in range(40)]
    sets = CandidateLabels.from_mask(np.ones((n_rows, 40), dtype=bool), names)
    rows = five_rows(
        candidates=sets.with_groups(np.arange(n_rows) // 2),
        confidences=np.full(40 * n_rows, 0.025),
        chosen=np.zeros(n_rows, dtype=int),
        second_look=np.arange(n_rows) % 2 == 0,
        values=pd.DataFrame({"html": [f"{row // 2}{'<' * 200}" for row in range(n_rows)]}),
        group="html",
    )
    page = table_page(rows, title="many")
    assert 6_000_000 < len(page.encode()) < 10_000_000


# What a review answers ---------------------------------------------------------------------------


def test_answers_have_new_confidences_the_likeliest_first_and_the_errors_then():
    rows = photo_rows()
    names = rows.candidates.classes.tolist()
    decisions = {1: "Ben", 2: "Emil"}
    answer = GroupAnswers(rows, range(1, 7))(decisions)
    expected = counted(decisions)
    assert [number for number, _, _ in answer["confidences"]] == [1, 4, 5]
    for number, places, shares in answer["confidences"]:
        assert shares == sorted(shares, reverse=True)
        found = {names[place]: share for place, share in zip(places, shares, strict=True)}
        assert found == pytest.approx(expected[number - 1], abs=1e-4)
    # Rows that are settled count as they did; the page takes them out.
    before, now = counted({}), expected
    doubt = [1 - max((before if row in decisions else now)[row].values()) for row in range(6)]
    assert answer["errors"] == pytest.approx(sum(doubt), abs=1e-3)


def test_only_rows_on_the_page_are_told():
    rows = photo_rows()
    everything = GroupAnswers(rows, range(1, 7))({1: "Ben"})
    answer = GroupAnswers(rows, [2, 4])({1: "Ben"})
    assert [number for number, _, _ in answer["confidences"]] == [4]
    assert answer["errors"] == everything["errors"]


def test_without_decisions_everything_is_as_in_the_table():
    rows = photo_rows()
    errors = pytest.approx(rows.expected_errors, abs=1e-4)
    assert GroupAnswers(rows, range(1, 7))({}) == {"confidences": [], "errors": errors}
