"""Downloads from a hostile server: each ends with the right file, or with an error and nothing."""

import os
import random
import shutil
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from answers import Said, right, wrong
from campaign import Campaign, Outcome, in_child

COUNT = 1_000
SECONDS = 60
MEMORY = 400 << 20
RIGHT, REFUSED = "right file", "refused"
LONGEST_MESSAGE = 10_000


def try_downloads(seed: int, numbers: Sequence[int], folder: Path) -> Iterator[Outcome]:
    """Fetch a dataset from one to three addresses, and look at what is left."""
    import rarfile  # noqa: F401  # children need not import these

    import disambig.datasets.download  # noqa: F401

    for number in numbers:
        chance = random.Random(f"{seed} {number}")
        file = chance.randbytes(chance.choice((100, 3000, 30_000)))
        said = [wrong(file, chance) for _ in range(chance.choice((1, 1, 2)))]
        if chance.random() < 0.3:
            # What takes patience would take too long where patience is real.
            said = [one for one in said if not one.is_slow]
            said.insert(chance.randrange(len(said) + 1), right(file, chance))
        place = folder / "case"
        place.mkdir()
        yield _try(number, file, said, place)
        shutil.rmtree(place)


def _try(number: int, file: bytes, said: list[Said], place: Path) -> Outcome:
    child = in_child(lambda: _fetch(file, said, place / "data"), SECONDS, MEMORY)
    case = ", then ".join(one.name for one in said)
    left = {str(path.relative_to(place)) for path in place.rglob("*") if path.is_file()}
    if child.ended != "returned":
        return Outcome(case, child.ended, f"{child.ended}\n{child.value or ''}", number)
    ended = str(child.value)
    return Outcome(case, ended.partition(":")[0], _judge(ended, file, said, place, left), number)


def _judge(ended: str, file: bytes, said: list[Said], place: Path, left: set[str]) -> str:
    """Return what is wrong; nothing if all is well."""
    if ended == RIGHT:
        is_kept = left == {"data/toy_faces.mat"}
        is_equal = is_kept and (place / "data" / "toy_faces.mat").read_bytes() == file
        return "" if is_equal else f"{left} was kept, not the right file alone"
    if left:
        return f"left behind: {left}"
    if any(one.is_right for one in said):
        return f"the right file was refused: {ended}"
    return f"a message of {len(ended):,} characters" if len(ended) > LONGEST_MESSAGE else ""


def _fetch(file: bytes, said: list[Said], folder: Path) -> str:
    """Fetch in this process, which is a child, from a server in a thread of it."""
    from disambig._core.errors import DownloadError
    from disambig._core.fingerprint import file_digest
    from disambig.datasets import http_download
    from disambig.datasets.card import DatasetCard
    from disambig.datasets.download import fetch_dataset

    os.environ["NO_PROXY"] = "127.0.0.1"
    if any(one.is_slow for one in said):
        http_download._FIRST_SECONDS, http_download._SECONDS_OF_SILENCE = 0.5, 0.5
    card = DatasetCard(
        name="toy_faces",
        title="Toy faces",
        n_samples=100,
        n_features=20,
        n_classes=5,
        average_candidates=2.0,
        source="http://toys.example/page.htm",
        licence="For play only",
        citation="A. Toy, On faces, 2001",
        hash=file_digest(file, "sha256"),
        urls=tuple(f"http://127.0.0.1:{_serve(one)}/file" for one in said),
        archive_size=len(file),
        aliases=("toys",),
    )
    try:
        fetch_dataset(card, folder=folder)
    except DownloadError as error:
        return f"{REFUSED}: {error}"
    return RIGHT


def _serve(said: Said) -> int:
    """Start to answer everybody; return the port."""
    listening = socket.create_server(("127.0.0.1", 0))
    port: int = listening.getsockname()[1]

    def answer_all() -> None:
        while True:
            client, _ = listening.accept()
            with client, suppress(OSError):
                client.recv(100_000)
                for part in said.answer(port):
                    client.sendall(part)

    threading.Thread(target=answer_all, daemon=True).start()
    return port


CAMPAIGN = Campaign("downloads", COUNT, try_downloads)
