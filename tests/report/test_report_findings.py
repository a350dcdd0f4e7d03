import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from disambig.report import findings

NOISE = np.array([0.0, 0.02, -0.01, 0.01, -0.02])


def study(means, *, roles=None, missing=(), selections=None):
    """Make records with these means: {data: {method: mean}}, noise that differs by method."""
    return pd.DataFrame(
        [
            {
                "dataset": data.partition(",")[0],
                "p": np.nan,
                "r": np.nan,
                "data": data,
                "method": method,
                "role": (roles or {}).get(method, "method"),
                "seed": 0,
                "fold": fold,
                "accuracy": mean + 0.1 * np.roll(NOISE, i)[fold],
                "selection": (selections or {}).get(method),
            }
            for data, row in means.items()
            for i, (method, mean) in enumerate(row.items())
            for fold in range(5)
            if (data, method, fold) not in missing
        ]
    )


MEANS = {
    "zoo": {"ours": 0.7, "a": 0.6, "b": 0.5, "low": 0.3, "high": 0.9},
    "wine": {"ours": 0.7, "a": 0.8, "b": 0.5, "low": 0.4, "high": 0.8},
    "iris": {"ours": 0.9, "a": 0.8, "b": 0.7, "low": 0.5, "high": 0.9},
}
ROLES = {"low": "floor", "high": "ceiling"}


def test_it_says_who_is_best_on_how_much():
    text = findings(study(MEANS, roles=ROLES), "ours")
    assert "- Best mean accuracy, out of 3 datasets: ours 2, a 1.\n" in text


def test_the_reference_is_counted_where_it_is_best_nowhere():
    text = findings(study(MEANS, roles=ROLES), "b")
    assert "ours 2, a 1, b 0." in text


def test_it_says_where_the_reference_is_behind_and_by_how_much():
    text = findings(study(MEANS, roles=ROLES), "ours")
    assert "ours is significantly behind a on 1 of 3 datasets: wine (by 0.100)." in text
    assert "behind b" not in text


def test_it_says_that_the_reference_is_behind_nobody():
    text = findings(study({"zoo": MEANS["zoo"]}, roles=ROLES), "ours")
    assert "ours is nowhere significantly behind" in text


def test_of_many_defeats_it_names_the_largest():
    means = {f"data{i}": {"ours": 0.5, "a": 0.6 + i / 100} for i in range(7)}
    text = findings(study(means), "ours")
    assert "behind a on 7 of 7 datasets: data6 (by 0.160); data5 (by 0.150);" in text
    assert "data2 (by 0.120); and 2 more." in text


def test_a_metric_that_no_run_has_is_no_error():
    text = findings(study(MEANS, roles=ROLES).assign(brier_score=np.nan), "ours", "brier_score")
    assert "No method has a Brier score to show." in text
    assert "ours cannot be tested" in text


def test_it_counts_the_tests():
    text = findings(study(MEANS, roles=ROLES), "ours")
    assert (
        "In 6 paired t-tests, ours is significantly better in 5, worse in 1, neither in 0" in text
    )
    assert "less than one of 6 would come out significant by chance" in text


def test_it_gives_the_gap_to_floor_and_ceiling():
    text = findings(study(MEANS, roles=ROLES), "ours")
    # (0.4 + 0.3 + 0.4) / 3 and (0.2 + 0.1 + 0.0) / 3
    assert "on average 0.367 better than low (floor) (+0.300 to +0.400 over 3 datasets)." in text
    assert "on average 0.100 worse than high (ceiling)" in text


def test_a_reference_below_the_floor_is_not_hidden():
    means = {"zoo": {"ours": 0.2, "a": 0.6, "low": 0.3}}
    text = findings(study(means, roles=ROLES), "ours")
    assert "0.100 worse than low (floor)" in text
    assert "below the floor on 1: zoo" in text


@pytest.mark.parametrize(
    ("orders", "verdict"),
    [
        (["abc", "abc", "abc", "abc"], "the methods differ"),
        (["abc", "cba", "bac", "bca"], "the methods cannot be told apart"),
        # Chi-square 4.67 has p 0.097, F 7.00 has p 0.049.
        (["abc", "abc", "bac"], "its two versions disagree"),
    ],
)
def test_it_has_the_verdict_of_friedman(orders, verdict):
    means = {
        f"data{i}": {method: 0.7 - 0.1 * order.index(method) for method in "abc"}
        for i, order in enumerate(orders)
    }
    assert f"Friedman's test: {verdict}" in findings(study(means), "a")


def test_without_a_friedman_test_it_says_why():
    text = findings(study({"zoo": MEANS["zoo"]}, roles=ROLES), "ours")
    assert "There is no Friedman test: it needs two datasets or more" in text


def test_it_counts_missing_runs():
    missing = {("zoo", "a", 0), ("zoo", "a", 1)}
    text = findings(study(MEANS, roles=ROLES, missing=missing), "ours")
    assert "2 of 75 runs are missing" in text
    assert "missing" not in findings(study(MEANS, roles=ROLES), "ours")


def test_it_names_parameters_chosen_with_true_labels():
    text = findings(study(MEANS, roles=ROLES, selections={"a": "oracle"}), "ours")
    assert "Parameters chosen with true labels (oracle): a." in text
    assert "behind a (oracle) on" in text


def test_settings_of_one_dataset_are_called_settings():
    means = {f"zoo, p={p}": MEANS["zoo"] for p in (0.1, 0.2)}
    text = findings(study(means, roles=ROLES), "ours")
    assert "out of 2 settings" in text
    assert "2 settings of only 1 dataset as if they were independent" in text


def test_a_method_without_rivals_is_reported_without_tests():
    text = findings(study({"zoo": {"ours": 0.5, "low": 0.2}}, roles=ROLES), "ours")
    assert "ours cannot be tested" in text


def test_tables_and_findings_do_without_matplotlib():
    code = (
        "import sys; sys.modules['matplotlib'] = None; "
        "from disambig import report; report.findings; report.accuracy_table; "
        "assert 'draw_curves' in dir(report)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
