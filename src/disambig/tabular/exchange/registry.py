"""The tools whose files are read and written, a record each; how a file of one is recognised."""

import json
import pkgutil
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from disambig._core.errors import UnknownNameError
from disambig.tabular.files.content import FileContent, beginning

if TYPE_CHECKING:
    from disambig.tabular.exchange.imported import Imported

_EXCHANGE = "disambig.tabular.exchange"
# What an object at the beginning of a file may take: enough for a task with many annotations.
MOST_LOOKED_AT = 1 << 20
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


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A tool that people annotate with: how its exports are known and read, its tasks written.

    Functions are named by ``module:function`` and imported when needed.
    """

    name: str  # what --from, --to and --format call it
    title: str  # what it calls itself
    # Takes the FileContents of an export and ReadOptions, returns an Imported.
    reader: str
    # Takes a Queue, returns the bytes of a file of tasks that the tool loads.
    writer: str | None = None
    # Takes a Queue too, returns how the tool is to show its tasks, where that is a file.
    interface: str | None = None
    suffix: str = ".jsonl"  # of a file of tasks
    # Patterns of keys, or of columns, and what is behind them; cells are strings. All of a group
    # are in the first record of an export, and in that of nothing else.
    signs: tuple[Mapping[str, type], ...] = ()

    def read(self, contents: Sequence[FileContent], options: ReadOptions) -> "Imported":
        """Return what an export says; several files of one are read as one."""
        imported: Imported = pkgutil.resolve_name(self.reader)(contents, options)
        return imported

    def is_maker_of(self, record: Mapping[str, Any]) -> bool:
        """Tell whether a record is one of this tool and of no other program."""
        return any(
            all(
                any(fnmatchcase(key, sign) and isinstance(record[key], kind) for key in record)
                for sign, kind in group.items()
            )
            for group in self.signs
        )


TOOLS = (
    Tool(
        name="label-studio",
        title="Label Studio",
        reader=f"{_EXCHANGE}.label_studio:read_label_studio",
        writer=f"{_EXCHANGE}.label_studio:write_label_studio",
        interface=f"{_EXCHANGE}.label_studio:label_studio_interface",
        suffix=".json",
        signs=(
            {"data": dict, "annotations": list},
            {"data": dict, "completions": list},
            {"data": dict, "predictions": list},
            {"result": list, "task": dict, "completed_by": object},
            {"annotator": object, "annotation_id": object, "lead_time": object},
        ),
    ),
    Tool(
        name="doccano",
        title="doccano",
        reader=f"{_EXCHANGE}.doccano:read_doccano",
        writer=f"{_EXCHANGE}.doccano:write_doccano",
        signs=(
            {"label": list, "Comments": list},
            {"cats": list, "entities": list, "Comments": list},
            {"annotations": list, "annotation_approver": object},
        ),
    ),
    Tool(
        name="prodigy",
        title="Prodigy",
        reader=f"{_EXCHANGE}.prodigy:read_prodigy",
        writer=f"{_EXCHANGE}.prodigy:write_prodigy",
        signs=({"_task_hash": int}, {"_input_hash": int}),
    ),
    Tool(
        name="argilla",
        title="Argilla",
        reader=f"{_EXCHANGE}.argilla:read_argilla",
        writer=f"{_EXCHANGE}.argilla:write_argilla",
        suffix=".json",
        signs=(
            {"fields": dict, "responses": dict},
            {"fields": dict, "responses": list},
            {"fields": dict, "suggestions": object},
            {"*.responses": object, "*.responses.users": object},
            {"inputs": dict, "annotation": object, "annotation_agent": object},
        ),
    ),
    Tool(
        name="toloka",
        title="Toloka",
        reader=f"{_EXCHANGE}.crowd:read_toloka",
        writer=f"{_EXCHANGE}.crowd:write_toloka",
        suffix=".tsv",
        signs=({"INPUT:*": str, "ASSIGNMENT:*": str}, {"INPUT:*": str, "OUTPUT:*": str}),
    ),
    Tool(
        name="mturk",
        title="Mechanical Turk",
        reader=f"{_EXCHANGE}.crowd:read_mturk",
        writer=f"{_EXCHANGE}.crowd:write_mturk",
        suffix=".csv",
        signs=({"HITId": str, "WorkerId": str, "Answer.*": str},),
    ),
    Tool(
        name="sagemaker",
        title="SageMaker Ground Truth",
        reader=f"{_EXCHANGE}.sagemaker:read_sagemaker",
        writer=f"{_EXCHANGE}.sagemaker:write_sagemaker",
        signs=(
            {"source": str, "*-metadata": dict},
            {"source-ref": str, "*-metadata": dict},
            {"datasetObjectId": object, "annotations": list},
        ),
    ),
    Tool(
        name="llm",
        title="a language model",
        reader=f"{_EXCHANGE}.llm_answers:read_llm_export",
        signs=({"custom_id": str, "response": dict},),
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
    return maker_of(_first_record(content))


def maker_of(record: Mapping[str, Any]) -> Tool | None:
    """Return the tool whose exports alone hold such a record."""
    return next((tool for tool in TOOLS if tool.is_maker_of(record)), None)


def _first_record(content: FileContent) -> Mapping[str, Any]:
    """Return the first object in a file, or else the cells of its first line, as its keys."""
    text = beginning(content, MOST_LOOKED_AT)
    if text.startswith(("{", "[")):
        try:
            value, _ = json.JSONDecoder().raw_decode(text.removeprefix("[").lstrip())
        except (ValueError, RecursionError):
            return {}
        return value if isinstance(value, Mapping) else {}
    header = text.partition("\n")[0]
    return {cell.strip().strip('"'): "" for cell in re.split("[,;\t]", header)}
