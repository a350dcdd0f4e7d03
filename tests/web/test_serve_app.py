"""What a server of predictions answers: the numbers of the model, or what is to be done."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from starlette.testclient import TestClient

from disambig._core.errors import ParameterError
from disambig.tabular import write_table
from disambig.tabular.columns.values import ColumnPlan, column_values
from disambig.web.serve_app import model_app
from disambig.web.serve_batches import ServeLimits
from tabular.model_folders import CANDIDATES, PLAN, QUICK_NETWORK, TABLE
from tabular.small_tables import fit_model
from web.served_models import CSV, JSON, expected, frame_of, rows, served, served_model

LIMITS = ServeLimits(request_rows=100, body_bytes=50_000)


@pytest.fixture(scope="module")
def client():
    with TestClient(model_app(served_model(), name="pets", limits=LIMITS)) as client:
        yield client


def refusal(response):
    assert response.headers["content-type"] == "application/json"
    answer = response.json()
    assert list(answer) == ["error"]
    return response.status_code, answer["error"]


# ---- predictions


@pytest.mark.parametrize("top", [1, 2, 99])
@pytest.mark.parametrize("wrapped", [False, True])
def test_rows_get_what_the_model_says_of_them_to_the_bit(client, top, wrapped):
    some = rows()
    body = {"rows": some} if wrapped else some
    answer = client.post(f"/predict?top={top}", json=body)
    assert answer.status_code == 200
    assert answer.json() == {"predictions": expected(some, top=top), "notices": []}


def test_csv_gets_the_columns_that_the_command_writes(client, tmp_path):
    frame = frame_of(rows())
    answer = client.post(
        "/predict?top=2", content=frame.to_csv(index=False), headers=CSV | {"Accept": "text/csv"}
    )
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    write_table(served_model().predict(frame, top=2), tmp_path / "said.csv")
    assert answer.content == (tmp_path / "said.csv").read_bytes()


def test_candidate_sets_that_rows_come_with_are_heeded(client):
    some = rows(3)
    for row, labels in zip(some, ["cat|dog", "fox", "dog|fox"], strict=True):
        row["maybe"] = labels
    answer = client.post("/predict?labels=maybe&top=2", json=some).json()
    assert answer["predictions"] == expected(some, labels="maybe", top=2)
    first, second, third = answer["predictions"]
    assert first["predicted_label"] in ("cat", "dog")
    assert (second["predicted_label"], second["label_2"]) == ("fox", None)
    assert second["probability_2"] is None
    assert third["predicted_label"] in ("dog", "fox")


def test_groups_and_their_promise_are_heeded(client):
    some = rows(4)
    for row in some:
        row |= {"maybe": "cat|dog", "photo": "a"}
    query = "labels=maybe&group=photo&promise=cover&promise_strength=0.95"
    answer = client.post(f"/predict?{query}", json=some).json()
    options = {"group": "photo", "promise": "cover", "promise_strength": 0.95}
    assert answer["predictions"] == expected(some, labels="maybe", **options)
    assert {one["predicted_label"] for one in answer["predictions"]} == {"cat", "dog"}


def test_what_was_not_seen_in_training_is_noticed(client):
    (row,) = rows(1)
    row["color"] = "mauve"
    notices = client.post("/predict", json=[row]).json()["notices"]
    assert len(notices) == 1
    assert "'color' has values that the training table did not have" in notices[0]
    assert client.post("/predict", json=rows(1)).json()["notices"] == []


def test_other_columns_do_not_matter(client):
    (row,) = rows(1)
    answer = client.post("/predict", json=[row | {"name": "Rex", "more": {"deep": [1]}}])
    assert answer.json()["predictions"] == expected(rows(1))


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("", "application/json"),
        ("*/*", "application/json"),
        ("text/*, application/xml", "text/csv; charset=utf-8"),
        ("text/csv;q=0.4, application/json;q=0.6", "application/json"),
        ("text/csv, application/json;q=0.6", "text/csv; charset=utf-8"),
    ],
)
def test_the_answer_has_the_form_that_is_asked_for(client, accept, kind):
    answer = client.post("/predict", json=rows(1), headers={"Accept": accept})
    assert answer.headers["content-type"] == kind


# ---- refusals


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("", "it is not JSON: Expecting value"),
        ("[", "it is not JSON: Expecting value"),
        ('{"rows": 3}', "Rows come as a list of objects. Got a number."),
        ("[]", "At least one row is needed. The list is empty."),
        ('{"row": []}', "'rows', perhaps 'embeddings', and nothing else. Got 'row'."),
        ('{"rows": [], "rows": []}', "the key 'rows' is there twice"),
        ("[" * 5000 + "]" * 5000, "lie more than 64 deep"),
        ('[{"size": 1' + "0" * 5000 + "}]", "it is not JSON: Exceeds the limit"),
        ('[{"size": NaN}]', "NaN is not a value of JSON; write null where nothing is known"),
        ('[{"size": -Infinity}]', "-Infinity is not a value of JSON"),
        (b'[{"size": "\xff"}]', "Byte 12 (0xff) is not: write it in this encoding."),
        ('[{"size": "\\ud83d"}]', "The body has half of one, '\\ud83d'."),
    ],
)
def test_a_body_that_is_no_rows_is_refused(client, body, error):
    status, said = refusal(client.post("/predict", content=body, headers=JSON))
    assert status == 400
    assert error in said


def changed(**cells):
    """Return three rows, of which the second has other cells."""
    some = rows(3)
    some[1] |= cells
    return some


@pytest.mark.parametrize(
    ("some", "error"),
    [
        ([3], "Every row is an object. Row 1 is a number."),
        ([*rows(1), None], "Every row is an object. Row 2 is null."),
        (
            [*rows(1), {"sise": 1, **{k: v for k, v in rows(1)[0].items() if k != "size"}}],
            "Row 2 has no 'size'. It has 'sise', which the model does not use. Write null where",
        ),
        (changed(size="big"), r"Column 'size' must hold numbers, as in the training table. Got "),
        (changed(size=True), "Column 'size' must hold numbers"),
        (changed(size=[1, 2]), "Column 'size' cannot hold lists or mappings (row 2)"),
        (changed(color={"a": 1}), "Column 'color' cannot hold lists or mappings (row 2)"),
        (changed(size=1e999), "Column 'size' cannot hold numbers that are infinite or above"),
        (changed(size=10**400), "Column 'size' cannot hold numbers that are infinite or above"),
        (changed(seen="31.12.2024"), "Column 'seen' must hold dates"),
        (changed(tame="perhaps"), "Column 'tame' must hold booleans"),
    ],
)
def test_rows_that_the_model_cannot_read_are_refused(client, some, error):
    text = json.dumps(some).replace("Infinity", "1e999")
    status, said = refusal(client.post("/predict", content=text, headers=JSON))
    assert status == 422
    assert error in said
    assert "--ignore" not in said  # advice for training


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("", "The table needs"),
        ("size,size\n1,2\n", "Columns 1 and 2 are both called 'size'. Rename one of them."),
        ("size,weight\n1,2\n1\n", "row 2"),
        ("size\n1\n", "The table has no columns 'weight', 'color', 'tame', 'seen'"),
        ('size\n"1\n', "quote"),
        ("size\n\0\n", "NUL"),
    ],
)
def test_a_csv_that_cannot_be_read_is_refused(client, body, error):
    status, said = refusal(client.post("/predict", content=body, headers=CSV))
    assert status == 422
    assert error.lower() in said.lower()


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("topp=3", "There is no parameter 'topp'. Did you mean 'top'?"),
        ("top=0", "'top' must be a number of labels, 1 or more. Got '0'."),
        ("top=1e3", "'top' must be a number of labels"),
        ("top=1&top=2", "'top' may be given once. It came 2 times."),
        ("labels=maybe&votes=perhaps", "'votes' must be true or false. Got 'perhaps'."),
        ("labels=maybe&empty=none", "'empty' must be"),
        ("promise=cover", "promise is about candidate labels of the rows. Name their column by"),
        ("labels=maybe&promise=sometimes", "'promise' must be cover or exclusive."),
        ("labels=maybe&promise=cover&promise_strength=x", "'promise_strength' must be a number."),
        ("labels=maybe&promise=cover&promise_strength=2", "promise_strength"),
    ],
)
def test_a_query_that_means_nothing_is_refused(client, query, error):
    status, said = refusal(client.post(f"/predict?{query}", json=rows(1)))
    assert status == 400
    assert error in said


@pytest.mark.parametrize(
    ("headers", "status", "error"),
    [
        ({"Content-Type": "application/xml"}, 415, "Got 'application/xml': set the header"),
        ({"Content-Type": "text/csv; charset=latin-1"}, 415, "must be in UTF-8. Got 'latin-1'."),
        (JSON | {"Accept": "text/html"}, 406, "asks for 'text/html': name one of the two"),
        (JSON | {"Accept": "text/csv;q=x"}, 406, "Answers are application/json or text/csv."),
    ],
)
def test_other_forms_are_refused(client, headers, status, error):
    body = json.dumps(rows(1))
    found, said = refusal(client.post("/predict", content=body, headers=headers))
    assert found == status
    assert error in said


def test_too_many_rows_and_bytes_are_refused(client):
    status, said = refusal(client.post("/predict", json=rows(1) * 101))
    assert (status, "may have 100 rows. This one has 101" in said) == (413, True)
    table = frame_of(rows(1) * 101).to_csv(index=False)
    assert refusal(client.post("/predict", content=table, headers=CSV))[0] == 413
    status, said = refusal(client.post("/predict", content=b" " * 50_001, headers=JSON))
    assert (status, "may have 50,000 bytes" in said) == (413, True)

    def endless():
        for _ in range(60):
            yield b" " * 1000

    assert refusal(client.post("/predict", content=endless(), headers=JSON))[0] == 413


def test_a_client_that_sends_all_before_it_listens_hears_that_it_is_too_much():
    with served(body_bytes=1_000_000) as server:
        status, said = server.ask("/predict", ["x" * 8_000_000], Connection="close")
        assert (status, "may have 1,000,000 bytes" in said["error"]) == (413, True)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/predict", 405), ("POST", "/health", 405), ("GET", "/admin", 404)],
)
def test_other_addresses_are_refused_as_json(client, method, path, status):
    found, said = refusal(client.request(method, path))
    assert found == status
    assert said.startswith("This address needs" if status == 405 else "There is no '/admin'")


def test_a_model_of_pictures_is_refused_before_it_is_served():
    model = served_model()
    column = model.plan.columns[0].model_dump() | {
        "name": "photo",
        "kind": "image",
        "described_by": {"name": "built-in", "width": 3, "fingerprint": "x"},
    }
    plan = ColumnPlan.model_validate({"columns": (column,)})
    with pytest.raises(ParameterError, match="'photo' needs image files"):
        model_app(replace(served_model(), plan=plan))


# ---- what else there is


def test_health_says_that_it_is_ready(client):
    answer = client.get("/health")
    assert (answer.status_code, answer.json()) == (200, {"ready": True})


def test_metrics_count_what_was_answered():
    with TestClient(model_app(served_model(), limits=ServeLimits(queue=7))) as client:
        for some in (rows(2), rows(5), [3]):
            client.post("/predict", json=some)
        text = client.get("/metrics").text
    found = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert found['disambig_requests_total{status="200"}'] == "2"
    assert found['disambig_requests_total{status="422"}'] == "1"
    assert found["disambig_rows_total"] == "7"
    assert found["disambig_queue_requests"] == "0"
    assert found["disambig_queue_places"] == "7"
    assert found["disambig_request_seconds_count"] == "3"
    assert found['disambig_batch_rows_bucket{le="2"}'] == "1"
    assert found['disambig_batch_rows_bucket{le="5"}'] == "2"
    assert found["disambig_batch_rows_sum"] == "7.0"
    # Every sample has its kind said before, and a bucket never has fewer than a smaller one.
    assert set(re.findall(r"# TYPE (\S+)", text)) >= {"disambig_rows_total", "disambig_batch_rows"}
    buckets = [int(v) for name, v in found.items() if name.startswith("disambig_request_seconds_b")]
    assert buckets == sorted(buckets)
    assert buckets[-1] == 3


# ---- embeddings


@pytest.fixture(scope="module", params=[["size"], []], ids=["beside a column", "alone"])
def embedded(request):
    """Return a model of embeddings, perhaps beside a column, and some for three rows."""
    names, numbers = request.param, np.random.default_rng(0).normal(size=(60, 4))
    columns = tuple(one for one in PLAN.columns if one.name in names)
    plan = PLAN.model_copy(update={"columns": columns, "embeddings": 4})
    values = column_values(TABLE, plan, embeddings=numbers)
    return fit_model(values, CANDIDATES, plan, QUICK_NETWORK), numbers[:3].tolist()


def test_embeddings_come_beside_the_rows(embedded):
    model, numbers = embedded
    some = [{name: row[name] for name in model.plan.names} for row in rows(3)]
    said = model.predict(TABLE.iloc[:3], embeddings=np.array(numbers))
    bodies = [{"rows": some, "embeddings": numbers}]
    if not model.plan.columns:
        bodies.append({"embeddings": numbers})
    with TestClient(model_app(model)) as client:
        for body in bodies:
            answer = client.post("/predict", json=body)
            assert answer.json()["predictions"] == said.to_dict("records")


@pytest.mark.parametrize(
    ("numbers", "error"),
    [
        (None, "The model was trained with embeddings: 4 numbers for each row."),
        ([[1, 2, 3]] * 3, "These have 3."),
        ([[1, 2, 3, 4]] * 2, "The table has 3 rows, and"),
        ([[1, 2, 3, 4], [1], [2]], "Every row needs as many numbers in 'embeddings'"),
        ([[1, 2, 3, "4"]] * 3, "must be a list with a list of numbers for each row"),
        ([[1, 2, 3, True]] * 3, "must be a list with a list of numbers for each row"),
        ([[1, 2, 3, 10**400]] * 3, "too large for a double"),
        ([[1, 2, 3, 1e301]] * 3, "Embeddings must be finite, and at most"),
        (7, "must be a list with a list of numbers for each row"),
    ],
)
def test_embeddings_that_do_not_fit_are_refused(embedded, numbers, error):
    model, _ = embedded
    some = [{name: row[name] for name in model.plan.names} for row in rows(3)]
    with TestClient(model_app(model)) as client:
        status, said = refusal(client.post("/predict", json={"rows": some, "embeddings": numbers}))
    assert status == 422
    assert error in said


# ---- anything


@pytest.mark.parametrize("seed", range(4))
def test_whatever_comes_is_answered_or_refused(client, seed):
    """Bodies that were changed anywhere never meet a fault of ours."""
    draws = np.random.default_rng(seed)
    forms = [
        (JSON, json.dumps(rows(2)).encode()),
        (JSON, json.dumps({"rows": rows(1)}).encode()),
        (CSV, frame_of(rows(3)).to_csv(index=False).encode()),
    ]
    pieces = [
        b"\0",
        b"\xff",
        b"\xef\xbb\xbf",
        b"1e999",
        b"[[",
        b"{}",
        b'"',
        b",",
        b"\n",
        b"\\ud800",
    ]
    for _ in range(60):
        kind, body = forms[draws.integers(len(forms))]
        for _ in range(draws.integers(1, 4)):
            start = int(draws.integers(len(body) + 1))
            end = start + int(draws.integers(0, 4)) ** 3
            body = body[:start] + pieces[draws.integers(len(pieces))] + body[end:]
        answer = client.post("/predict", content=body, headers=kind)
        assert answer.status_code in (200, 400, 413, 422), body
        if answer.status_code != 200:
            assert answer.json()["error"].endswith((".", "?", "]", ")", "'", '"')), answer.json()
