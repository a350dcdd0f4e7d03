"""Whoever does not know the address of a review, or comes from elsewhere, gets no answer."""

import asyncio
from urllib.parse import unquote, urlsplit

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient, WebSocketDenialResponse
from starlette.websockets import WebSocket

from disambig.web.token_guard import TokenGuard

PORT = 54321
TOKEN = "kR3-x_9vQm7ZbT2uWc8Yd1Ea"
OWN = f"http://127.0.0.1:{PORT}"
PAGE = f"/{TOKEN}/"
DECISIONS = f"/{TOKEN}/decisions"


class Inside:
    """An application that keeps what got through to it."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        routes = [
            Route("/{path:path}", self.answer, methods=["GET", "POST", "PUT", "DELETE"]),
            WebSocketRoute("/{path:path}", self.talk),
        ]
        self.app = Starlette(routes=routes)

    async def answer(self, request: Request) -> PlainTextResponse:
        self.asked.append(f"{request.method} {request.url.path}?{request.url.query}")
        return PlainTextResponse("hello")

    async def talk(self, socket: WebSocket) -> None:
        self.asked.append("socket")
        await socket.accept()
        await socket.close()


@pytest.fixture
def inside() -> Inside:
    return Inside()


@pytest.fixture
def client(inside) -> TestClient:
    guarded = TokenGuard(inside.app, token=TOKEN, port=PORT)
    return TestClient(guarded, base_url=OWN)


def assert_refused(response, inside: Inside) -> None:
    assert response.status_code == 403
    assert response.json() == {"error": "This address is not known here."}
    assert TOKEN not in response.text
    assert inside.asked == []


def test_the_address_leads_to_the_page_without_the_token(client, inside):
    response = client.get(PAGE)
    assert (response.status_code, response.text) == (200, "hello")
    client.get(f"{DECISIONS}?since=3")
    assert inside.asked == ["GET /?", "GET /decisions?since=3"]


@pytest.mark.parametrize("path", [PAGE, "/nowhere/"])
def test_every_answer_has_the_headers_that_keep_others_out(client, path):
    headers = client.get(path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert not any(name.startswith("access-control") for name in headers)


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/decisions",
        f"/{TOKEN}",
        f"/{TOKEN}x/",
        f"/{TOKEN[:-1]}/",
        f"/{TOKEN[:-1]}x/",
        f"/{TOKEN.lower()}/",
        f"//{TOKEN}/",
        f"/x/{TOKEN}/",
        f"/{TOKEN}?/",
        f"/{TOKEN}%00/",
        f"/{TOKEN}%20/",
        "/é" + "x" * len(TOKEN) + "/",
        f"/?token={TOKEN}",
        f"/{'x' * len(TOKEN)}/../{TOKEN}",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_another_path_is_refused(inside, path, method):
    # Asked of the application as a server asks it: a client would tidy up the path.
    assert ask(inside, method, unquote(urlsplit(f"{OWN}{path}").path)) == 403
    assert inside.asked == []


def ask(inside: Inside, method: str, path: str) -> int:
    """Return the status of an answer to a request that no client would send."""
    sent: list[dict] = []
    headers = {"host": f"127.0.0.1:{PORT}", "origin": OWN}

    async def receive() -> dict:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "scheme": "http",
        "http_version": "1.1",
        "server": ("127.0.0.1", PORT),
        "client": ("127.0.0.1", 1),
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    app = TokenGuard(inside.app, token=TOKEN, port=PORT)
    asyncio.run(app(scope, receive, send))
    return sent[0]["status"]


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        f"evil.example:{PORT}",
        "127.0.0.1",
        "127.0.0.1:80",
        f"127.0.0.1:{PORT}.evil.example",
        f"127.0.0.1.evil.example:{PORT}",
        f"localhost.evil.example:{PORT}",
        f"[::1]:{PORT}",
        f"0.0.0.0:{PORT}",
        f"127.0.0.1:{PORT}@evil.example",
        "",
    ],
)
@pytest.mark.parametrize("method", ["get", "post"])
def test_another_host_is_refused_though_it_means_this_machine(client, inside, host, method):
    # With the token even: a name that was made to mean this machine is another origin.
    headers = {"host": host} | ({"origin": f"http://{host}"} if method == "post" else {})
    assert_refused(getattr(client, method)(PAGE, headers=headers), inside)


def test_this_machine_may_be_called_by_name(client, inside):
    name = f"localhost:{PORT}"
    assert client.get(PAGE, headers={"host": name}).status_code == 200
    post = client.post(DECISIONS, headers={"host": name, "origin": f"http://{name}"})
    assert post.status_code == 200
    mixed = client.post(DECISIONS, headers={"host": name, "origin": OWN})
    assert mixed.status_code == 403
    assert len(inside.asked) == 2


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "",
        "http://127.0.0.1",
        "http://127.0.0.1:80",
        f"https://127.0.0.1:{PORT}",
        f"http://127.0.0.1:{PORT}/",
        f"http://127.0.0.1:{PORT}.evil.example",
        f"http://localhost:{PORT}",
        "file://",
    ],
)
@pytest.mark.parametrize("method", ["get", "post"])
def test_another_origin_is_refused(client, inside, origin, method):
    assert_refused(getattr(client, method)(DECISIONS, headers={"origin": origin}), inside)


def test_whatever_changes_something_names_its_origin(client, inside):
    for method in ("post", "put", "delete", "patch", "options"):
        assert_refused(getattr(client, method)(DECISIONS), inside)
    assert client.post(DECISIONS, headers={"origin": OWN}).status_code == 200


@pytest.mark.parametrize(
    ("site", "allowed"),
    [
        ("none", True),
        ("same-origin", True),
        ("same-site", False),
        ("cross-site", False),
        ("x", False),
    ],
)
def test_what_another_site_asks_for_is_refused(client, inside, site, allowed):
    response = client.get(PAGE, headers={"sec-fetch-site": site})
    assert response.status_code == (200 if allowed else 403)
    assert bool(inside.asked) == allowed


@pytest.mark.parametrize("path", ["/", PAGE])
def test_sockets_are_refused(client, inside, path):
    with (
        pytest.raises(WebSocketDenialResponse) as refusal,
        client.websocket_connect(path, headers={"origin": OWN}),
    ):
        pass
    assert refusal.value.status_code == 403
    assert inside.asked == []


def test_the_start_and_the_end_of_a_server_get_through():
    seen = []

    async def app(scope, receive, send):
        seen.append(scope["type"])
        await JSONResponse({})(scope, receive, send)

    guarded = TokenGuard(app, token=TOKEN, port=PORT)

    async def nothing(*_: object) -> dict:
        return {}

    asyncio.run(guarded({"type": "lifespan"}, nothing, nothing))
    assert seen == ["lifespan"]
