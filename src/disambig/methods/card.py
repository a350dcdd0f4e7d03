"""What a method says about itself: listings, docs tables and studies read this, not the code."""

from dataclasses import dataclass
from typing import Literal

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
    role : {"method", "floor", "ceiling"}, default="method"
        What it stands for in a table. A ceiling is trained on true labels and is no method.
    """

    name: str
    title: str
    paper: str | None = None
    year: int | None = None
    doi: str | None = None
    deviations: tuple[str, ...] = ()
    role: Literal["method", "floor", "ceiling"] = "method"

    @property
    def reads_true_labels(self) -> bool:
        """Whether it is trained on true labels, which only a ceiling may be."""
        return self.role == "ceiling"
