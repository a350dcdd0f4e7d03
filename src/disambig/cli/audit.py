"""``disambig audit``: look at a table before training."""

from typing import Annotated

import typer

from disambig.cli.option_groups import with_option_groups
from disambig.cli.table_options import FeatureOptions, FileOptions, LabelOptions, TableFile

__all__ = ["audit"]


@with_option_groups
def audit(
    file: TableFile,
    how: FileOptions,
    labels: LabelOptions,
    features: FeatureOptions,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Say what is in a table whose rows have several labels of which one is right.

    Set sizes, labels that go together or cannot be told apart, what looks wrong, and how much the
    ambiguity costs; nothing is trained.

    Example: disambig audit vehicles.csv --labels label
    """
    # keeps --help quick
    from rich.console import Console

    from disambig.cli.audit_view import print_audit
    from disambig.cli.loaded_table import load_table
    from disambig.cli.talk import print_json, say_notices
    from disambig.workbench.audit.table_audit import audit_table

    table = load_table(file, how, labels, features)
    found = audit_table(
        table.frame,
        labels=table.labels,
        truth=table.truth,
        features=table.features,
        ignore=table.ignore,
        id=table.id,
    )
    say_notices(table.notices)
    if json:
        print_json(found.to_json())
    else:
        print_audit(found, Console())
