"""SageMaker Ground Truth: output manifests, and what workers answered before consolidation."""

from collections.abc import Iterator, Sequence
from typing import Any

from disambig._core.errors import TableError
from disambig.tabular.exchange.answer_cells import Answer
from disambig.tabular.exchange.crowd import of_element
from disambig.tabular.exchange.imported import Imported
from disambig.tabular.exchange.queue import Queue, json_lines
from disambig.tabular.exchange.records import (
    embedded,
    label_text,
    object_in,
    objects_in,
    read_records,
    texts_in,
    wrong,
)
from disambig.tabular.exchange.registry import ReadOptions
from disambig.tabular.exchange.tables import choose_field
from disambig.tabular.exchange.tasks import Reading, Task
from disambig.tabular.files.content import FileContent

_METADATA = "-metadata"
_CLASSIFICATION = (
    "groundtruth/image-classification", "groundtruth/image-classification-multilabel",
    "groundtruth/text-classification", "groundtruth/text-classification-multilabel",
)  # fmt: skip


def read_sagemaker(contents: Sequence[FileContent], options: ReadOptions) -> Imported:
    """Read output manifests, or files of worker answers, of classification jobs."""
    reading = Reading(contents[0], options)
    placed = [pair for content in contents for pair in read_records(content, options.encoding)]
    if "annotations" in placed[0][1]:
        _read_answers(placed, reading)
    else:
        _read_manifest(placed, reading)
    return reading.imported()


# ---- the consolidated label of every object


def _read_manifest(placed: list[tuple[str, dict[str, Any]]], reading: Reading) -> None:
    attributes = list(
        dict.fromkeys(
            name.removesuffix(_METADATA)
            for _, record in placed
            for name in record
            if name.endswith(_METADATA)
        )
    )
    field = choose_field(attributes, reading.options, reading.content.name)
    for place, record in placed:
        ours = {name for each in attributes for name in (each, f"{each}{_METADATA}")}
        data = {name: value for name, value in record.items() if name not in ours}
        task = Task(None, data)
        reading.tasks.append(task)
        metadata = object_in(record, f"{field}{_METADATA}", place)
        if "failure-reason" in metadata:
            reading.left_out["failed object"] += 1
        elif metadata.get("human-annotated") == "no" and not reading.options.predictions:
            reading.left_out["machine label"] += 1
        elif metadata or field in record:
            task.answers.append(Answer(None, _manifest_labels(record.get(field), metadata, place)))


def _manifest_labels(value: Any, metadata: dict[str, Any], place: str) -> tuple[str, ...]:
    kind = label_text(metadata.get("type"))
    if kind not in _CLASSIFICATION:
        raise wrong(place, "a label of image or text classification", kind or None)
    if "class-name" in metadata:
        return texts_in(metadata["class-name"], place, "'class-name'")
    names = object_in(metadata, "class-map", place)  # of a job with several labels
    numbers = texts_in(value, place, "the label attribute")
    unknown = next((number for number in numbers if number not in names), None)
    if unknown is not None:
        raise wrong(place, "a name in 'class-map' for every class", unknown)
    return texts_in([names[number] for number in numbers], place, "'class-map'")


# ---- what every worker said


def _read_answers(placed: list[tuple[str, dict[str, Any]]], reading: Reading) -> None:
    said = [(place, record, list(_worker_answers(record, place))) for place, record in placed]
    questions = list(dict.fromkeys(name for _, _, each in said for _, by in each for name in by))
    if not questions:
        raise TableError(f"{reading.content.name} has no answers of workers.")
    field = choose_field(questions, reading.options, reading.content.name)
    for place, record, answers in said:
        data = object_in(record, "dataObject", place)
        content = data.get("content")
        data = {**data, **_parsed(content)} if isinstance(content, str) else data
        task = Task(label_text(record.get("datasetObjectId")) or None, data)
        reading.tasks.append(task)
        for who, by_question in answers:
            labels = texts_in(of_element(by_question.get(field)), place, repr(field))
            task.answers.append(Answer(who, labels))


def _worker_answers(
    record: dict[str, Any], place: str
) -> Iterator[tuple[str | None, dict[str, Any]]]:
    for each in objects_in(record, "annotations", place):
        content = object_in(each, "annotationData", place).get("content")
        if not isinstance(content, str):
            raise wrong(place, "JSON text in 'content'", content)
        yield label_text(each.get("workerId")) or None, _parsed(content)


def _parsed(content: str) -> dict[str, Any]:
    value = embedded(content)
    return value if isinstance(value, dict) else {}


# ---- the way back


def write_sagemaker(queue: Queue) -> bytes:
    """Return an input manifest; jobs keep what else it says of an object."""
    source = "source-ref" if queue.is_picture else "source"
    return json_lines(
        {
            source: str(row.data.get(queue.shown, "")),
            **{
                name: cell
                for name, cell in row.data.items()
                if name not in ("source", "source-ref", queue.shown)
                and not name.endswith(_METADATA)
            },
        }
        for row in queue.rows
    )
