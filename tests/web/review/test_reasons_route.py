"""What a review answers to the question why."""

import dataclasses
import json

import numpy as np
import pytest
from starlette.testclient import TestClient

from disambig.web.reasons_route import ReasonsOfRows, reasons_route
from tabular.reasons.hand_made_tables import table_of
from web.hand_made_rows import HOSTILE

CAT, DOG = {"cat": 1.0}, {"dog": 1.0}
EITHER = {"cat": 0.6, "dog": 0.4}
COLUMNS = ["bird", "size", "remark", "label", "checked"]


@pytest.fixture
def table():
    return table_of(
        [EITHER, CAT, CAT, DOG, DOG],
        {
            "bird": ["B1", "B2", "B3", "B4", "B5"],
            "size": ["2", "1", "3", "", "9"],
            "colour": ["red", "red", "red", "blue", None],
            "remark": ["x", HOSTILE, "y" * 400, "\ud800", ""],
            "label": ["cat|dog", "cat", "cat", "dog", "dog"],
            "checked": ["", "cat", "", "", "dog"],
        },
        id="bird",
        labels=["label"],
        truth="checked",
        features={"number": ["size"], "category": ["colour"]},
    )


@pytest.fixture
def client(table) -> TestClient:
    return client_of(ReasonsOfRows(table, COLUMNS))


def client_of(reasons: ReasonsOfRows) -> TestClient:
    return TestClient(reasons_route(5, lambda: reasons))


def test_similar_rows_come_with_their_values_in_the_order_of_the_page(client):
    similar = client.get("/why?row=1").json()["similar"]
    first = similar[0]
    assert first["number"] in (2, 3)
    assert first["name"] == f"B{first['number']}"
    assert first["label"] == "cat"
    assert 0 <= first["likeness"] <= 1
    by_number = {one["number"]: one for one in similar}
    assert set(by_number) == {2, 3, 4, 5}
    assert by_number[2]["values"] == ["B2", "1", HOSTILE, "", ""]
    assert by_number[4]["values"][1] == ""


def test_candidate_and_true_labels_are_not_among_the_values(client):
    similar = client.get("/why?row=1").json()["similar"]
    assert {tuple(one["values"][3:]) for one in similar} == {("", "")}


def test_long_texts_are_shortened_and_lone_surrogates_written_out(client):
    by_number = {one["number"]: one for one in client.get("/why?row=1").json()["similar"]}
    assert by_number[3]["values"][2] == "y" * 299 + "…"
    assert by_number[4]["values"][2] == "\\ud800"


def test_ranges_and_shares_have_all_that_the_page_draws(client):
    answer = client.get("/why?row=1").json()
    assert set(answer) == {"similar", "ranges", "shares"}
    (size,) = answer["ranges"]
    assert set(size) == {"column", "value", "at", "telling", "labels"}
    assert (size["column"], size["value"]) == ("size", "2")
    assert size["at"] == 0.375  # the second of four that are there
    assert [label["label"] for label in size["labels"]] == ["cat", "dog"]
    assert set(size["labels"][0]) == {
        *("label", "low", "quarter", "middle", "three_quarters", "high", "rows"),
    }
    (colour,) = answer["shares"]
    assert (colour["column"], colour["value"]) == ("colour", "red")
    assert colour["labels"] == [
        {"label": "cat", "share": 1.0, "rows": 2},
        {"label": "dog", "share": 0.0, "rows": 2},
    ]


def test_a_gap_has_no_place_and_no_nan_is_written(client):
    response = client.get("/why?row=4")

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    answer = json.loads(response.text, parse_constant=refuse)
    assert answer["ranges"][0]["at"] is None
    assert answer["ranges"][0]["value"] == ""


@pytest.mark.parametrize(
    "row", ["", "0", "6", "-1", "1.0", "1e0", "x", "²", "10" * 3_000, " 1", "+1", "%00", "1_0"]
)
def test_rows_that_are_not_there_are_refused(client, row):
    response = client.get("/why", params={"row": row})
    assert response.status_code == 400
    assert response.json() == {"error": "The rows are 1 to 5."}


def test_a_question_without_a_row_is_refused_and_nothing_else_is_asked(client):
    assert client.get("/why").status_code == 400
    assert client.post("/why?row=1").status_code == 405


def test_many_columns_are_cut_after_the_most_telling():
    generator = np.random.default_rng(0)
    values = {f"x{place}": generator.normal(size=400) for place in range(60)}
    values["clear"] = np.arange(400) % 2 * 9 + generator.normal(size=400)
    shares = [[CAT, DOG][row % 2] for row in range(400)]
    shares[0] = EITHER
    reasons = ReasonsOfRows(table_of(shares, values), ["clear"])
    found = client_of(reasons).get("/why?row=1").json()["ranges"]
    assert len(found) == 50
    assert found[0]["column"] == "clear"


def test_a_page_that_was_made_anew_is_told_of_the_rows_that_it_shows(table):
    now = [ReasonsOfRows(table, COLUMNS)]
    client = TestClient(reasons_route(5, lambda: now[0]))
    before = client.get("/why?row=1").json()["similar"]
    assert client.get("/why?row=1").json()["similar"] == before
    now[0] = ReasonsOfRows(dataclasses.replace(table, chosen=1 - table.chosen), ["size"])
    after = client.get("/why?row=1").json()["similar"]
    labels = {one["number"]: one["label"] for one in before}
    assert all(one["label"] != labels[one["number"]] for one in after)
    assert {len(one["values"]) for one in after} == {1}
