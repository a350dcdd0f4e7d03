"""Accuracy and significance, compared with SciPy and with numbers worked out by hand."""

import math
import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from disambig import DisambigError
from disambig.bench import comparison_table
from disambig.bench import significance_table as any_significance_table

ROLES = {"low": "candidate_baseline", "high": "true_label_baseline"}


def frame(cells, *, metric="accuracy", selections=None, roles=ROLES):
    """Make records from {(data, method): scores of folds}; None is a run that is not there."""
    return pd.DataFrame(
        [
            {
                "dataset": data.partition(",")[0],
                "p": np.nan,
                "r": np.nan,
                "data": data,
                "method": method,
                "role": roles.get(method, "method"),
                "seed": 0,
                "fold": fold,
                metric: value,
                "selection": (selections or {}).get(method),
            }
            for (data, method), values in cells.items()
            for fold, value in enumerate(values)
            if value is not None
        ]
    )


def significance_table(scores, metric="accuracy", *, test_share=0.1, **more):
    return any_significance_table(scores, metric, test_share=test_share, **more)


def random_cells(n_data, methods, seed=0, n_folds=10):
    generator = np.random.default_rng(seed)
    cells = {}
    for i in range(n_data):
        shared = generator.normal(0.6, 0.03, n_folds)
        for j, method in enumerate(methods):
            shift = generator.normal(-0.01 * j, 0.02)
            cells[f"data{i}", method] = shared + shift + generator.normal(0, 0.02, n_folds)
    return cells


def marks_of(table):
    """Return the mark of every cell, by data and name of column."""
    return {
        (row[0], name): next((mark for mark in "•◦" if mark in cell), "")
        for row in table.rows[:-1]
        for name, cell in zip(table.header[1:], row[1:], strict=True)
    }


def test_marks_and_counts_are_those_of_the_paired_t_test():
    methods = ["ours", "a", "b", "c"]
    cells = random_cells(8, methods)
    table = comparison_table(frame(cells), reference="ours")
    counts = {method: [0, 0, 0] for method in methods[1:]}
    for (data, method), mark in marks_of(table).items():
        if method == "ours":
            assert mark == ""
            continue
        test = stats.ttest_rel(cells[data, "ours"], cells[data, method])
        is_significant = test.pvalue < 0.05
        expected = ("•" if test.statistic > 0 else "◦") if is_significant else ""
        assert mark == expected
        counts[method]["•◦".index(mark) * 2 if mark else 1] += 1
    assert table.rows[-1] == (
        "win/tie/loss",
        "",
        *("/".join(map(str, count)) for count in counts.values()),
    )
    # The example has all three outcomes, or it would show little.
    assert np.all(np.sum(list(counts.values()), axis=0) > 0)


def test_cells_are_mean_and_sample_standard_deviation():
    table = comparison_table(frame({("zoo", "a"): [0.7, 0.8, 0.9]}), reference="a")
    assert table.rows[0] == ("zoo", "0.800 ± 0.100")


def test_a_single_run_has_no_standard_deviation_and_no_test():
    table = comparison_table(frame({("zoo", "a"): [0.7], ("zoo", "b"): [0.5]}), reference="a")
    assert table.rows[0] == ("zoo", "0.700", "0.500")
    assert table.rows[1] == ("win/tie/loss", "", "0/0/0")
    assert any(
        "Not tested, because two runs in common are needed: 1 of 1" in note for note in table.notes
    )


def test_where_less_is_better_the_lower_score_wins():
    cells = {("zoo", "a"): [0.1, 0.12, 0.11], ("zoo", "b"): [0.3, 0.33, 0.31]}
    table = comparison_table(frame(cells, metric="brier_score"), "brier_score", reference="a")
    assert "•" in table.rows[0][2]
    assert table.emphasised == {(0, 1)}
    assert "Less is better" in table.notes[0]
    significance = significance_table(
        frame(cells, metric="brier_score"), "brier_score", reference="a"
    )
    assert [row[-1] for row in significance.rows] == ["1.00", "2.00"]


def test_missing_cells_are_dashes_and_incomplete_ones_say_so():
    cells = {
        ("zoo", "a"): [0.7, 0.8, 0.9],
        ("zoo", "b"): [0.5, None, 0.6],
        ("wine", "a"): [0.7, 0.8, 0.9],
    }
    table = comparison_table(frame(cells), reference="a")
    assert table.rows[0][2] == "0.550 ± 0.071 (2 of 3)"
    assert table.rows[1][2] == "-"
    assert any(note.startswith("(n of 3)") for note in table.notes)
    assert any(note.startswith("-: no run gave a value") for note in table.notes)


def test_tests_use_the_runs_that_both_methods_have():
    ours = [0.70, 0.74, 0.71, 0.20, 0.73]
    other = [0.60, 0.65, 0.60, None, 0.62]
    table = comparison_table(frame({("zoo", "a"): ours, ("zoo", "b"): other}), reference="a")
    both = [i for i, value in enumerate(other) if value is not None]
    test = stats.ttest_rel([ours[i] for i in both], [other[i] for i in both])
    assert test.pvalue < 0.05
    assert "•" in table.rows[0][2]


def test_the_best_mean_of_the_methods_stands_out_and_no_baseline_does():
    cells = {
        ("zoo", "high"): [0.9, 0.9],
        ("zoo", "a"): [0.5, 0.6],
        ("zoo", "b"): [0.7, 0.8],
        ("zoo", "c"): [0.7, 0.8],
        ("zoo", "low"): [0.1, 0.1],
    }
    table = comparison_table(frame(cells), reference="a")
    assert table.header == ("data", "a", "b", "c", "low", "high")
    assert table.emphasised == {(0, 2), (0, 3)}


def test_a_mean_over_fewer_runs_is_not_called_the_best():
    cells = {("zoo", "a"): [0.5, 0.6, 0.7], ("zoo", "b"): [None, 0.8, 0.9]}
    assert comparison_table(frame(cells), reference="a").emphasised == {(0, 1)}


def test_parameters_chosen_with_true_labels_are_named():
    cells = {("zoo", "a"): [0.5, 0.6], ("zoo", "b"): [0.7, 0.8]}
    scores = frame(cells, selections={"a": "covering_rate", "b": "oracle"})
    for table in (
        comparison_table(scores, reference="a"),
        significance_table(scores, reference="a"),
    ):
        assert "Parameters chosen with true labels (oracle selection): b." in table.notes
        assert "Parameters chosen by the covering rate: a." in table.notes
    assert comparison_table(scores, reference="a").header[2] == "b (chosen by true labels)"


@pytest.mark.parametrize("reference", ["nobody", "low"])
def test_the_reference_must_be_a_method(reference):
    scores = frame({("zoo", "a"): [0.5, 0.6], ("zoo", "low"): [0.1, 0.2]})
    for make in (comparison_table, significance_table):
        with pytest.raises(DisambigError, match=f"no method to compare with called '{reference}'"):
            make(scores, reference=reference)


def test_significance_has_all_tests_as_scipy_does_them():
    methods = ["ours", "a", "b"]
    cells = random_cells(9, methods, seed=3)
    table = significance_table(frame(cells), reference="ours")
    means = {
        method: np.array([np.mean(cells[f"data{i}", method]) for i in range(9)])
        for method in methods
    }
    ranks = stats.rankdata(-np.array(list(means.values())), axis=0).mean(axis=1)
    assert [row[-1] for row in table.rows] == [f"{rank:.2f}" for rank in ranks]

    p_values = [stats.wilcoxon(means["ours"], means[rival]).pvalue for rival in "ab"]
    adjusted = stats_holm(p_values)
    assert [row[4] for row in table.rows[1:]] == [shown(p_value) for p_value in p_values]
    assert [row[5].strip(" •◦") for row in table.rows[1:]] == [shown(p) for p in adjusted]

    for row, rival in zip(table.rows[1:], "ab", strict=True):
        counts = [0, 0, 0]
        for i in range(9):
            difference = cells[f"data{i}", "ours"] - cells[f"data{i}", rival]
            error = math.sqrt((1 / 10 + 1 / 9) * np.var(difference, ddof=1))
            statistic = difference.mean() / error
            is_significant = 2 * stats.t.sf(abs(statistic), 9) < 0.05
            counts[(0 if statistic > 0 else 2) if is_significant else 1] += 1
        assert row[3] == "/".join(map(str, counts))

    friedman = stats.friedmanchisquare(*means.values())
    assert any(f"chi-square {friedman.statistic:.2f}" in note for note in table.notes)
    # Demsar's q for three methods is 2.343.
    difference = 2.343 * math.sqrt(3 * 4 / (6 * 9))
    assert any(f"(Nemenyi): {difference:.2f}" in note for note in table.notes)


def stats_holm(p_values):
    smaller, larger = sorted(p_values)
    adjusted = {smaller: 2 * smaller, larger: max(2 * smaller, larger)}
    return [min(1, adjusted[p_value]) for p_value in p_values]


def shown(p_value):
    return "< 0.001" if p_value < 0.001 else f"{p_value:.3f}"


def test_the_accuracy_and_the_significance_table_count_alike():
    scores = frame(random_cells(6, ["ours", "a", "b"]))
    counts = comparison_table(scores, reference="ours").rows[-1][2:]
    assert tuple(row[2] for row in significance_table(scores, reference="ours").rows[1:]) == counts


def test_baselines_have_a_mean_and_nothing_else():
    scores = frame(random_cells(4, ["low", "ours", "a", "b", "high"]))
    table = significance_table(scores, reference="ours")
    assert table.n_summary_rows == 2
    for name, mean, *rest in table.rows[-2:]:
        assert name in {"low", "high"}
        # Without a deviation, which would be that of unlike datasets.
        assert re.fullmatch(r"0\.\d{3}", mean)
        assert set(rest) == {""}
    # Three methods are ranked, not five.
    assert sum(float(row[-1]) for row in table.rows[:3]) == pytest.approx(6, abs=0.02)


def test_with_one_dataset_a_note_says_what_there_is_not():
    table = significance_table(frame(random_cells(1, ["ours", "a", "b"])), reference="ours")
    assert [row[4:6] for row in table.rows[1:]] == [("-", "-")] * 2
    assert any("no Wilcoxon test" in note for note in table.notes)
    assert any("no Friedman test: it needs two datasets" in note for note in table.notes)


def test_with_two_methods_a_note_says_what_there_is_not():
    table = significance_table(frame(random_cells(5, ["ours", "a"])), reference="ours")
    assert table.rows[1][4] != "-"
    assert any("no Friedman test: it needs three methods" in note for note in table.notes)


def test_a_method_alone_has_a_table_too():
    scores = frame(random_cells(2, ["ours"]))
    assert significance_table(scores, reference="ours").rows[0][-1] == "-"
    assert comparison_table(scores, reference="ours").emphasised == {(0, 1), (1, 1)}


def test_a_metric_that_no_run_has_is_a_table_of_dashes():
    scores = frame(random_cells(2, ["ours", "a", "b"])).assign(brier_score=np.nan)
    table = comparison_table(scores, "brier_score", reference="ours")
    assert table.rows[0] == ("data0", "-", "-", "-")
    assert table.emphasised == frozenset()
    table = significance_table(scores, "brier_score", reference="ours")
    assert table.rows[1] == ("a", "-", "-", "-", "-", "-", "-")


def test_a_method_without_the_metric_leaves_the_others_their_ranks():
    cells = random_cells(3, ["ours", "a", "b"])
    scores = frame(cells)
    scores.loc[scores["method"] == "b", "accuracy"] = np.nan
    table = significance_table(scores, reference="ours")
    assert table.rows[2][-1] == "-"
    assert float(table.rows[0][-1]) + float(table.rows[1][-1]) == pytest.approx(3, abs=0.02)


def test_one_fold_has_no_t_tests():
    scores = frame(random_cells(3, ["ours", "a", "b"], n_folds=1))
    table = significance_table(scores, reference="ours")
    assert [row[2:4] for row in table.rows[1:]] == [("-", "-")] * 2


def test_data_without_one_of_the_methods_is_left_out_of_ranks_and_named():
    cells = random_cells(4, ["ours", "a", "b"])
    del cells["data2", "b"]
    table = significance_table(frame(cells), reference="ours")
    kept = [0, 1, 3]
    means = [[np.mean(cells[f"data{i}", name]) for i in kept] for name in ("ours", "a", "b")]
    ranks = stats.rankdata(-np.array(means), axis=0).mean(axis=1)
    assert [row[-1] for row in table.rows] == [f"{rank:.2f}" for rank in ranks]
    assert any(note.startswith("Left out") and "data2" in note for note in table.notes)
    assert table.rows[2][1].endswith("(3 of 4)")


def test_many_settings_of_few_datasets_are_not_passed_off_as_independent():
    cells = {
        (f"{dataset}, p={p}", method): np.array([0.5, 0.6, 0.7]) + shift + p
        for dataset in ("zoo", "wine")
        for p in (0.1, 0.2)
        for method, shift in {"a": 0.0, "b": -0.1, "c": -0.2}.items()
    }
    table = significance_table(frame(cells), reference="a")
    (warning,) = (note for note in table.notes if "4 settings of only 2 datasets" in note)
    assert warning.endswith("p-values are too small, and the critical difference is too.")
    two = {key: values for key, values in cells.items() if key[1] != "c"}
    table = significance_table(frame(two), reference="a")
    (warning,) = (note for note in table.notes if "4 settings of only 2 datasets" in note)
    assert warning.endswith("p-values are too small.")
    alone = {key: values for key, values in cells.items() if key[1] == "a"}
    table = significance_table(frame(alone), reference="a")
    assert not any("independent" in note for note in table.notes)


def test_holm_cells_say_who_is_ahead_and_a_note_what_the_marks_mean():
    generator = np.random.default_rng(0)
    shifts = {"ours": 0.0, "weak": -0.1, "strong": 0.1, "alike": 0.0}
    cells = {
        (f"data{i}", method): 0.5 + shift + generator.normal(0, 0.01, 5)
        for i in range(12)
        for method, shift in shifts.items()
    }
    table = significance_table(frame(cells), reference="ours")
    marks = {row[0]: row[5].strip("< .0123456789") for row in table.rows}
    assert marks == {"ours": "", "weak": "•", "strong": "◦", "alike": ""}
    # Wilcoxon's own p-value is not what the marks go by.
    assert not any(mark in row[4] for row in table.rows for mark in "•◦")
    (note,) = (note for note in table.notes if note.startswith("•/◦ beside Holm's p"))
    assert "ours is significantly better/worse" in note
    strict = significance_table(frame(cells), reference="ours", alpha=1e-6)
    assert not any(mark in row[5] for row in strict.rows for mark in "•◦")


def test_where_less_is_better_the_marks_of_holm_turn_round():
    cells = {
        (f"data{i}", method): np.array([0.5, 0.51, 0.52]) + 0.01 * i + shift
        for i in range(8)
        for method, shift in {"ours": 0.0, "a": 0.1}.items()
    }
    scores = frame(cells, metric="brier_score")
    assert "•" in significance_table(scores, "brier_score", reference="ours").rows[1][5]


def test_a_reference_chosen_with_true_labels_is_named_in_title_and_notes():
    cells = {("zoo", "a"): [0.5, 0.6], ("zoo", "b"): [0.7, 0.8]}
    scores = frame(cells, selections={"a": "oracle"})
    table = significance_table(scores, reference="a")
    named = "a (chosen by true labels)"
    assert table.title == f"{named} against the others: every test of accuracy"
    assert named in table.notes[0]
    assert named in comparison_table(scores, reference="a").notes[0]


def test_the_share_that_was_tested_on_has_to_be_given():
    with pytest.raises(TypeError, match="test_share"):
        any_significance_table(frame({("zoo", "a"): [0.5, 0.6]}), reference="a")
