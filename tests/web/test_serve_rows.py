"""Requests whose rows are read together get what each would get alone, or are read alone."""

import json

import numpy as np
import pytest

from disambig.tabular.new_rows import NewRows, predict_new_rows
from disambig.web.serve_requests import RequestError, read_head
from disambig.web.serve_rows import parse_body, read_requests, write_answer
from tabular.model_folders import PLAN
from web.served_models import expected, rows, served_model

ASKED = read_head([], "application/json", "")


def sent(records):
    return parse_body(PLAN.names, ASKED, json.dumps(records).encode(), most_rows=100)


def answers(requests):
    """Return what is said of requests, or why they are refused."""
    model = served_model()
    read = read_requests(model, [(ASKED, sent(records)) for records in requests])
    tables = [one for one in read if isinstance(one, NewRows)]
    found = iter(predict_new_rows(model, tables))
    return [
        json.loads(write_answer(ASKED, one, next(found))) if isinstance(one, NewRows) else one
        for one in read
    ]


def with_cells(**cells):
    return [rows(1)[0] | cells]


# Each of these alone is read in another way, or has another type, than beside some of the others.
VARIANTS = [
    rows(4),
    with_cells(size=None),
    with_cells(size=3),
    with_cells(size="3"),
    with_cells(size=" 3e0 "),
    with_cells(size="NA"),
    with_cells(size=2**53 + 1, color=3),
    with_cells(color=3.0),
    with_cells(color=True),
    with_cells(color=None),
    with_cells(color="mauve"),
    with_cells(tame=True),
    with_cells(tame="1"),
    with_cells(seen="2024-02-03T04:05:06.789Z"),
    with_cells(seen="1850-01-01"),
    with_cells(seen=None),
    with_cells(size="big"),
    with_cells(seen="9999-99-99"),
]


@pytest.mark.parametrize("seed", range(12))
def test_rows_read_together_are_read_as_alone(seed):
    draws = np.random.default_rng(seed)
    chosen = [VARIANTS[place] for place in draws.choice(len(VARIANTS), 2 + seed % 4)]
    for records, answer in zip(chosen, answers(chosen), strict=True):
        (alone,) = answers([records])
        if isinstance(alone, RequestError):
            assert (answer.status, str(answer)) == (alone.status, str(alone))
        else:
            assert answer == alone


def test_notices_go_to_whom_they_are_about():
    asked = [rows(2), with_cells(color="mauve"), rows(3, start=5)]
    said = answers(asked)
    assert [bool(one["notices"]) for one in said] == [False, True, False]
    assert said[2]["predictions"] == expected(asked[2])
