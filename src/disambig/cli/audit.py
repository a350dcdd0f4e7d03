"""``disambig audit``: look at a table before training."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from disambig.cli.label_options import LabelOptions
from disambig.cli.option_groups import option_words, with_option_groups
from disambig.cli.options import FeatureOptions, FileOptions, GroupOptions, Json, TableFile
from disambig.tabular.files.formats import find_format, split_name

if TYPE_CHECKING:
    from disambig.cli.console import Terminal
    from disambig.tabular.audit.audit_report import TableAudit
    from disambig.tabular.audit.groups_noticed import NoticedGroups


@with_option_groups
def audit(
    file: TableFile,
    labels: LabelOptions,
    features: FeatureOptions,
    groups: GroupOptions,
    file_options: FileOptions,
    model: Annotated[
        Path | None,
        typer.Option(
            help="Folder of a model that 'disambig fit' trained on this table: also lists the "
            "sets that seem to miss the right label.",
            metavar="MODEL",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Describe a table with ambiguous labels, before training.

    Shows how many labels rows have, which labels occur together or cannot be told apart, what
    looks wrong, and how much information the ambiguity costs. Says whether rows seem to come
    together and, with --group, how far a promise is possible.

    Example: disambig audit vehicles.csv --labels label

    Example, after a fit: disambig audit vehicles.csv --labels label --model model

    Example, regions of pictures: disambig audit regions.csv --group picture --promise cover

    Example, a long table of annotations: disambig audit photos.csv --annotations votes.csv
    --item photo --annotator who --label said
    """
    # keeps --help quick
    from disambig.cli.console import (
        Terminal,
        collected_notices,
        path_word,
        print_json,
        say_next,
    )
    from disambig.cli.fit import FitView
    from disambig.cli.table_files import load_table
    from disambig.tabular.audit.table_audit import audit_table
    from disambig.tabular.files.content import STANDARD_STREAM
    from disambig.tabular.table_model import load_model

    with FitView() as view, collected_notices(view.console) as notices:
        frame, columns = load_table(file, file_options, labels, features, groups)
        fitted = None if model is None else load_model(model)
        found = audit_table(frame, **columns, model=fitted, listener=view)
    if json:
        print_json({**found.to_json(), "notices": [*notices, *found.notices]})
        return
    print_audit(found, Terminal())
    if file != STANDARD_STREAM:
        groups = _as_advised(groups, features, found.noticed)
        if any(finding.kind == "truth" for finding in found.findings):
            labels = replace(labels, truth=None)  # the next command would refuse that column
        given = [path_word(file), *option_words(labels, features, groups, file_options)]
        out = path_word(_name_for_cleaned(file))
        say_next(
            ("train a classifier", ["fit", *given, "--out", "model"]),
            ("choose a label for every row", ["clean", *given, "--out", out]),
        )


def _as_advised(
    groups: GroupOptions, features: FeatureOptions, noticed: "NoticedGroups | None"
) -> GroupOptions:
    """Return the options with groups that were noticed, unless they are but a last resort."""
    used = [*(features.features or ()), *(features.category or ())]
    if noticed is None or noticed.sign == "near_duplicates" or noticed.group in used:
        return groups
    return replace(groups, group=noticed.group)


def _name_for_cleaned(file: str) -> str:
    """Return a name for the cleaned table, in the format of the file where that can be written."""
    file_format = find_format(file)
    stem, suffixes = split_name(file)
    if file_format is None or file_format.writer is None:
        return f"{stem}-clean.csv"
    if Path(file).is_dir():
        return f"{Path(file).resolve().name}-clean{file_format.suffixes[0]}"
    return f"{stem}-clean{suffixes}"


def print_audit(audit: "TableAudit", console: "Terminal") -> None:
    """Print an audit on about one screen; markup in the file is shown and not obeyed."""
    from disambig.cli.console import plain, wrapped  # keeps --help quick

    for sentence in audit.summary():
        console.print(wrapped(plain(sentence), console), soft_wrap=True)
    for section in audit.sections():
        console.print()
        console.print(plain(section.heading, "bold"))
        for number, line in enumerate(section.lines, start=1):
            text = plain(line)
            text.highlight_regex(r"  #+$", "cyan")  # bars
            if section.is_table:
                text.truncate(max(1, console.width - 2), overflow="ellipsis")
            before = f"{number:>3}. " if section.is_numbered else "  "
            shown = wrapped(text, console, first=before, others=" " * len(before))
            console.print(shown, soft_wrap=True)
