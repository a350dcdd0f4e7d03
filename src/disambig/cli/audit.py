"""``disambig audit``: look at a table before training."""

from typing import TYPE_CHECKING

from disambig.cli.options import (
    FeatureOptions,
    FileOptions,
    Json,
    LabelOptions,
    TableFile,
    with_option_groups,
)

if TYPE_CHECKING:
    from disambig.cli.console import Terminal
    from disambig.tabular.audit.audit_report import TableAudit


@with_option_groups
def audit(
    file: TableFile,
    labels: LabelOptions,
    features: FeatureOptions,
    file_options: FileOptions,
    json: Json = False,
) -> None:
    """Say what is in a table whose rows have several labels of which one is right.

    Set sizes, labels that go together or cannot be told apart, what looks wrong, and how much the
    ambiguity costs; nothing is trained.

    Example: disambig audit vehicles.csv --labels label

    Example, a long table of annotations: disambig audit photos.csv --annotations votes.csv
    --item photo --annotator who --label said
    """
    # keeps --help quick
    from disambig.cli.console import Terminal, collected_notices, print_json
    from disambig.cli.table_files import load_table
    from disambig.tabular.audit.table_audit import audit_table

    with collected_notices() as notices:
        frame, columns = load_table(file, file_options, labels, features)
        found = audit_table(frame, **columns)
    if json:
        print_json({**found.to_json(), "notices": [*notices, *found.notices]})
    else:
        print_audit(found, Terminal())


def print_audit(audit: "TableAudit", console: "Terminal") -> None:
    """Print an audit on about one screen; markup in the file is shown and not obeyed."""
    # keeps --help quick
    from rich.padding import Padding
    from rich.table import Table

    from disambig.cli.console import plain

    for sentence in audit.summary():
        console.print(plain(sentence))
    for section in audit.sections():
        grid = Table.grid(padding=(0, 1))
        if section.is_numbered:
            grid.add_column(justify="right", no_wrap=True)
        grid.add_column(
            no_wrap=section.is_table, overflow="ellipsis" if section.is_table else "fold"
        )
        for number, line in enumerate(section.lines, start=1):
            text = plain(line)
            text.highlight_regex(r"  #+$", "cyan")  # bars
            grid.add_row(*([f"{number}."] if section.is_numbered else []), text)
        console.print()
        console.print(plain(section.heading, "bold"))
        console.print(Padding(grid, (0, 0, 0, 2), expand=False))
