"""Lines of a CSV file that grows: what they say, and whether they were written to their end."""

import csv
import io
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

__all__ = ["LogLine", "lines_of", "written_line"]


@dataclass(frozen=True)
class LogLine:
    """A line, which may have breaks inside quotes.

    Attributes
    ----------
    text : str
        As it is written, its end included.
    cells : list of str
        What it says.
    n_bytes : int
        How much of the file it takes.
    is_closed : bool
        Whether all quotes are closed, so that another line would be one of its own.
    """

    text: str
    cells: list[str]
    n_bytes: int
    is_closed: bool = True

    @property
    def is_ended(self) -> bool:
        """Whether nothing is missing at its end."""
        return self.is_closed and self.text.endswith("\n")

    @property
    def is_text(self) -> bool:
        """Whether all its bytes are UTF-8."""
        return not any("\ud800" <= sign <= "\udfff" for sign in self.text)


def lines_of(content: bytes) -> list[LogLine]:
    """Return the lines of a file; bytes that are no text stay what they are."""
    read: list[str] = []

    def noted() -> Iterator[str]:
        for line in _broken(content.removeprefix(BOM_UTF8).decode("utf-8", "surrogateescape")):
            read.append(line)
            yield line

    lines = []
    for cells in csv.reader(noted()):
        text = "".join(read)
        read.clear()
        lines.append(LogLine(text, cells, len(text.encode("utf-8", "surrogateescape"))))
    if lines:
        lines[-1] = replace(lines[-1], is_closed=_is_closed(lines[-1].text))
        if content.startswith(BOM_UTF8):
            lines[0] = replace(lines[0], n_bytes=lines[0].n_bytes + len(BOM_UTF8))
    return lines


def written_line(cells: Sequence[str], *, quoted: bool = False) -> str:
    """Return a line, its end included; cells are in quotes where they need them, or all of them."""
    text = io.StringIO(newline="")
    if quoted:
        csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL).writerow(cells)
    else:
        csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue()


def _is_closed(text: str) -> bool:
    return len(list(csv.reader([*_broken(text), "another"]))) > 1


def _broken(text: str) -> list[str]:
    return io.StringIO(text, newline="").readlines()
