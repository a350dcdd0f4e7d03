"""What a method says about itself: listings, docs tables and studies read this, not the code."""

from dataclasses import dataclass

__all__ = ["MethodCard"]


@dataclass(frozen=True)
class MethodCard:
    """Identity of a method.

    Attributes
    ----------
    name : str
        Short name for ``get_method`` and the command line; also the name of its module.
    title : str
        One line for people.
    paper, year, doi : str, int, str, optional
        Where it was published.
    deviations : tuple of str
        Every way in which the code departs from the paper.
    reads_true_labels : bool, default=False
        True only for the oracle, which is a ceiling and no method.
    """

    name: str
    title: str
    paper: str | None = None
    year: int | None = None
    doi: str | None = None
    deviations: tuple[str, ...] = ()
    reads_true_labels: bool = False
