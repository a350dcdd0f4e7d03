"""``disambig study``: run a study of your own."""

from pathlib import Path
from typing import Annotated

import typer

from disambig.cli.study_run import STORE, Address, Backend, Jobs, Out, Store, run_and_report

__all__ = ["study"]


def study(
    file: Annotated[Path, typer.Argument(help="A TOML file; docs/studies.md says what goes in.")],
    jobs: Jobs = 1,
    backend: Backend = "local",
    address: Address = None,
    store: Store = STORE,
    out: Out = Path("out"),
) -> None:
    """Run the study that a file describes, or what is left of it, and report.

    Example: disambig study my-study.toml --jobs 4
    """
    from disambig.study.settings import Study  # keeps --help quick

    run_and_report(
        Study.from_toml(file),
        f"disambig study {file.name}",
        jobs=jobs,
        backend=backend,
        address=address,
        store=store,
        out=out,
    )
