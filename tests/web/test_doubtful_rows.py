"""The rows worth a second look, as the scripts of a page read them."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from disambig._core.errors import TableError
from disambig.web import doubtful_rows as module
from disambig.web.doubtful_rows import doubtful_data
from disambig.web.table_report import table_page
from web.hand_made_rows import five_rows


def test_rows_come_with_their_candidates_the_least_sure_first():
    payload = doubtful_data(
        five_rows(per_network={2: [[0.1, 0.2, 0.7]], 0: [[0.6, 0.4], [0.8, 0.2]]})
    )
    # Number, name, candidates by place among the classes, confidences, per_network, values.
    assert payload["classes"] == ["cat", "dog", "fox"]
    assert payload["rows"] == [
        [3, "3", [2, 1, 0], [0.5, 0.3, 0.2], [[0.7, 0.2, 0.1]], ["p3", ""]],
        [5, "5", [2, 1], [0.55, 0.45], [], ["p5", "5"]],
        [1, "1", [0, 1], [0.7, 0.3], [[0.6, 0.4], [0.8, 0.2]], ["p1", "1"]],
    ]
    assert payload["columns"] == ["photo", "size"]
    assert payload["columnsLeftOut"] == 0
    assert payload["id"] is None
    assert payload["savedIn"] is None


def test_totals_are_those_of_all_rows():
    payload = doubtful_data(five_rows(), most=1)
    assert len(payload["rows"]) == 1
    assert payload["totals"] == {"rows": 5, "doubtful": 3, "errors": 0.3 + 0.5 + 0.45}


def test_candidates_that_are_equally_likely_stay_in_order():
    rows = five_rows([{"dog": 0.5, "cat": 0.5}, *({"cat": 1.0},) * 4])
    assert doubtful_data(rows)["rows"][0][2:4] == [[0, 1], [0.5, 0.5]]


def test_rows_are_called_by_the_column_that_names_them():
    payload = doubtful_data(five_rows(id="photo"), saved_in="decisions.csv")
    assert payload["id"] == "photo"
    assert payload["savedIn"] == "decisions.csv"
    assert [row[:2] for row in payload["rows"]] == [[3, "p3"], [5, "p5"], [1, "p1"]]


def test_confidences_are_rounded_for_people():
    rows = five_rows([{"dog": 1 / 3, "cat": 2 / 3}, *({"cat": 1.0},) * 4])
    assert doubtful_data(rows)["rows"][0][3] == [0.6667, 0.3333]


def test_without_doubt_there_is_nothing_to_settle():
    payload = doubtful_data(five_rows(second_look=np.zeros(5, dtype=bool)))
    assert payload["rows"] == []
    assert payload["totals"]["doubtful"] == 0


def test_columns_that_do_not_fit_are_left_out_and_counted(monkeypatch):
    # Three texts of ten letters as JSON: quotes, commas and brackets make 40 bytes.
    values = pd.DataFrame({name: ["x" * 10] * 5 for name in "abcd"})
    monkeypatch.setattr(module, "_BYTES_FOR_VALUES", 100)
    payload = doubtful_data(five_rows(values=values))
    assert payload["columns"] == ["a", "b"]
    assert payload["columnsLeftOut"] == 2
    assert [row[-1] for row in payload["rows"]] == [["x" * 10] * 2] * 3
    assert doubtful_data(five_rows(values=values), most=1)["columnsLeftOut"] == 0


def test_rows_that_do_not_fit_are_left_out_the_most_doubtful_last(monkeypatch):
    monkeypatch.setattr(module, "_BYTES_FOR_ROWS", 70)
    payload = doubtful_data(five_rows())
    assert [row[0] for row in payload["rows"]] == [3, 5]
    assert payload["totals"]["doubtful"] == 3
    assert payload["columnsLeftOut"] == 2  # rows come before what is in their columns


def test_a_page_stays_small_however_many_candidates_there_are_and_whatever_cells_hold():
    names = [f"label {number}" for number in range(40)]
    shares = [dict.fromkeys(names, 0.025)] * 10_000
    values = pd.DataFrame({"html": ["<" * 200] * 10_000})
    rows = five_rows(shares, second_look=np.ones(10_000, dtype=bool), values=values)
    per_network = {row: [[0.0251] * 40] * 2 for row in range(10_000)}
    page = table_page(replace(rows, per_network=per_network), title="many")
    assert 6_000_000 < len(page.encode()) < 10_000_000


def test_long_cells_are_shortened():
    values = pd.DataFrame({"note": ["a" * 300, "", "b" * 301, "", "猫" * 5000]})
    notes = [row[-1][0] for row in doubtful_data(five_rows(values=values))["rows"]]
    assert notes == ["b" * 299 + "…", "猫" * 299 + "…", "a" * 300]


def test_cells_of_any_type_are_texts():
    values = pd.DataFrame({"x": pd.Series([1.0, 2, True, None, {"a": [1]}], dtype=object)})
    cells = [row[-1][0] for row in doubtful_data(five_rows(values=values))["rows"]]
    assert all(isinstance(cell, str) for cell in cells)
    assert cells[0] == "True"
    assert cells[2] == "1"


def test_half_characters_are_spelled_out():
    values = pd.DataFrame({"x": ["a\ud800b"] * 5}, dtype=object)
    payload = doubtful_data(five_rows(values=values))
    assert payload["rows"][0][-1] == ["a\\ud800b"]
    json.dumps(payload, ensure_ascii=False).encode("utf-8")


def test_a_payload_is_json():
    payload = doubtful_data(five_rows(id="photo", per_network={2: [[0.1, 0.2, 0.7]]}))
    assert json.loads(json.dumps(payload, allow_nan=False)) == payload


def test_decisions_in_a_browser_are_kept_for_one_table():
    key = doubtful_data(five_rows())["key"]
    assert doubtful_data(five_rows(), most=1)["key"] == key
    others = [
        five_rows([{"cat": 0.71, "dog": 0.29}, *[{"dog": 1.0}] * 4]),
        five_rows([{"cat": 0.7, "cow": 0.3}, *[{"cow": 1.0}] * 4]),
        five_rows([{"cat": 0.7, "dog": 0.3}, *[{"cat": 1.0}] * 4]),
    ]
    keys = [doubtful_data(other)["key"] for other in others]
    assert len({key, *keys}) == 4


def test_names_that_do_not_tell_rows_apart_are_refused():
    rows = five_rows(values=pd.DataFrame({"key": list("abcbe")}), id="key")
    with pytest.raises(TableError, match="It holds 'b' in row 2 and in row 4"):
        doubtful_data(rows)


def test_rows_whose_set_may_miss_the_right_label_are_named_with_the_label_then():
    misses = {
        "miss_probability": np.array([0.5, 0.9, 0.1, 0.0, 0.6]),
        "label_if_missed": np.array([2, 0, 0, -1, -1]),
    }
    # The second is not marked, and in the third another candidate is likelier.
    assert doubtful_data(five_rows(**misses))["misses"] == [[5, 0.6, None], [1, 0.5, 2]]
    assert doubtful_data(five_rows(**misses), most=2)["misses"] == [[5, 0.6, None]]
    assert doubtful_data(five_rows())["misses"] == []
