"""What people answered, and how it is written in the cells of a table."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, count

from disambig.tabular.labels.label_cells import CellReader, LabelProblem

_SEPARATORS = ("|", ";", "/", "~")


@dataclass(frozen=True)
class Answer:
    """What somebody said of an item: one of these labels, none of those; nothing if unsure."""

    annotator: str | None
    labels: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()

    def __or__(self, other: "Answer") -> "Answer":
        """Return two answers of a person to questions about the same item as one."""
        labels, excluded = (*self.labels, *other.labels), (*self.excluded, *other.excluded)
        return Answer(self.annotator, tuple(dict.fromkeys(labels)), tuple(dict.fromkeys(excluded)))

    @property
    def says_something(self) -> bool:
        """Whether it names a label at all."""
        return bool(self.labels or self.excluded)


class AnswerWriter:
    """Writes answers as cells that commands read, literally where they would be misread else."""

    def __init__(self, answers: Iterable[Iterable[Answer]]) -> None:
        every = set(chain(*answers))
        self._classes = sorted({name for each in every for name in (*each.labels, *each.excluded)})
        self.separator = "|"
        self.literal = False
        self.literal = not _are_read_back([(answer, self.cell(answer)) for answer in every])
        if self.literal:
            every_separator = chain(_SEPARATORS, (f"<{number}>" for number in count(1)))
            self.separator = next(
                each for each in every_separator if not any(each in name for name in self._classes)
            )

    def cell(self, answer: Answer | None) -> str | None:
        """Return ``cat|dog``, or ``!cat``; without signs, a no is all the other labels."""
        if answer is None or not answer.says_something:
            return None
        if not self.literal:
            return "|".join([*answer.labels, *(f"!{label}" for label in answer.excluded)])
        labels = answer.labels or self._classes
        return self.separator.join(name for name in labels if name not in answer.excluded) or None


def _are_read_back(written: Sequence[tuple[Answer, str | None]]) -> bool:
    """Tell whether commands read from cells what the answers say, and nothing else."""
    reader = CellReader([cell for _, cell in written], separator="|", literal=False)
    try:
        read = [(answer, reader.read(cell)) for answer, cell in written]
    except LabelProblem:
        return False
    return all(
        not each.weighted
        and tuple(each.plain) == answer.labels
        and tuple(each.excluded) == answer.excluded
        for answer, each in read
    )
