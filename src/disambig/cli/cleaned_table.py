"""From a file that ``disambig clean`` wrote to its rows."""

from pathlib import Path
from typing import TYPE_CHECKING

from disambig.cli.table_options import FileOptions

if TYPE_CHECKING:
    from disambig.workbench.disambiguated import Disambiguated

__all__ = ["load_cleaned"]


def load_cleaned(file: Path, options: FileOptions, id: str | None) -> "Disambiguated":  # noqa: A002
    """Read a cleaned table, with what is known of how it came about."""
    # keeps --help quick
    from disambig.cli.loaded_table import read_file
    from disambig.workbench.clean_details import details_path, read_details
    from disambig.workbench.cleaned_rows import read_cleaned

    frame = read_file(str(file), options)
    return read_cleaned(frame, read_details(details_path(file)), id=id)
