"""Requests of a hostile client to a review: nobody else gets in, and the owner is served."""

import contextlib
import http.client
import json
import random
import signal
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from campaign import Campaign, Outcome
from mutations import TEXTS, VALUES, mutate
from review_owner import LABELS, OWNER_SECONDS, ROWS, Review, decided, make_table

COUNT = 10_000
BETWEEN_KILLS = 200
KILLS_BETWEEN_LOGS = 4
SLOW = 2.0
RESET = struct.pack("ii", 1, 0)
Held = list[socket.socket]
# Returns how it ended, and what is wrong with that.
Attack = Callable[[Review, random.Random, Held], tuple[str, str]]


def try_requests(seed: int, numbers: Sequence[int], folder: Path) -> Iterator[Outcome]:
    """Attack a review by every numbered request, and let its owner decide after each."""
    review = Review(make_table(folder))
    held: Held = []
    kills = 0
    try:
        for number in numbers:
            chance = random.Random(f"{seed} {number}")
            review.waited = 0.0
            if number % BETWEEN_KILLS == BETWEEN_KILLS - 1:
                how = chance.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT))
                case, ended = f"{how.name} while four tabs decide", "killed, nothing lost"
                failure = review.kill_and_restart(how, chance)
                kills += 1
                if kills % KILLS_BETWEEN_LOGS == 0:
                    review.start_new_log()
            else:
                attack = chance.choice(ATTACKS)
                case = attack.__name__.strip("_").replace("_", " ")
                try:
                    ended, failure = attack(review, chance, held)
                except (OSError, http.client.HTTPException) as error:
                    ended, failure = f"broken off: {type(error).__name__}", ""
            failure = failure or review.serve_owner(chance)
            if review.waited > SLOW:
                ended = f"the owner waited more than {SLOW:.0f} s"
            yield Outcome(case, ended, failure, number)
        if failure := review.end(signal.SIGINT) or review.check_log():
            yield Outcome("the end of the review", "ended", failure, numbers[-1])
    finally:
        _leave(held)
        review.end()


def send(review: Review, sent: bytes) -> bytes:
    """Send bytes as anybody can; return all that comes until the server is silent or hangs up."""
    with socket.create_connection(("127.0.0.1", review.port), OWNER_SECONDS) as connection:
        with contextlib.suppress(OSError):  # it may hang up before it has read all
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
        return _read(connection)


def _read(connection: socket.socket) -> bytes:
    parts = []
    with contextlib.suppress(OSError):
        while part := connection.recv(1 << 16):
            parts.append(part)
    return b"".join(parts)


def statuses(answer: bytes) -> list[int]:
    """Return the status of every answer on a connection."""
    lines = [line for line in answer.split(b"\r\n") if b"HTTP/1.1 " in line]
    return [int(line.partition(b"HTTP/1.1 ")[2][:3]) for line in lines]


def judge(answer: bytes, allowed: Sequence[int]) -> tuple[str, str]:
    """Return how a request ended, and what is wrong if it was answered otherwise than allowed."""
    found = statuses(answer)
    ended = f"status {found[0]}" if found else "hung up on"
    wrong = [status for status in found if status not in allowed]
    return ended, f"answered with {found}: {answer[:500]!r}" if wrong else ""


def request(
    review: Review, chance: random.Random, *, wrong: int = 0, body: bytes = b""
) -> tuple[bytes, bool]:
    """Return a request in which so many things are wrong, and whether it writes."""
    host = f"127.0.0.1:{review.port}"
    writes = bool(body) or chance.random() < 0.5
    parts = {
        "method": "POST" if writes else "GET",
        "token": review.token,
        "host": host,
        "origin": f"http://{host}",
        "site": chance.choice(("none", "same-origin")),
    }
    for name in chance.sample(list(_WRONG), wrong):
        parts[name] = chance.choice(_WRONG[name])(review)
    if writes and not body:
        body = _decision(chance)
    lines = [
        f"{parts['method']} /{parts['token']}/decisions HTTP/1.1",
        f"Host: {parts['host']}",
        f"Origin: {parts['origin']}",
        f"Sec-Fetch-Site: {parts['site']}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        "Connection: close",
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body, writes


# Each makes a request one that must be refused, whatever else is right about it.
_WRONG: dict[str, tuple[Callable[[Review], str], ...]] = {
    "token": (
        lambda _: "",
        lambda _: "x" * 32,
        lambda review: review.token[:-1],
        lambda review: review.token.swapcase(),
        lambda review: f"{review.token}x",
        lambda review: f"/{review.token}",
        lambda review: f"x/../{review.token}",
        lambda review: f"{review.token}%00",
        lambda _: "%2e%2e%2f" * 10,
    ),
    "host": (
        lambda _: "evil.example",
        lambda _: "127.0.0.1",
        lambda review: f"evil.example:{review.port}",
        lambda review: f"127.0.0.1:{review.port}.evil.example",
        lambda review: f"[::1]:{review.port}",
        lambda _: "",
    ),
    "origin": (
        lambda _: "null",
        lambda _: "http://evil.example",
        lambda review: f"https://127.0.0.1:{review.port}",
        lambda review: f"http://127.0.0.1:{review.port}/",
        lambda review: f"http://127.0.0.1:{review.port}.evil.example",
    ),
    "site": (lambda _: "cross-site", lambda _: "same-site", lambda _: "x"),
}


def _decision(chance: random.Random, **changed: object) -> bytes:
    decision = {"row": chance.randint(1, ROWS), "label": chance.choice(LABELS), "before": None}
    return json.dumps({**decision, **changed}).encode()


def _come_from_elsewhere(review: Review, chance: random.Random, _: Held) -> tuple[str, str]:
    sent, _writes = request(review, chance, wrong=chance.choice((1, 1, 1, 2, 4)))
    return judge(send(review, sent), (400, 403))


def _send_no_decision(review: Review, chance: random.Random, _: Held) -> tuple[str, str]:
    """Send what is not a decision, with the token."""
    name = chance.choice(("row", "label", "before"))
    value = chance.choice([value for value in VALUES if value not in (None, *LABELS)])
    if name == "row" and value is True:
        value = 0
    body = chance.choice(
        (
            _decision(chance, **{name: value} if name != "before" else {"before": "no such label"}),
            _decision(chance, row=chance.choice((0, -1, ROWS + 1, 10**30, 1.0, "1"))),
            chance.choice((b"[", b"{", b'"')) * chance.choice((1, 5000, 90_000)),
            mutate(_decision(chance, label="no such label"), chance),
            chance.choice(TEXTS).encode(errors="backslashreplace") or b"x",
            chance.randbytes(50),
        )
    )
    sent, _writes = request(review, chance, body=body)
    return judge(send(review, sent), (400, 409))


def _ask_for_another_page(review: Review, chance: random.Random, _: Held) -> tuple[str, str]:
    """Ask for what there is not, with the token."""
    method = chance.choice(("PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE", "POST", "X"))
    path = chance.choice(("", "x", "decisions/", "../decisions", "%2e%2e", "decisions?x=1"))
    if method == "POST" and path.startswith("decisions?"):
        method = "PUT"
    head = (
        f"{method} /{review.token}/{path} HTTP/1.1\r\nHost: 127.0.0.1:{review.port}\r\n"
        f"Origin: http://127.0.0.1:{review.port}\r\nConnection: close\r\n\r\n"
    )
    allowed = (307, 400, 403, 404, 405, *([200] if method == "HEAD" else []))
    return judge(send(review, head.encode()), allowed)


def _send_as_another_type(review: Review, chance: random.Random, _: Held) -> tuple[str, str]:
    kind = chance.choice(("text/plain", "multipart/form-data", "", "application/jsonx", "x" * 999))
    sent, _writes = request(review, chance, body=_decision(chance))
    changed = sent.replace(b"application/json", kind.encode(), 1)
    return judge(send(review, changed), (400,))


def _send_malformed(review: Review, chance: random.Random, _: Held) -> tuple[str, str]:
    """Send a request without the token and with changed bytes, or none at all."""
    sent, _writes = request(review, chance, wrong=1)
    sent = sent.replace(review.token.encode(), b"x" * 32)
    changed = mutate(sent, chance, (b"\r\n", b"\0", b":", b" ", b"HTTP/1.1", b"chunked"))
    if chance.random() < 0.2:
        changed = chance.choice((chance.randbytes(300), b"\x16\x03\x01" + chance.randbytes(99)))
    return judge(send(review, changed), (400, 403))


def _send_too_much(review: Review, chance: random.Random, _: Held) -> tuple[str, str]:
    """Send long headers or bodies, with the token or without."""
    wrong = chance.choice((0, 1))
    size = chance.choice((100_001, 10**6, 5 * 10**6))
    sent, _writes = request(review, chance, wrong=wrong, body=b" " * size)
    long = b"x" * size
    sent = chance.choice(
        (
            sent,
            sent.replace(b"Sec-", b"X: " + long + b"\r\nSec-", 1),
            sent.replace(b"Sec-", b"X: y\r\n" * 5000 + b"Sec-", 1),
            sent.replace(b"/decisions", b"/" + long, 1),
        )
    )
    return judge(send(review, sent), (400, 403, 404))


def _send_several_at_once(review: Review, chance: random.Random, _: Held) -> tuple[str, str]:
    """Send requests one behind the other without waiting, some with the token."""
    expected, sent = [], b""
    for _turn in range(chance.randint(2, 20)):
        wrong = chance.choice((0, 1))
        one = f"GET /{review.token[wrong:]}/decisions HTTP/1.1\r\nHost: 127.0.0.1:{review.port}"
        sent += one.encode() + b"\r\n\r\n"
        expected.append(403 if wrong else 200)
    last, _writes = request(review, chance, wrong=1)
    found = statuses(send(review, sent + last))
    failure = "" if found == [*expected, 403] else f"answers {found} to {expected} and a 403"
    return "answered in order", failure


def _write_at_once(review: Review, chance: random.Random, _: Held) -> tuple[str, str]:
    """Decide on one row from several connections: one wins, the others are told."""
    row = chance.randint(1, ROWS)
    before = review.settled.get(row)
    label = chance.choice([label for label in LABELS if label != before])
    body = json.dumps({"row": row, "label": label, "before": decided(before)})
    found: list[int] = []

    def write() -> None:
        found.append(review.ask("POST", "decisions", body)[0])

    writers = [threading.Thread(target=write) for _turn in range(chance.choice((2, 8, 20)))]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    review.settled[row] = label
    is_right = sorted(found) == [200, *[409] * (len(writers) - 1)]
    return "one of several won", "" if is_right else f"answers {sorted(found)}"


def _hold_connections(review: Review, chance: random.Random, held: Held) -> tuple[str, str]:
    """Open hundreds of connections, send a part of a request or nothing, and stay."""
    _leave(held)
    sent, _writes = request(review, chance, wrong=chance.choice((0, 1)))
    end = chance.choice((0, 5, len(sent) - 60, len(sent) - 1))
    for _turn in range(chance.choice((50, 150, 400))):
        with contextlib.suppress(OSError):
            connection = socket.create_connection(("127.0.0.1", review.port), OWNER_SECONDS)
            held.append(connection)
            connection.sendall(sent[:end])
    return "hundreds held", ""


def _leave(held: Held) -> None:
    while held:
        held.pop().close()


def _dribble(review: Review, chance: random.Random, held: Held) -> tuple[str, str]:
    """Send a byte more on each of hundreds of held connections, as slow clients do."""
    _hold_connections(review, chance, held)
    for connection in held:
        with contextlib.suppress(OSError):
            connection.send(b"x")  # which ends no decision, not even one that lacks its last byte
    return "a byte on each held", ""


def _break_off(review: Review, chance: random.Random, _: Held) -> tuple[str, str]:
    """Reset connections in the middle of a request, or before its answer is read."""
    for _turn in range(chance.choice((1, 20))):
        sent, _writes = request(review, chance, wrong=0, body=b"[" * chance.choice((10, 70_000)))
        with socket.create_connection(("127.0.0.1", review.port), OWNER_SECONDS) as connection:
            with contextlib.suppress(OSError):
                connection.sendall(sent[: chance.randrange(len(sent) + 1)])
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    return "reset", ""


ATTACKS: tuple[Attack, ...] = (
    *[_come_from_elsewhere] * 6,
    *[_send_no_decision] * 4,
    *[_send_malformed] * 6,
    *[_send_several_at_once] * 2,
    _ask_for_another_page,
    _send_as_another_type,
    _send_too_much,
    _write_at_once,
    _hold_connections,
    _dribble,
    _break_off,
)
CAMPAIGN = Campaign("requests", COUNT, try_requests)
