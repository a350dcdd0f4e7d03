"""``disambig reproduce``: the evaluation of the NCPD paper, by one command each."""

from enum import StrEnum
from typing import Annotated

import typer

from disambig._core.errors import StudyError
from disambig.cli.option_groups import with_option_groups
from disambig.cli.study import RunOptions, run_and_report


class PaperStudy(StrEnum):
    """What the paper shows, what changes with whole groups, and all network methods."""

    table = "table"
    curves = "curves"
    ablation = "ablation"
    groups = "groups"
    networks = "networks"


@with_option_groups
def reproduce(
    what: Annotated[
        PaperStudy,
        typer.Argument(
            help="table: Table 2, real-world sets. curves: Figures 2 to 4, UCI sets with false "
            "labels. ablation: Figure 5, NCPD with parts left out. groups: all methods with rows "
            "and with whole pictures, recordings and scenes held out. networks: every network "
            "method of the field, linear and deeper."
        ),
    ],
    options: RunOptions,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="A smaller study: minutes instead of hours. It says what it cuts."
        ),
    ] = False,
) -> None:
    """Repeat an evaluation of the NCPD paper.

    Writes a report. Jobs that were done before are not run again.

    Example: disambig reproduce curves --quick --jobs 2
    """
    # keeps --help quick
    from disambig.bench.paper import paper_study, published_accuracies, without_missing_data

    study, missing = without_missing_data(paper_study(what, quick=quick))
    advice = tuple(
        f"Missing: {card.title}. Get it with 'disambig fetch {card.name}', or from {card.source}, "
        "and set DISAMBIG_DATA to the folder that holds it."
        for card in missing
    )
    if study is None:
        raise StudyError("\n".join(("None of the datasets is on this machine.", *advice)))
    run_and_report(
        study,
        f"disambig reproduce {what}{' --quick' if quick else ''}",
        options,
        published=published_accuracies() if what is PaperStudy.table else None,
        missing=advice,
    )
