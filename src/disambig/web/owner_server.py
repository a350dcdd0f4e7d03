"""Serve the one person who has the token, however many others connect."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

try:
    import resource
except ImportError:  # Windows, where connections and files are not counted together
    resource = None  # type: ignore[assignment]  # asked for before every use

MOST_CONNECTIONS = 100
# Until a connection has sent a whole request with the token, and between two of them.
SECONDS_WITHOUT_TOKEN = 10.0
# The key in the state of a request under which the application finds its connection.
CONNECTION = "connection"
_SECONDS_UNTIL_ROOM = 0.05
_TURNS_TO_LOOK = 3
_BACKLOG = 1024
_SECONDS_TO_END = 2
LOOPBACK = "127.0.0.1"


def listen_on_this_machine() -> socket.socket:
    """Return a socket on loopback, at a port that the system chooses."""
    return listen_at(LOOPBACK, 0)


def listen_at(host: str, port: int) -> socket.socket:
    """Return a socket at an address; with port 0 the system chooses one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Whoever waits in the backlog takes no descriptor of ours.
    listening = socket.create_server((host, port), family=family, backlog=_BACKLOG)
    listening.setblocking(False)
    return listening


class Connection(H11Protocol):
    """A connection that ends unless requests with the token keep coming over it.

    Whether the token came is for the application to say, by ``answering``. What else is sent, and
    how slowly, changes nothing. So idle connections, half requests and endless bodies all end.
    """

    seconds = SECONDS_WITHOUT_TOKEN

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.app_state = {**self.app_state, CONNECTION: self}
        self.has_token = False
        self.since = self.loop.time()
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvicorn names a narrower one
        """Begin to wait for a request with the token."""
        super().connection_made(transport)
        self._timer = self.loop.call_later(self.seconds, self.hang_up)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._stop_waiting()
        super().connection_lost(exc)

    @property
    def gives_way(self) -> bool:
        """Whether it sent no request with the token, or only half of one."""
        return not self.has_token or self.conn.their_state is h11.SEND_BODY

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Answer a request that has the token, however long that takes; then wait for the next."""
        self.has_token = True
        self._stop_waiting()
        try:
            yield
        finally:
            if not self.transport.is_closing():
                self._timer = self.loop.call_later(self.seconds, self.hang_up)

    def hang_up(self) -> None:
        """Close the connection now, whatever is under way."""
        self.connections.discard(self)
        self.transport.abort()

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class OwnerServer(uvicorn.Server):
    """A server with room for its owner: connections without the token give way, oldest first.

    It accepts connections itself, one at a time. The loop of asyncio accepts as many as it can
    before it looks at any, and prints a traceback for each that finds no descriptor.
    """

    def __init__(
        self,
        app: Any,
        most_connections: int = MOST_CONNECTIONS,
        *,
        seconds_to_end: int = _SECONDS_TO_END,
    ) -> None:
        config = uvicorn.Config(
            app,
            # The ones that are tested here, whatever else is installed.
            http=Connection,
            ws="none",
            loop="asyncio",
            # Warnings are about requests of others, as many as they like; the access log would
            # show the token.
            log_level="error",
            access_log=False,
            timeout_graceful_shutdown=seconds_to_end,
            server_header=False,
            proxy_headers=False,
        )
        super().__init__(config)
        self._most = min(most_connections, _descriptors() // 2)  # the rest is for files
        self._accepting: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to accept connections."""
        await super().startup(sockets=[])
        assert sockets is not None
        self._accepting = asyncio.create_task(self._accept(sockets[0]))

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no more connections, and let answers that are under way end."""
        if self._accepting is not None and sockets:
            # A connection that comes just now must not find a task that is cancelled.
            with suppress(NotImplementedError):  # Windows waits for connections in another way
                asyncio.get_running_loop().remove_reader(sockets[0])
            self._accepting.cancel()
            await asyncio.wait([self._accepting])
        # Or it would wait for the rest of their requests, and print a traceback for each.
        while self._hang_up_on_a_stranger():
            pass
        await super().shutdown(sockets)

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, _ = await loop.sock_accept(listening)
            except OSError:  # the client has gone, or descriptors are scarce after all
                self._hang_up_on_a_stranger()
                await asyncio.sleep(_SECONDS_UNTIL_ROOM)
                continue
            await self._make_room()
            try:
                # Or the body of an answer waits 40 ms, until the client has confirmed its head:
                # asyncio sees to that for sockets that it has made itself.
                accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                await loop.connect_accepted_socket(self._make_connection, accepted)
            except OSError:
                accepted.close()
            # A request that is there already is looked at before its connection may have to go.
            for _ in range(_TURNS_TO_LOOK):
                await asyncio.sleep(0)

    async def _make_room(self) -> None:
        while len(self.server_state.connections) >= self._most:
            if not self._hang_up_on_a_stranger():
                await asyncio.sleep(_SECONDS_UNTIL_ROOM)

    def _hang_up_on_a_stranger(self) -> bool:
        """Close the oldest connection that gives way; return whether there was one."""
        connections = self.server_state.connections
        strangers = [one for one in connections if isinstance(one, Connection) and one.gives_way]
        if strangers:
            # An owner whose request is half here goes last.
            min(strangers, key=lambda one: (one.has_token, one.since)).hang_up()
        return bool(strangers)

    def _make_connection(self) -> Connection:
        return Connection(self.config, self.server_state, self.lifespan.state)


def _descriptors() -> int:
    """Return how many files and connections this process may have open."""
    if resource is None:
        return 2 * MOST_CONNECTIONS
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 2 * MOST_CONNECTIONS if soft == resource.RLIM_INFINITY else soft
