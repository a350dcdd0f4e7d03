"""The OpenAPI description is true of what a server takes and answers."""

import json
from dataclasses import replace

import pytest
from starlette.testclient import TestClient

from disambig.tabular.model_folder import ModelParts
from disambig.web.serve_app import model_app
from disambig.web.serve_batches import ServeLimits
from disambig.web.serve_openapi import example_row, openapi
from disambig.web.serve_requests import QUERY
from tabular.model_folders import PLAN
from web.served_models import rows, served_model

_KINDS = {"string": str, "boolean": bool, "array": list, "object": dict, "null": type(None)}


@pytest.fixture(scope="module")
def client():
    with TestClient(model_app(served_model(), name="pets")) as client:
        yield client


@pytest.fixture(scope="module")
def description(client):
    return client.get("/openapi.json").json()


def check(value, schema, whole):
    """Check a value by the part of JSON Schema that is used; raise ``AssertionError``."""
    if "$ref" in schema:
        schema = whole["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    if "anyOf" in schema:
        return any(_fits(value, one, whole) for one in schema["anyOf"])
    if "enum" in schema:
        assert value in schema["enum"]
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        assert any(
            is_number if kind == "number" else isinstance(value, _KINDS[kind]) for kind in kinds
        ), (value, kinds)
    if isinstance(value, dict):
        assert set(schema.get("required", ())) <= value.keys()
        for name, one in value.items():
            check(one, schema.get("properties", {}).get(name, {}), whole)
    if isinstance(value, list):
        assert schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value))
        for one in value:
            check(one, schema["items"], whole)
    return True


def _fits(value, schema, whole):
    try:
        return check(value, schema, whole)
    except AssertionError:
        return False


def test_what_is_sent_and_answered_is_as_described(client, description):
    assert description["openapi"].startswith("3.1.")
    of_predict = description["paths"]["/predict"]["post"]
    sent = of_predict["requestBody"]["content"]["application/json"]
    answered = of_predict["responses"]["200"]["content"]["application/json"]["schema"]
    for body in (rows(5), {"rows": rows(5)}, sent["example"]):
        assert check(body, sent["schema"], description)
        answer = client.post("/predict?top=2", json=body)
        assert answer.status_code == 200
        assert check(answer.json(), answered, description)
    for body in ([], [{"size": 1}], {"rows": [{}]}):
        assert not _fits(body, sent["schema"], description)
        assert client.post("/predict", json=body).status_code in (400, 422)


def test_every_address_and_parameter_is_described(client, description):
    assert set(description["paths"]) == {route.path for route in client.app.routes} - {"/"}
    parameters = description["paths"]["/predict"]["post"]["parameters"]
    assert [one["name"] for one in parameters] == list(QUERY)


def test_columns_and_classes_are_those_of_the_model(description):
    row = description["components"]["schemas"]["Row"]
    assert row["required"] == PLAN.names
    assert row["properties"]["color"]["examples"] == ["blue", "green", "red"]
    assert row["properties"]["seen"]["examples"] == ["2024-12-31"]
    prediction = description["components"]["schemas"]["Prediction"]
    assert prediction["properties"]["possible_labels"]["items"] == {"enum": ["cat", "dog", "fox"]}


def test_the_example_row_can_be_predicted(client):
    answer = client.post("/predict", json=[example_row(served_model())])
    assert (answer.status_code, answer.json()["notices"]) == (200, [])


def test_embeddings_are_described_where_a_model_needs_them():
    model: ModelParts = served_model()
    plan = model.plan.model_copy(update={"embeddings": 4})
    described = openapi(replace(model, plan=plan), name="pets", limits=ServeLimits())
    body = described["paths"]["/predict"]["post"]["requestBody"]["content"]["application/json"]
    numbers = body["schema"]["properties"]["embeddings"]["items"]
    assert (numbers["minItems"], numbers["maxItems"]) == (4, 4)
    assert body["schema"]["required"] == ["rows", "embeddings"]
    assert check(body["example"], body["schema"], described)
    json.dumps(described, allow_nan=False)
