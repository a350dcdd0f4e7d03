"""Clean a table again in a process beside this one, by the command that made it."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from disambig._core.errors import DisambigError, TableError
from disambig._core.messages import printable
from disambig.tabular.clean_again import words_to_clean_again
from disambig.tabular.clean_details import details_path, read_details
from disambig.tabular.cleaned_table import CleanedTable, read_cleaned
from disambig.tabular.files.formats import read_table
from disambig.tabular.labels.decided_rows import DecidedRows

# JSON lines, which need no delimiter and change no cell.
_OUT, _SAID = "clean.jsonl", "said.txt"
_LAST_LINES, _MOST_CHARACTERS = 5, 600
_PLAIN = {"COLUMNS": "1000", "NO_COLOR": "1", "TERM": "dumb"}


@dataclass(frozen=True)
class CleanedAgain:
    """How cleaning ended: with the rows as they are now, or with a message that says why not."""

    rows: CleanedTable | None = None
    decisions: int = 0  # that it took in
    message: str = ""


class BackgroundCleaning:
    """Cleaning in a process of its own, with low priority, that ends with this one.

    It writes to a folder for temporary files, which is removed in the end, and to no other place.

    Parameters
    ----------
    before : CleanedTable
        The table as it is, which knows the command that made it.
    decisions : path
        The decisions to take in.
    """

    def __init__(self, before: CleanedTable, decisions: str | os.PathLike[str]) -> None:
        self._before = before
        self._folder = Path(tempfile.mkdtemp(prefix="disambig-watch-"))
        self._out = self._folder / _OUT
        try:
            words = words_to_clean_again(
                before.provenance.command, decisions=decisions, out=self._out
            )
            with (self._folder / _SAID).open("wb") as said:
                self._process = subprocess.Popen(  # noqa: S603  # a command of ours, and no shell
                    # -P: a file of the user called pandas.py is not what is imported.
                    [
                        sys.executable,
                        "-P",
                        "-m",
                        "disambig.tabular.background_command",
                        self._folder,
                        *words,
                    ],
                    stdin=subprocess.PIPE,  # its end is the end of that process
                    stdout=said,
                    stderr=said,
                    env={**os.environ, **_PLAIN},
                    start_new_session=True,  # an interrupt in the terminal is not for it
                )
        except BaseException:
            self._remove()
            raise

    def poll(self) -> CleanedAgain | None:
        """Return how it ended, or None while it is running."""
        code = self._process.poll()
        if code is None:
            return None
        try:
            return self._result() if code == 0 else CleanedAgain(message=self._last_words())
        except (DisambigError, OSError) as error:
            return CleanedAgain(message=str(error))
        finally:
            self.stop()

    def stop(self) -> None:
        """End it, with all that it has started, and remove what it has written."""
        if self._process.poll() is None:
            with suppress(OSError):  # it has just ended
                if hasattr(os, "killpg"):
                    os.killpg(self._process.pid, signal.SIGKILL)
                else:
                    self._process.kill()
            self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._remove()

    def _result(self) -> CleanedAgain:
        details = read_details(details_path(self._out))
        rows = read_cleaned(read_table(self._out), details, id=self._before.id)
        if _names(rows) != _names(self._before):
            raise TableError(
                "The rows of the table have changed since it was cleaned, so decisions on them may "
                "be about others. End the review, and clean the table again."
            )
        # It is still the table that the user cleaned, not one in a folder that is soon gone.
        command = self._before.provenance.command
        rows = replace(rows, provenance=replace(rows.provenance, command=command))
        return CleanedAgain(rows, 0 if rows.decision is None else int((rows.decision != "").sum()))

    def _last_words(self) -> str:
        text = (self._folder / _SAID).read_text(encoding="utf-8", errors="replace")
        lines = [line.rstrip() for line in text.splitlines() if line.strip()]
        said = printable(" ".join(lines[-_LAST_LINES:]))[-_MOST_CHARACTERS:]
        return (
            f"{said or 'It said nothing.'} The command ran in {printable(Path.cwd())}. If its "
            "files are elsewhere, start the review in the folder where the table was cleaned."
        )

    def _remove(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)


def _names(rows: CleanedTable) -> list[str]:
    return DecidedRows(rows.values, rows.id).names()
