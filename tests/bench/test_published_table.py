"""Our figures beside those of a paper."""

import numpy as np
import pandas as pd

from disambig.bench.formats import to_markdown
from disambig.bench.paper import published_accuracies
from disambig.bench.tables import published_table

PUBLISHED = {
    "lost": {"NCPD": (0.79, 0.055), "SURE": (0.739, 0.036)},
    "msrcv2": {"NCPD": (0.589, 0.046), "AGGD": (0.5, 0.04)},
}


def frame(cells, **more):
    """Make records from {(dataset, method): scores of folds}."""
    return pd.DataFrame(
        [
            {
                "dataset": dataset,
                "p": np.nan,
                "r": np.nan,
                "data": dataset,
                "method": method,
                "role": "true_label_baseline" if method == "oracle" else "method",
                "seed": 0,
                "fold": fold,
                "accuracy": value,
                "selection": None,
            }
            | more
            for (dataset, method), values in cells.items()
            for fold, value in enumerate(values)
        ]
    )


CELLS = {
    ("lost", "NCPD"): [0.7, 0.8, 0.9],
    ("lost", "SURE"): [0.5, 0.5, 0.5],
    ("lost", "PLKNN"): [0.1, 0.1, 0.1],
    ("lost", "oracle"): [0.9, 0.9, 0.9],
}


def test_two_rows_for_every_dataset_of_the_paper_that_we_have_ours_first():
    table = published_table(frame(CELLS), PUBLISHED)
    assert table.header == ("data", "", "NCPD", "SURE", "AGGD", "PLKNN", "oracle")
    assert table.rows == (
        ("lost", "ours", "0.800 ± 0.100", "0.500 ± 0.000", "-", "0.100 ± 0.000", "0.900 ± 0.000"),
        ("", "paper", "0.790 ± 0.055", "0.739 ± 0.036", "-", "-", "-"),
    )


def test_it_says_that_the_folds_are_others():
    table = published_table(frame(CELLS), PUBLISHED)
    assert any("Our folds are not the paper's" in note for note in table.notes)


def test_a_run_without_a_score_is_left_out_of_the_mean():
    cells = CELLS | {("lost", "SURE"): [0.5, np.nan, 0.7]}
    row = published_table(frame(cells), PUBLISHED).rows[0]
    assert row[3].startswith("0.600 ± 0.141")


def test_a_mean_over_fewer_runs_says_so():
    cells = CELLS | {("lost", "SURE"): [0.5, np.nan, 0.7]}
    assert published_table(frame(cells), PUBLISHED).rows[0][3] == "0.600 ± 0.141 (2 of 3)"


def test_parameters_chosen_with_true_labels_are_named():
    text = to_markdown(published_table(frame(CELLS, selection="oracle"), PUBLISHED))
    assert "NCPD (chosen by true labels)" in text
    assert "with true labels (oracle selection): NCPD, SURE, PLKNN" in text


def test_corrupted_data_is_not_taken_for_the_dataset_itself():
    scores = frame(CELLS, data="lost, p=0.1, r=1", p=0.1, r=1)
    assert published_table(scores, PUBLISHED).rows == ()


def test_the_paper_s_own_figures_have_a_column_for_every_method():
    table = published_table(frame(CELLS), published_accuracies())
    methods = ("NCPD", "PLKNN", "M3PL", "IPAL", "SURE", "AGGD")
    assert table.header == ("data", "", *methods, "oracle")
    assert len(table.rows) == 2
    assert table.rows[0][2] == "0.800 ± 0.100"
    assert table.rows[1][2:4] == ("0.790 ± 0.055", "0.471 ± 0.032")
