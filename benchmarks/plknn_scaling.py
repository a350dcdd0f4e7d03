"""PLKNN under several ways to scale features: ten-fold accuracy on real and on corrupted data.

    DISAMBIG_DATA=folder python benchmarks/plknn_scaling.py

Writes docs/results/plknn.md.
"""

from rich.progress import track

from disambig import PLKNN, load_dataset
from disambig.bench import ControlledCorruption, cross_validate, mean_and_std, mean_and_std_text
from results_page import markdown_table, write_page

SCALINGS = {
    "raw": {"scaling": "none", "unit_rows": False},
    "z-score": {"scaling": "standard", "unit_rows": False},
    "z-score, unit rows": {"scaling": "standard", "unit_rows": True},
    "half": {"scaling": "half", "unit_rows": False},
    "half, unit rows": {"scaling": "half", "unit_rows": True},
    "default: half, unit rows from ten features on": {},
}
# What independent code reached on the same folds (seed 0, z-score fitted on all rows).
EXPECTED = {
    ("lost", "raw"): 0.48,
    ("lost", "z-score, unit rows"): 0.61,
    ("birdsong", "z-score"): 0.65,
}
REAL = ("lost", "msrcv2", "birdsong")
CORRUPTED = ("glass", "ecoli", "vehicle", "abalone")
CORRUPTION = ControlledCorruption(p=0.7, r=2)


def accuracies(
    dataset: str, scaling: str, seeds: tuple[int, ...]
) -> tuple[list[float], list[float]]:
    """Return accuracy and transductive accuracy of every fold."""
    corruption = CORRUPTION if dataset in CORRUPTED else None
    data = load_dataset(dataset)
    scores = [
        score
        for seed in seeds
        for score in cross_validate(
            PLKNN(**SCALINGS[scaling]), data, seed=seed, corruption=corruption
        )
    ]
    return [s.accuracy for s in scores], [s.transductive_accuracy for s in scores]


def main() -> None:
    """Measure, compare with what is expected, write the page."""
    runs = [(name, scaling) for name in REAL + CORRUPTED for scaling in SCALINGS]
    measured = {
        (name, scaling): accuracies(name, scaling, (0,) if name in REAL else (0, 1))
        for name, scaling in track(runs, description="PLKNN")
    }

    def table(names: tuple[str, ...], which: int) -> str:
        rows = [
            [name, *(mean_and_std_text(measured[name, s][which]) for s in SCALINGS)]
            for name in names
        ]
        return markdown_table(["dataset", *SCALINGS], rows)

    checks = [
        [name, scaling, f"{goal:.2f}", f"{mean_and_std(measured[name, scaling][0])[0]:.3f}"]
        for (name, scaling), goal in EXPECTED.items()
    ]
    write_page(
        "plknn",
        "benchmarks/plknn_scaling.py",
        "Ten folds, k = 10, distance weights, scaling fitted on the training folds; mean and "
        "standard deviation over folds.",
        "## Accuracy on held-out rows, real candidate sets (fold seed 0)",
        table(REAL, 0),
        "## Training rows set right, real candidate sets",
        table(REAL, 1),
        f"## Accuracy on held-out rows, corrupted with p = {CORRUPTION.p}, r = {CORRUPTION.r} "
        "(fold seeds 0 and 1)",
        table(CORRUPTED, 0),
        "## Against independent code on the same folds",
        markdown_table(["dataset", "scaling", "expected (within 0.02)", "measured"], checks),
    )
    for name, scaling, goal, found in checks:
        if abs(float(goal) - float(found)) > 0.02:
            raise SystemExit(f"{name}, {scaling}: expected {goal} within 0.02, measured {found}.")


if __name__ == "__main__":
    main()
