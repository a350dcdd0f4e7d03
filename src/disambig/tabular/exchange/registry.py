"""The tools whose files are read and written, a record each; how a file of one is recognised."""

import json
import pkgutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import chain
from typing import TYPE_CHECKING, Any

from disambig._core.errors import UnknownNameError
from disambig.tabular.files.content import FileContent

if TYPE_CHECKING:
    from disambig.tabular.exchange.imported import Imported

_EXCHANGE = "disambig.tabular.exchange"
# What an object at the beginning of a file may take: enough for a task with many annotations.
_MOST_LOOKED_AT = 1 << 20
_DEFAULT_UNSURE = (
    "unsure", "not sure", "i'm not sure", "don't know", "i don't know", "do not know", "can't tell",
    "cannot tell",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """What somebody may say about an export; a reader uses what its tool has."""

    field: str | None = None  # the question whose answers are the labels, where there are several
    unsure: tuple[str, ...] = _DEFAULT_UNSURE  # answers that say nothing
    predictions: bool = False  # whether models that predicted count as annotators
    labels: Mapping[str, Iterable[str]] | Iterable[str] | None = None  # of answers in free wordings
    encoding: str | None = None
    delimiter: str | None = None


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A tool that people annotate with: how its exports are recognised and read.

    Readers are named by ``module:function`` and imported when needed.
    """

    name: str  # what --from, --to and --format call it
    title: str  # what it calls itself
    # Takes the FileContents of an export and ReadOptions, returns an Imported.
    reader: str
    # Patterns of keys, or of columns. All of a group are in the first record of an export, and in
    # that of nothing else.
    signs: tuple[tuple[str, ...], ...] = ()

    def read(self, contents: Sequence[FileContent], options: ReadOptions) -> "Imported":
        """Return what an export says; several files of one are read as one."""
        imported: Imported = pkgutil.resolve_name(self.reader)(contents, options)
        return imported

    def is_sign_of(self, keys: Iterable[str]) -> bool:
        """Tell whether a record with these keys is one of this tool and of no other program."""
        names = list(keys)
        return any(
            all(any(fnmatchcase(name, sign) for name in names) for sign in group)
            for group in self.signs
        )


TOOLS = (
    Tool(
        name="label-studio",
        title="Label Studio",
        reader=f"{_EXCHANGE}.label_studio:read_label_studio",
        signs=(
            ("data", "annotations"),
            ("data", "completions"),
            ("data", "predictions"),
            ("annotator", "annotation_id", "lead_time"),
        ),
    ),
    Tool(
        name="doccano",
        title="doccano",
        reader=f"{_EXCHANGE}.doccano:read_doccano",
        signs=(("label", "Comments"), ("annotations", "annotation_approver")),
    ),
    Tool(
        name="prodigy",
        title="Prodigy",
        reader=f"{_EXCHANGE}.prodigy:read_prodigy",
        signs=(("_task_hash",), ("_input_hash",)),
    ),
    Tool(
        name="argilla",
        title="Argilla",
        reader=f"{_EXCHANGE}.argilla:read_argilla",
        signs=(
            ("fields", "responses"),
            ("fields", "suggestions"),
            ("*.responses", "*.responses.users"),
            ("annotation", "annotation_agent"),
        ),
    ),
    Tool(
        name="toloka",
        title="Toloka",
        reader=f"{_EXCHANGE}.crowd:read_toloka",
        signs=(("INPUT:*", "ASSIGNMENT:*"), ("INPUT:*", "OUTPUT:*")),
    ),
    Tool(
        name="mturk",
        title="Mechanical Turk",
        reader=f"{_EXCHANGE}.crowd:read_mturk",
        signs=(("HITId", "WorkerId"),),
    ),
    Tool(
        name="sagemaker",
        title="SageMaker Ground Truth",
        reader=f"{_EXCHANGE}.sagemaker:read_sagemaker",
        signs=(
            ("source", "*-metadata"),
            ("source-ref", "*-metadata"),
            ("datasetObjectId", "annotations"),
        ),
    ),
    Tool(
        name="llm",
        title="a language model",
        reader=f"{_EXCHANGE}.llm_answers:read_llm_export",
        signs=(("custom_id", "response"), ("choices", "model")),
    ),
)


def find_tool(name: str) -> Tool:
    """Return the tool with a name."""
    by_name = {tool.name: tool for tool in TOOLS}
    if name not in by_name:
        raise UnknownNameError("tool", name, list(by_name))
    return by_name[name]


def recognise(content: FileContent) -> Tool | None:
    """Return the tool that a file is from beyond doubt; None for any other file."""
    keys = _first_keys(content)
    return next((tool for tool in TOOLS if tool.is_sign_of(keys)), None)


def _first_keys(content: FileContent) -> list[str]:
    """Return the keys of the first object in a file, or else the cells of its first line."""
    with content.open() as stream:
        text = stream.read(_MOST_LOOKED_AT).decode("utf-8-sig", "replace").lstrip()
    if text.startswith(("{", "[")):
        try:
            value, _ = json.JSONDecoder().raw_decode(text.removeprefix("[").lstrip())
        except (ValueError, RecursionError):
            return []
        return list(value) if isinstance(value, Mapping) else []
    header = text.partition("\n")[0]
    cells: Any = chain.from_iterable(part.split("\t") for part in header.split(","))
    return [cell.strip().strip('"') for cell in cells]
