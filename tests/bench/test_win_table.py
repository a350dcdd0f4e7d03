"""How often the reference wins, counted again with SciPy."""

import csv
import io
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from disambig import DisambigError
from disambig.bench import win_table
from disambig.bench.formats import to_csv, to_latex, to_markdown

PS, RS = (0.1, 0.4, 0.7), (1, 3)
METHODS = ("ours", "a", "b")
ROLES = {"low": "candidate_baseline", "high": "true_label_baseline"}


def record(dataset, p, r, method, fold, value, **more):
    title = dataset if p is None else f"{dataset}, p={p:g}, r={r}"
    own = {"dataset": dataset, "p": p, "r": r, "data": title, "method": method}
    own |= {"role": ROLES.get(method, "method"), "seed": fold // 5, "fold": fold % 5}
    return own | {"accuracy": value, "selection": None} | more


def settings(datasets=("glass", "ecoli"), ps=PS, rs=RS):
    return list(product(datasets, ps, rs))


def random_scores(seed=0, methods=(*METHODS, *ROLES)):
    """Return scores that differ enough for wins, ties and losses."""
    generator = np.random.default_rng(seed)
    scores = {}
    for place in settings():
        shared = generator.normal(0.6, 0.03, 10)
        for method in methods:
            shift = generator.normal(0, 0.025)
            scores[(*place, method)] = shared + shift + generator.normal(0, 0.02, 10)
    return scores


def frame(scores, missing=(), **more):
    return pd.DataFrame(
        [
            record(*place, fold, value, **more)
            for place, values in scores.items()
            for fold, value in enumerate(values)
            if (*place, fold) not in missing
        ]
    )


def counted(scores, rival, wanted, reference="ours"):
    """Count wins, ties and losses over places by SciPy's test."""
    count = [0, 0, 0]
    for place in settings():
        if not wanted(*place):
            continue
        test = stats.ttest_rel(scores[(*place, reference)], scores[(*place, rival)])
        verdict = 1 if test.pvalue >= 0.05 else (0 if test.statistic > 0 else 2)
        count[verdict] += 1
    return count


def text(*counts):
    return "/".join(str(number) for number in np.sum(counts, axis=0))


def test_every_count_is_that_of_the_paired_t_test():
    scores = random_scores()
    table = win_table(frame(scores), reference="ours")
    assert table.header == ("data", "a", "b", "all", "low", "high")
    rows = {row[0]: row[1:] for row in table.rows}
    assert list(rows) == ["glass, r=1", "glass, r=3", "ecoli, r=1", "ecoli, r=3", "all"]
    for dataset, r in product(("glass", "ecoli"), RS):
        a, b, low, high = (
            counted(scores, other, lambda d, _, s, d0=dataset, r0=r: (d, s) == (d0, r0))
            for other in ("a", "b", *ROLES)
        )
        assert sum(a) == len(PS)
        assert rows[f"{dataset}, r={r}"] == (text(a), text(b), text(a, b), text(low), text(high))
    a, b, low, high = (counted(scores, other, lambda *_: True) for other in ("a", "b", *ROLES))
    assert rows["all"] == (text(a), text(b), text(a, b), text(low), text(high))
    # The example has all three outcomes, or it would show little.
    assert min(np.sum([a, b], axis=0)) > 0


def test_another_reference_turns_wins_into_losses():
    scores = frame(random_scores(methods=("ours", "a")))
    ours, theirs = (win_table(scores, reference=name).rows[-1][1] for name in ("ours", "a"))
    assert ours.split("/") == theirs.split("/")[::-1]
    assert ours != theirs


def test_where_less_is_better_the_lower_score_wins():
    scores = frame(random_scores(methods=("ours", "a")))
    errors = scores.rename(columns={"accuracy": "brier_score"})
    more = win_table(scores, reference="ours").rows[-1][1]
    less = win_table(errors, "brier_score", reference="ours").rows[-1][1]
    assert more.split("/") == less.split("/")[::-1]
    assert "Brier score" in win_table(errors, "brier_score", reference="ours").title


def test_the_level_of_the_tests_is_taken_and_told():
    scores = frame(random_scores())
    strict = win_table(scores, reference="ours", alpha=1e-9)
    assert strict.rows[-1][3] == "0/24/0"
    assert "at the level 1e-09 each" in strict.notes[0]


def test_tests_are_over_the_runs_that_both_methods_have():
    scores = {
        ("glass", 0.1, 1, "ours"): [0.70, 0.74, 0.71, 0.20, 0.73],
        ("glass", 0.1, 1, "a"): [0.60, 0.65, 0.60, 0.90, 0.62],
    }
    both = [0, 1, 2, 4]
    test = stats.ttest_rel(*(np.array(values)[both] for values in scores.values()))
    assert test.pvalue < 0.05
    gone = {("glass", 0.1, 1, "a", 3)}
    assert win_table(frame(scores), reference="ours").rows[-1] == ("all", "0/1/0", "0/1/0")
    assert win_table(frame(scores, gone), reference="ours").rows[-1] == ("all", "1/0/0", "1/0/0")


def test_what_cannot_be_tested_is_counted_nowhere():
    scores = random_scores(methods=("ours", "a"))
    lost = ("glass", 0.1, 1, "a")
    table = win_table(frame(scores, {(*lost, fold) for fold in range(10)}), reference="ours")
    rows = {row[0]: sum(map(int, row[1].split("/"))) for row in table.rows}
    assert rows == {
        "glass, r=1": 2,
        "glass, r=3": 3,
        "ecoli, r=1": 3,
        "ecoli, r=3": 3,
        "all": 11,
    }


def test_data_with_its_own_sets_has_a_row_without_r():
    scores = {("zoo", None, None, method): [0.5, 0.6, 0.7] for method in ("ours", "a")}
    scores |= {("glass", 0.1, 2, method): [0.5, 0.6, 0.7] for method in ("ours", "a")}
    rows = [row[0] for row in win_table(frame(scores), reference="ours").rows]
    assert rows == ["zoo", "glass, r=2", "all"]


def test_a_method_without_rivals_has_a_table_all_the_same():
    scores = {("glass", 0.1, 1, method): [0.5, 0.6] for method in ("ours", "low")}
    table = win_table(frame(scores), reference="ours")
    assert table.header == ("data", "all", "low")
    assert table.rows[-1] == ("all", "0/0/0", "0/1/0")


@pytest.mark.parametrize("reference", ["nobody", "low"])
def test_the_reference_must_be_a_method(reference):
    with pytest.raises(DisambigError, match=f"no method to compare with called '{reference}'"):
        win_table(frame(random_scores()), reference=reference)


@pytest.mark.parametrize("render", [to_markdown, to_latex, to_csv])
def test_a_rival_chosen_with_true_labels_is_named_in_every_format(render):
    scores = frame(random_scores())
    scores.loc[scores["method"] == "a", "selection"] = "oracle"
    assert "a (chosen by true labels)" in render(win_table(scores, reference="ours"))


@pytest.mark.parametrize("render", [to_markdown, to_latex])
def test_a_reference_chosen_with_true_labels_is_named(render):
    scores = frame(random_scores())
    scores.loc[scores["method"] == "ours", "selection"] = "oracle"
    table = win_table(scores, reference="ours")
    assert table.title.startswith("ours (chosen by true labels) against")
    assert "with true labels (oracle selection): ours" in render(table)


def test_the_last_row_is_set_apart():
    table = win_table(frame(random_scores()), reference="ours")
    assert table.n_summary_rows == 1
    *_, last = csv.reader(io.StringIO(to_csv(table)))
    assert last[0] == "all"
