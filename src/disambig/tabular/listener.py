"""What a long piece of work with a table reports while it runs."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import BaseModel


class FitListener:
    """Base class to follow the progress of several fits: override the methods you need.

    Several fits may run at once: ``title`` says which one a call is about.

    See Also
    --------
    fit_table : Calls it.
    clean_table : Calls it too.

    Examples
    --------
    >>> from disambig.datasets import example_tables
    >>> from disambig.tabular import FitListener, fit_table
    >>> class Printer(FitListener):
    ...     def on_fits_start(self, n_fits):
    ...         print(n_fits, "models to train")
    >>> frame = example_tables()["vehicles.csv"].head(60)
    >>> model = fit_table(
    ...     frame,
    ...     method="plknn",
    ...     id="vehicle",
    ...     truth="checked",
    ...     n_folds=2,
    ...     listener=Printer(),
    ... )
    3 models to train
    """

    def on_described(self, column: str, n_done: int, n_cells: int) -> None:
        """Handle that so many of the different cells of a column of images have become numbers."""

    def on_rows_done(self, title: str, n_done: int, n_rows: int) -> None:
        """Handle that so many rows of a table on disk are done; ``title`` says with what."""

    def on_fits_start(self, n_fits: int) -> None:
        """Handle the start of fits: ``n_fits`` models will be trained.

        Where sets may miss the truth, folds are trained several times, and this is called for each.
        """

    def on_time_estimated(self, n_fits: int, seconds: float) -> None:
        """Handle how long so many fits will take in all, about, before the first of them starts.

        Estimated only for a listener that overrides it, as that takes up to some seconds. Where
        sets may miss the truth, ``n_fits`` is a guess too. Not called where an interrupted call is
        continued.
        """

    def on_fit_start(self, title: str) -> None:
        """Handle the start of the training of a model."""

    def on_epoch_end(self, title: str, epoch: int, n_epochs: int) -> None:
        """Handle the end of an epoch; only networks have epochs."""

    def on_fit_end(self, title: str) -> None:
        """Handle the end of the training of a model."""

    def on_cleaned(self, summary: "BaseModel") -> None:
        """Handle the end of ``clean_table``; ``summary`` is a ``CleanSummary``."""
