"""Serve predictions by a model over HTTP, to whoever has the token."""

import re
import secrets
import signal
import socket
from collections.abc import Callable
from ipaddress import ip_address
from types import FrameType

from disambig._core.errors import ParameterError
from disambig.tabular.model_folder import ModelParts
from disambig.web.bearer_guard import BearerGuard
from disambig.web.owner_server import LOOPBACK, OwnerServer, listen_at
from disambig.web.serve_app import model_app
from disambig.web.serve_batches import ServeLimits

_TOKEN_BYTES = 24
# It is a part of addresses, and must not be guessed.
_TOKEN = re.compile(r"[A-Za-z0-9._~-]{16,200}")
_MOST_CONNECTIONS = 1_000
_SECONDS_TO_END = 30


class _Service(OwnerServer):
    """Ends when it is asked to, once it has answered; that is how it is meant to end."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002
        """End; at once on a second Ctrl-C. The signal is not raised again, as uvicorn does."""
        if self.should_exit and sig == signal.SIGINT:
            self.force_exit = True
        self.should_exit = True


def serve_model(
    model: ModelParts,
    *,
    name: str = "a model",
    host: str = LOOPBACK,
    port: int = 8000,
    token: str | None = None,
    limits: ServeLimits | None = None,
    ready: Callable[[str, str], None] | None = None,
) -> None:
    """Serve predictions by a model until SIGTERM or Ctrl-C; requests that are there are answered.

    Programs send ``Authorization: Bearer TOKEN``; people open an address that holds the token.

    Parameters
    ----------
    model : TableModel
        What ``load_model`` returned; with ``only_predict=True`` it needs less memory.
    name : str, default="a model"
        What pages call it.
    host : str, default="127.0.0.1"
        The address of this machine to listen at. One that others can reach needs a ``token``;
        nothing is encrypted, so put a proxy with TLS before it.
    port : int, default=8000
        Where to listen; with 0 the system chooses.
    token : str, optional
        16 characters or more, of letters, digits, ``.``, ``_``, ``~`` and ``-``. By default a new
        one.
    limits : ServeLimits, optional
        What the server takes, and when it predicts.
    ready : callable, optional
        Is called with the address and the token, as soon as somebody may connect.

    See Also
    --------
    model_app : The application, for a server of your own.

    Examples
    --------
    It serves until it is interrupted. For others than this machine it needs a token:

    >>> from disambig import DisambigError
    >>> from disambig.datasets import example_tables
    >>> from disambig.tabular import fit_table
    >>> from disambig.web import serve_model
    >>> frame = example_tables()["vehicles.csv"].head(60)
    >>> model = fit_table(
    ...     frame, method="plknn", id="vehicle", truth="checked", n_folds=0
    ... )
    >>> try:
    ...     serve_model(model, host="192.0.2.1")
    ... except DisambigError as error:
    ...     print(str(error)[:56])
    Others can reach 192.0.2.1. Give a token that they need:
    """
    check_host(host, token)
    if token is None:
        token = secrets.token_urlsafe(_TOKEN_BYTES)
    elif not _TOKEN.fullmatch(token):
        raise ParameterError(
            "A token needs 16 to 200 letters, digits, '.', '_', '~' and '-', because it is a part "
            f"of addresses and must not be guessed. Got {len(token):,} characters. This makes one: "
            'python -c "import secrets; print(secrets.token_urlsafe(24))"'
        )
    app = model_app(model, name=name, limits=limits)
    with _listening(host, port) as listening:
        port = listening.getsockname()[1]
        shown = f"[{host}]" if ":" in host else host
        guard = BearerGuard(app, token=token, port=port, host=shown, is_local=is_loopback(host))
        server = _Service(guard, _MOST_CONNECTIONS, seconds_to_end=_SECONDS_TO_END)
        if ready is not None:
            ready(f"http://{shown}:{port}/", token)
        server.run(sockets=[listening])


def check_host(host: str, token: str | None) -> None:
    """Refuse an address that others can reach, unless somebody has chosen a token."""
    if token is None and not is_loopback(host):
        raise ParameterError(
            f"Others can reach {host}. Give a token that they need: --token TOKEN, or the "
            "environment variable DISAMBIG_TOKEN (in Python token=). Or listen on this machine "
            f"only: {LOOPBACK}."
        )


def is_loopback(host: str) -> bool:
    """Tell whether an address is of this machine alone."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _listening(host: str, port: int) -> socket.socket:
    try:
        return listen_at(host, port)
    except (OSError, OverflowError) as error:
        raise ParameterError(
            f"The server cannot listen at {host}, port {port}: "
            f"{getattr(error, 'strerror', None) or error}. Choose another: --port (in Python "
            "port=), 0 for any that is free."
        ) from error
