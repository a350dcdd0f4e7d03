"""The owner of a review is served while others hold connections, send halves, or dribble."""

import asyncio
import errno
import http.client
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from disambig.web import owner_server, review_app
from disambig.web.owner_server import Connection, OwnerServer, listen_on_this_machine
from disambig.web.token_guard import TokenGuard
from waiting import PATIENCE, wait_until

TOKEN = "kR3-x_9vQm7ZbT2uWc8Yd1Ea"


class Served:
    """A review server in a thread, and clients that connect to it."""

    def __init__(self, **limits: int) -> None:
        self.go_on = threading.Event()
        self._listening = listen_on_this_machine()
        self.port = self._listening.getsockname()[1]
        routes = [
            Route("/", self._answer),
            Route("/slow", self._answer_late),
            Route("/body", self._read, methods=["POST"]),
        ]
        app = TokenGuard(Starlette(routes=routes), token=TOKEN, port=self.port)
        self.server = OwnerServer(app, **limits)
        self.server.config.timeout_keep_alive = PATIENCE  # not what is tested here
        self._thread = threading.Thread(target=self.server.run, args=([self._listening],))
        self._opened = ExitStack()

    def start(self) -> None:
        """Accept connections from now on; who came before has waited."""
        self._thread.start()

    async def _answer(self, _: Request) -> Response:
        return PlainTextResponse("hello")

    async def _answer_late(self, _: Request) -> Response:
        await asyncio.to_thread(self.go_on.wait, PATIENCE)
        return PlainTextResponse("at last")

    async def _read(self, request: Request) -> Response:
        try:
            return PlainTextResponse(await review_app._read_body(request))
        except ValueError as error:
            return PlainTextResponse(str(error), 400)

    def connect(self, sent: bytes = b"") -> socket.socket:
        """Connect as anybody can, and send something."""
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)
        self._opened.enter_context(connection)
        connection.sendall(sent)
        return connection

    def head(self, path: str, *lines: str, token: str = TOKEN, method: str = "GET") -> bytes:
        """Return the head of a request, with the token unless it is another one."""
        first = f"{method} /{token}/{path} HTTP/1.1", f"Host: 127.0.0.1:{self.port}"
        origin = f"Origin: http://127.0.0.1:{self.port}"
        return "\r\n".join([*first, origin, *lines, "", ""]).encode()

    def ask(self, path: str = "", connection: socket.socket | None = None) -> tuple[int, str]:
        """Ask as the owner does, on a new connection unless one is given."""
        connection = connection or self.connect()
        connection.sendall(self.head(path))
        return read_answer(connection)

    def end(self) -> None:
        """End the server and all connections."""
        self.go_on.set()
        self._opened.close()
        self.server.should_exit = True
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()
        self._listening.close()


def read_answer(connection: socket.socket) -> tuple[int, str]:
    response = http.client.HTTPResponse(connection)
    response.begin()
    return response.status, response.read().decode()


def has_ended(connection: socket.socket) -> bool:
    """Tell whether the server has closed a connection."""
    connection.setblocking(False)
    try:
        return connection.recv(1 << 16) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True
    finally:
        connection.settimeout(PATIENCE)


@pytest.fixture
def serve() -> Iterator[Callable[..., Served]]:
    with ExitStack() as ended:

        def start(*, now: bool = True, **limits: int) -> Served:
            served = Served(**limits)
            ended.callback(served.end)
            if now:
                served.start()
            return served

        yield start


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]):
    """Return what gives all that asyncio has logged and uvicorn has printed."""
    return lambda: [*caplog.messages, *capsys.readouterr().err.splitlines()]


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> float:
    """Let connections without a request that has the token end soon."""
    monkeypatch.setattr(Connection, "seconds", 0.3)
    return Connection.seconds


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(lambda _: b"", id="nothing"),
        pytest.param(lambda _: b"GET / HTTP/1.1\r\nHost: 127", id="half a head"),
        pytest.param(
            lambda served: served.head("", "Content-Length: 99", token="x", method="POST"),
            id="a head without its body",
        ),
        pytest.param(lambda served: served.head("", token="x"), id="a refused request"),
        pytest.param(lambda served: served.head("") + b"GET /", id="a good request and a half"),
        pytest.param(
            lambda served: served.head("", "Upgrade: websocket", "Connection: upgrade", token="x"),
            id="an upgrade",
        ),
    ],
)
@pytest.mark.usefixtures("impatient")
def test_who_sends_no_whole_request_is_hung_up_on(serve, sent) -> None:
    served = serve()
    connection = served.connect(sent(served))
    wait_until(lambda: has_ended(connection))
    assert served.ask() == (200, "hello")


@pytest.mark.parametrize("body", [False, True])
@pytest.mark.usefixtures("impatient")
def test_a_byte_at_a_time_buys_no_time(serve, body) -> None:
    served = serve()
    start = served.head("", "Content-Length: 100000", token="x", method="POST") if body else b"GET "
    connection = served.connect(start)

    def is_over() -> bool:
        try:
            connection.sendall(b"/")
        except OSError:
            return True
        return has_ended(connection)

    wait_until(is_over)
    assert served.ask() == (200, "hello")


@pytest.mark.usefixtures("impatient")
def test_a_body_that_does_not_come_is_given_up_though_the_token_did(serve, monkeypatch) -> None:
    monkeypatch.setattr(review_app, "_SECONDS_FOR_BODY", 0.3)
    served = serve()
    lines = ("Content-Type: application/json", "Content-Length: 100")
    connection = served.connect(served.head("body", *lines, method="POST") + b"half")
    assert read_answer(connection) == (
        400,
        "The request body did not come within 0.3 seconds.",
    )
    wait_until(lambda: has_ended(connection))


def test_a_client_that_leaves_in_the_middle_of_a_body_leaves_no_traceback(serve, said) -> None:
    served = serve()
    lines = ("Content-Type: application/json", "Content-Length: 100")
    served.connect(served.head("body", *lines, method="POST") + b"half").close()
    wait_until(lambda: not served.server.server_state.connections)
    assert served.ask() == (200, "hello")
    assert said() == []


def test_an_answer_may_take_longer_than_a_request(serve, impatient) -> None:
    served = serve()
    connection = served.connect(served.head("slow"))
    time.sleep(3 * impatient)
    served.go_on.set()
    assert read_answer(connection) == (200, "at last")


def test_connections_without_the_token_give_way_oldest_first(serve, monkeypatch) -> None:
    monkeypatch.setattr(Connection, "seconds", PATIENCE)
    served = serve(most_connections=5)
    owner = served.connect()
    assert served.ask(connection=owner) == (200, "hello")
    strangers = [served.connect() for _ in range(20)]
    assert served.ask() == (200, "hello")  # a new connection of the owner's gets in
    wait_until(lambda: all(map(has_ended, strangers[:16])))
    assert not any(map(has_ended, strangers[-3:]))
    assert served.ask(connection=owner) == (200, "hello")


def test_more_connections_with_the_token_than_there_is_room_for_wait_their_turn(serve) -> None:
    served = serve(now=False, most_connections=2)
    waiting = [served.connect(served.head("", "Connection: close")) for _ in range(8)]
    served.start()
    assert [read_answer(one) for one in waiting] == [(200, "hello")] * 8


def test_the_owner_s_half_request_gives_way_after_all_strangers(serve, monkeypatch) -> None:
    monkeypatch.setattr(Connection, "seconds", PATIENCE)
    monkeypatch.setattr(review_app, "_SECONDS_FOR_BODY", PATIENCE)
    served = serve(most_connections=5)
    lines = ("Content-Type: application/json", "Content-Length: 100")
    owner = served.connect(served.head("body", *lines, method="POST") + b"half")
    wait_until(lambda: served.server.server_state.tasks)
    strangers = [served.connect() for _ in range(20)]
    wait_until(lambda: all(map(has_ended, strangers[:16])))
    assert not has_ended(owner)


def test_half_a_request_with_the_token_gives_way_too(serve, monkeypatch) -> None:
    monkeypatch.setattr(Connection, "seconds", PATIENCE)
    monkeypatch.setattr(review_app, "_SECONDS_FOR_BODY", PATIENCE)
    served = serve(most_connections=3)
    lines = ("Content-Type: application/json", "Content-Length: 100")
    half = served.head("body", *lines, method="POST") + b"half"
    for _ in range(10):
        served.connect(half)
    assert served.ask() == (200, "hello")


def test_without_descriptors_it_waits_and_says_nothing(serve, monkeypatch, said) -> None:
    accept = asyncio.SelectorEventLoop.sock_accept
    failures = iter([OSError(errno.EMFILE, "Too many open files")] * 3)

    async def accept_later(loop: asyncio.SelectorEventLoop, listening: socket.socket):
        for failure in failures:
            raise failure
        return await accept(loop, listening)

    monkeypatch.setattr(asyncio.SelectorEventLoop, "sock_accept", accept_later)
    assert serve().ask() == (200, "hello")
    assert next(failures, None) is None
    assert said() == []


def test_half_requests_do_not_hold_up_the_end(serve, said) -> None:
    served = serve()
    lines = ("Content-Type: application/json", "Content-Length: 100")
    half = served.head("body", *lines, method="POST") + b"half"
    for sent in (b"", b"GET /", half, half):
        served.connect(sent)
    wait_until(lambda: len(served.server.server_state.tasks) == 2)
    served.server.should_exit = True
    wait_until(lambda: not served.server.server_state.connections)
    served.end()
    assert said() == []


def test_a_connection_that_comes_at_the_end_leaves_no_traceback(said) -> None:
    async def end() -> None:
        server = OwnerServer(Starlette())
        server.config.load()
        server.lifespan = server.config.lifespan_class(server.config)
        listening = listen_on_this_machine()
        await server.startup([listening])
        await asyncio.sleep(0)  # until it waits for connections
        with socket.create_connection(listening.getsockname()):
            await asyncio.sleep(0)  # the loop has seen it, and comes to it after this
            await server.shutdown([listening])

    asyncio.run(end())
    assert said() == []


def test_half_of_the_descriptors_are_left_for_files(monkeypatch) -> None:
    monkeypatch.setattr(owner_server.resource, "getrlimit", lambda _: (40, 40))
    assert OwnerServer(None)._most == 20
    monkeypatch.setattr(owner_server.resource, "getrlimit", lambda _: (10**6, 10**6))
    assert OwnerServer(None)._most == owner_server.MOST_CONNECTIONS
