"""A server of predictions answers programs with the token in a header, and its own page."""

import pytest
from starlette.testclient import TestClient

from disambig.web.bearer_guard import BearerGuard
from disambig.web.serve_app import model_app
from web.served_models import BEARER, TOKEN, rows, served_model

PORT = 8731
HOST = f"127.0.0.1:{PORT}"
ORIGIN = {"Origin": f"http://{HOST}"}


def client_of(*, is_local=True, host=HOST):
    app = BearerGuard(model_app(served_model()), token=TOKEN, port=PORT, is_local=is_local)
    return TestClient(app, base_url=f"http://{host}")


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/predict", BEARER),
        ("/predict", {"Authorization": f"bearer {TOKEN}"}),
        ("/predict", BEARER | {"Host": "models.example.org"}),  # a proxy may have any name
        (f"/{TOKEN}/predict", ORIGIN),
    ],
)
def test_the_token_opens(path, headers):
    assert client_of().post(path, json=rows(1), headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/predict", {}),
        ("/predict", {"Authorization": f"Bearer {TOKEN[:-1]}"}),
        ("/predict", {"Authorization": f"Basic {TOKEN}"}),
        ("/predict", {"Authorization": "Bearer "}),
        ("/predict", {"Authorization": "Bearer äöü"}),
        (f"/{TOKEN[:-1]}x/predict", ORIGIN),
        (f"/{TOKEN}/predict", {}),  # a form of another page
        (f"/{TOKEN}/predict", {"Origin": "http://evil.example.org"}),
        (f"/{TOKEN}/predict", ORIGIN | {"Host": "evil.example.org"}),
        (f"/{TOKEN}/predict", ORIGIN | {"Sec-Fetch-Site": "cross-site"}),
    ],
)
def test_without_it_nothing_is_answered(path, headers):
    encoded = {name: value.encode() for name, value in headers.items()}
    answer = client_of().post(path, json=rows(1), headers=encoded)
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert "needs the token of the server" in answer.json()["error"]


@pytest.mark.parametrize("path", ["/", "/metrics", "/openapi.json", "/nowhere"])
def test_only_health_is_open_to_everybody(path):
    assert client_of().get(path).status_code == 401
    assert client_of().get("/health").json() == {"ready": True}
    assert client_of().post("/health").status_code == 401


def test_the_page_is_at_the_address_with_the_token():
    answer = client_of().get(f"/{TOKEN}/")
    assert answer.status_code == 200
    assert "<h1>Predictions by a model</h1>" in answer.text
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert TOKEN not in answer.text


@pytest.mark.parametrize(
    ("host", "port", "opened"), [("[::1]", PORT, f"[::1]:{PORT}"), ("127.0.0.1", 80, "localhost")]
)
def test_the_page_opens_where_the_server_listens(host, port, opened):
    app = BearerGuard(model_app(served_model()), token=TOKEN, port=port, host=host)
    assert TestClient(app, base_url=f"http://{opened}").get(f"/{TOKEN}/").status_code == 200


@pytest.mark.parametrize("scheme", ["http", "https"])  # https: of a proxy
def test_a_server_for_others_may_have_any_name(scheme):
    host = "models.example.org:8731"
    headers = {"Origin": f"{scheme}://{host}"}
    answer = client_of(is_local=False, host=host).post(
        f"/{TOKEN}/predict", json=rows(1), headers=headers
    )
    assert answer.status_code == 200
    assert client_of(is_local=False, host=host).get("/").status_code == 401
