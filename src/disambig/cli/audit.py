"""``disambig audit``: look at a table before training."""

from disambig.cli.option_groups import with_option_groups
from disambig.cli.table_options import FeatureOptions, FileOptions, Json, LabelOptions, TableFile

__all__ = ["audit"]


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
    from rich.console import Console

    from disambig.cli.audit_view import print_audit
    from disambig.cli.console import print_json, say_notices
    from disambig.cli.table_files import load_table
    from disambig.tabular.audit.table_audit import audit_table

    table = load_table(file, file_options, labels, features)
    found = audit_table(table.frame, **table.columns)
    say_notices(table.notices)
    if json:
        print_json({**found.to_json(), "notices": [*table.notices, *found.notices]})
    else:
        print_audit(found, Console())
