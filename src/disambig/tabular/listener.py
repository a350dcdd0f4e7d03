"""What a long piece of work with a table reports while it runs."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import BaseModel


class FitListener:
    """Hears how far a series of fits is; every method does nothing, write those you need.

    Several fits may be under way at once: ``title`` says which one it is about.

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

    def on_fits_start(self, n_fits: int) -> None:
        """So many models are about to be trained."""

    def on_fit_start(self, title: str) -> None:
        """One of them begins."""

    def on_epoch_end(self, title: str, epoch: int, n_epochs: int) -> None:
        """One epoch of a training of this model is done; only networks have any."""

    def on_fit_end(self, title: str) -> None:
        """One of them is trained."""

    def on_cleaned(self, summary: "BaseModel") -> None:
        """Every row of a table has a label; ``summary`` is a ``CleanSummary``."""
