"""The numbers that the NCPD paper prints."""

import tomllib
from importlib.resources import files

__all__ = ["published_accuracies"]


def published_accuracies() -> dict[str, dict[str, tuple[float, float]]]:
    """Return Table 2 of the paper: mean and standard deviation, by dataset and method."""
    table = tomllib.loads((files(__package__) / "published.toml").read_text(encoding="utf-8"))
    return {
        dataset: {method: (mean, std) for method, (mean, std) in methods.items()}
        for dataset, methods in table.items()
    }
