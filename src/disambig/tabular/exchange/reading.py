"""``read_export``: what an annotation tool exports, as a table with candidate labels."""

import os
from collections.abc import Iterable, Mapping

from disambig._core.errors import DisambigError, ParameterError, TableError
from disambig._core.messages import join_names
from disambig.tabular.exchange.imported import Imported
from disambig.tabular.exchange.registry import TOOLS, ReadOptions, Tool, find_tool, recognise
from disambig.tabular.files.content import FileContent, find_content

Source = str | os.PathLike[str]


def read_export(
    source: Source | Iterable[Source],
    *,
    tool: str | None = None,
    field: str | None = None,
    unsure: Iterable[str] = ReadOptions().unsure,
    predictions: bool = False,
    labels: Mapping[str, Iterable[str]] | Iterable[str] | None = None,
    encoding: str | None = None,
    max_memory: int | str | None = None,
) -> Imported:
    r"""Read what an annotation tool exports.

    Several choices in one answer are candidates (``cat|dog``), a label that was rejected is ruled
    out (``!cat``), and a skipped task has no answer.

    Parameters
    ----------
    source : str or path, or several
        The export, or its files, such as one for each annotator.
    tool : str, optional
        The tool: "label-studio", "doccano", "prodigy", "argilla", "toloka", "mturk", "sagemaker"
        or "llm" (answers of language models, see ``read_llm_answers``). By default it is
        recognised by what only its exports hold.
    field : str, optional
        The question whose answers are the labels, where the export has answers to several.
    unsure : iterable of str, optional
        Answers that say nothing, such as "unsure"; capitals do not matter.
    predictions : bool, default=False
        Whether models whose predictions are in the export count as annotators.
    labels : sequence of str, or mapping from str to other words, optional
        The labels that answers in free wordings are matched to; see ``match_wordings``.
    encoding : str, optional
        Encoding of the file. By default UTF-8, or what its byte order mark says.
    max_memory : int or str, optional
        Most memory that the file may take, in bytes or as ``"8GB"``.

    See Also
    --------
    read_table : Reads plain tables.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from disambig.tabular import read_export
    >>> lines = [
    ...     '{"text": "meow", "label": "cat", "answer": "accept", "_input_hash": 1}',
    ...     '{"text": "woof", "label": "cat", "answer": "reject", "_input_hash": 2}',
    ...     '{"text": "woof", "label": "dog", "answer": "accept", "_input_hash": 2}',
    ... ]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "answers.jsonl")
    ...     _ = path.write_text("\n".join(lines), encoding="utf-8")
    ...     imported = read_export(path)
    >>> imported.frame[["text", "label"]].to_dict("list")
    {'text': ['meow', 'woof'], 'label': ['cat', 'dog|!cat']}
    >>> imported.options()
    {'labels': ['label'], 'id': 'item'}
    """
    sources = [source] if isinstance(source, str | os.PathLike) else list(source)
    if not sources:
        raise ParameterError("An export needs at least one file. Got none.")
    options = ReadOptions(
        field=field,
        unsure=tuple(unsure),
        predictions=predictions,
        labels=labels,
        encoding=encoding,
    )
    try:
        contents = [find_content(each, max_memory) for each in sources]
        known = recognise(contents[0]) if tool is None else find_tool(tool)
        if known is None:
            raise TableError(
                f"{contents[0].name} is not recognised as the export of a tool. Name the tool: "
                f"--from (in Python tool=), one of "
                f"{join_names(each.name for each in TOOLS)}. A plain table needs no import."
            )
        imported = known.read(contents, options)
        if tool is not None and not imported.counts().labels:
            _check_maker(contents[0], known)
        return imported
    except DisambigError:
        raise
    except OSError as error:
        raise TableError(
            f"{error.filename} cannot be read: {error.strerror or error}. Check the path, and "
            "whether you may read it."
        ) from error


def _check_maker(content: FileContent, named: Tool) -> None:
    """Refuse what another tool made."""
    maker = recognise(content)
    if maker is not None and maker is not named:
        raise TableError(
            f"{content.name} has no answers as {named.title} writes them. It looks like an export "
            f"of {maker.title}: --from {maker.name} (in Python tool=)."
        )
