import numpy as np
import pandas as pd
import pytest

from disambig.bench.conclusions import findings as any_findings
from disambig.bench.conclusions import in_brief
from disambig.bench.formats import list_markdown
from disambig.bench.verdict import in_one_sentence

NOISE = np.array([0.0, 0.02, -0.01, 0.01, -0.02])


def findings(scores, reference, metric="accuracy", **more):
    """Return what was found as a page has it: a list in Markdown."""
    return list_markdown(any_findings(scores, reference, metric, **({"test_share": 0.2} | more)))


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
ROLES = {"low": "candidate_baseline", "high": "true_label_baseline"}


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
    assert "No method has any Brier score to show." in text
    assert "ours cannot be tested" in text


def test_it_counts_the_tests():
    text = findings(study(MEANS, roles=ROLES), "ours")
    assert (
        "In 6 paired t-tests, ours is significantly better in 5, worse in 1, neither in 0" in text
    )
    assert "less than one of 6 would come out significant by chance" in text


def test_it_gives_the_gap_to_the_baselines():
    text = findings(study(MEANS, roles=ROLES), "ours")
    # (0.4 + 0.3 + 0.4) / 3 and (0.2 + 0.1 + 0.0) / 3
    assert "on average 0.367 better than low (+0.300 to +0.400 over 3 datasets)." in text
    assert "on average 0.100 worse than high" in text


def test_a_reference_behind_a_baseline_is_not_hidden():
    means = {"zoo": {"ours": 0.2, "a": 0.6, "low": 0.3}}
    text = findings(study(means, roles=ROLES), "ours")
    assert "0.100 worse than low" in text
    assert "; worse on 1: zoo" in text
    assert "- Worse than low: ours on zoo.\n" in text


def test_every_method_behind_a_baseline_is_named_with_the_datasets():
    settings = {
        f"{dataset}, p={p}": {"ours": ours, "a": a, "b": 0.6, "low": 0.5, "high": 0.55}
        for dataset, ours, a in (("zoo", 0.4, 0.7), ("wine", 0.6, 0.3))
        for p in (0.1, 0.2, 0.3)
    }
    settings["wine, p=0.3"]["a"] = 0.6
    text = findings(study(settings, roles=ROLES), "ours")
    assert "- Worse than low: ours on zoo (3 of 3 settings); a on wine (2 of 3).\n" in text
    assert "; worse on 3: zoo 3." in text
    assert "; better on 3: wine 3." in text
    two = findings(study(settings, roles=ROLES | {"b": "candidate_baseline"}), "ours")
    assert "- Worse than b: ours on zoo (3 of 3 settings); a on wine (2 of 3).\n" in two
    assert "- Worse than low: " in two


def test_where_less_is_better_a_larger_number_is_worse_than_the_baseline():
    scores = study({"zoo": {"ours": 0.2, "a": 0.4, "low": 0.3}}, roles=ROLES)
    text = findings(scores.rename(columns={"accuracy": "brier_score"}), "ours", "brier_score")
    assert "- Worse than low: a on zoo.\n" in text


def test_it_says_where_the_reference_is_the_best_or_level_with_the_best():
    # On wine a is ahead by far, on iris by less than the noise; on zoo nobody is.
    means = MEANS | {"iris": {"ours": 0.9, "a": 0.9005, "b": 0.7, "low": 0.5, "high": 0.9}}
    text = findings(study(means, roles=ROLES), "ours")
    assert (
        "- ours is the best, or not significantly behind the best, on 2 of 3 datasets "
        "(paired t-test); not on wine (a).\n"
    ) in text
    text = findings(study(means, roles=ROLES), "b")
    assert "b is the best, or not significantly behind the best, on 0 of 3 datasets" in text


def test_where_the_best_cannot_be_tested_it_says_so():
    missing = {("wine", "ours", fold) for fold in range(1, 5)}
    text = findings(study(MEANS, roles=ROLES, missing=missing), "ours")
    assert (
        "behind the best, on 2 of 3 datasets (paired t-test); it cannot be tested on wine" in text
    )


def test_who_is_not_best_may_be_behind_another_than_the_best():
    # a is ahead by far but with noise, b by a little and always: only the best mean counts.
    noise = {"ours": 0.0, "a": np.array([0.5, -0.4, 0.5, -0.4, 0.05]), "b": 0.01}
    scores = study({"zoo": {"ours": 0.5, "a": 0.5, "b": 0.5}})
    scores["accuracy"] = 0.5
    for method, shift in noise.items():
        scores.loc[scores["method"] == method, "accuracy"] += shift
    text = findings(scores, "ours")
    assert "ours is the best, or not significantly behind the best, on 1 of 1 dataset " in text
    assert "ours is significantly behind b on 1 of 1 dataset" in text


def test_average_ranks_of_all_methods_are_given_in_their_order():
    text = findings(study(MEANS, roles=ROLES), "b")
    # By hand: a is second, first, second; ours first, second, first.
    assert "- Average ranks, 1 is best: ours 1.33, a 1.67, b 3.00. By the critical " in text
    assert "b is better than no other and worse than no other." in text


def test_a_reference_chosen_with_true_labels_is_named_in_every_sentence_on_it():
    text = findings(study(MEANS, roles=ROLES, selections={"ours": "oracle"}), "ours")
    lines = [line for line in text.splitlines() if "ours" in line and "Parameters" not in line]
    assert len(lines) > 5
    assert all("ours (chosen by true labels)" in line for line in lines)


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
    assert "Parameters chosen with true labels (oracle selection): a." in text
    assert "behind a (chosen by true labels) on" in text


def test_settings_of_one_dataset_are_called_settings():
    means = {f"zoo, p={p}": MEANS["zoo"] for p in (0.1, 0.2)}
    text = findings(study(means, roles=ROLES), "ours")
    assert "out of 2 settings" in text
    assert "2 settings of only 1 dataset as if they were independent" in text
    two = {data: {"ours": 0.7, "a": 0.6} for data in means}
    assert "independent" not in findings(study(two), "ours")  # nothing was computed over data


def test_the_share_that_was_tested_on_has_to_be_given():
    with pytest.raises(TypeError, match="test_share"):
        any_findings(study(MEANS, roles=ROLES), "ours")


def test_a_method_without_rivals_is_reported_without_tests():
    text = findings(study({"zoo": {"ours": 0.5, "low": 0.2}}, roles=ROLES), "ours")
    assert "ours cannot be tested" in text


def test_where_nothing_can_be_tested_nothing_is_said_of_being_behind():
    alone = study({"zoo": {"ours": 0.7, "low": 0.3}}, roles=ROLES)
    assert "ours cannot be tested against another method: there is none." in findings(alone, "ours")
    assert "behind" not in findings(alone, "ours")


def test_few_runs_are_said_to_say_little():
    scores = study(MEANS, roles=ROLES)
    few = scores[scores["fold"] < 4]
    assert "Tests over 4 runs, as here, can say little." in findings(few, "ours")
    assert "can say little" not in findings(scores, "ours")


def test_a_fold_that_failed_for_all_methods_is_missed():
    scores = study(MEANS, roles=ROLES)
    scores.loc[scores["fold"] == 1, "accuracy"] = np.nan
    assert "15 of 75 runs are missing" in findings(scores, "ours")


def test_a_reference_that_equals_a_baseline_is_as_good():
    scores = study({"zoo": {"ours": 0.7, "a": 0.6, "high": 0.7}}, roles=ROLES)
    scores["accuracy"] = scores["accuracy"].round(1)
    assert "ours is on average as good as high." in findings(scores, "ours")


# In brief


def test_three_sentences_say_who_is_ahead_what_tests_say_and_the_scale():
    assert in_brief(study(MEANS, roles=ROLES), "ours", test_share=0.2) == (
        "Mean accuracy over 3 datasets, the best first: ours 0.767, a 0.733, b 0.567.",
        "ours is significantly better than a, b on most datasets (better in 5 of 6 corrected "
        "t-tests, worse in 1; less than one would come out so by chance).",
        "For scale, low has 0.400, high has 0.867.",
    )


def test_less_is_said_where_there_is_less_to_compare():
    alone = study({"zoo": {"ours": 0.7}})
    assert in_brief(alone, "ours", test_share=0.2) == (
        "Mean accuracy, the best first: ours 0.700.",
    )


def test_a_method_without_a_score_everywhere_has_no_mean():
    missing = [("wine", "a", fold) for fold in range(5)]
    first, *_ = in_brief(study(MEANS, roles=ROLES, missing=missing), "ours", test_share=0.2)
    assert first == "Mean accuracy over 3 datasets, the best first: ours 0.767, b 0.567."


def test_rivals_with_the_same_verdict_are_named_together_and_few_runs_are_said():
    means = {"zoo": {"ours": 0.5, "a": 0.6, "b": 0.4, "c": 0.4}}
    _, verdict, *_ = in_brief(study(means), "ours", test_share=0.2)
    assert verdict.startswith(
        "ours is significantly better than b, c; significantly worse than a ("
    )
    scores = study(means)
    _, few, *_ = in_brief(scores[scores["fold"] < 4], "ours", test_share=0.2)
    assert few.endswith("Tests over 4 runs can say little.")


def test_tests_allow_for_training_rows_that_runs_share():
    # b is behind by little: it is significant where runs share few training rows, else it is not.
    scores = study({"zoo": {"ours": 0.5, "a": 0.3, "b": 0.495}})
    _, few_shared, *_ = in_brief(scores, "ours", test_share=0.001)
    assert "better than a, b (better in 2 of 2 corrected t-tests" in few_shared
    _, many_shared, *_ = in_brief(scores, "ours", test_share=0.5)
    assert "better than a; not significantly different from b (better in 1 of 2 c" in many_shared


def test_sentences_spell_out_logistic_regression():
    roles = {"LR on true labels": "true_label_baseline"}
    scores = study({"zoo": {"ours": 0.7, "LR": 0.6, "LR on true labels": 0.8}}, roles=roles)
    text = findings(scores, "ours")
    assert "0.100 worse than logistic regression on true labels." in text
    *_, scale = in_brief(scores, "ours", test_share=0.2)
    assert scale == "For scale, logistic regression on true labels has 0.800."


# In one sentence


def test_one_sentence_counts_the_data_on_which_each_rival_is_better_or_worse():
    means = {data: row | {"same": row["ours"]} for data, row in MEANS.items()}
    assert in_one_sentence(study(means, roles=ROLES), "ours", test_share=0.2) == (
        "ours is level with same; significantly better than a on 2 (worse on 1) and b on 3 of 3 "
        "datasets, by corrected t-tests over 5 runs."
    )
    assert in_one_sentence(study(MEANS, roles=ROLES), "b", test_share=0.2) == (
        "b is significantly worse than ours on 3 and a on 3 of 3 datasets, by corrected t-tests "
        "over 5 runs."
    )


def test_on_one_dataset_the_sentence_has_means_in_place_of_counts():
    scores = study({"zoo": {"ours": 0.5, "a": 0.6, "b": 0.4, "c": 0.5}})
    assert in_one_sentence(scores, "ours", test_share=0.2) == (
        "ours (0.500) is level with c (0.500); significantly better than b (0.400); significantly "
        "worse than a (0.600), by corrected t-tests over 5 runs."
    )


def test_as_many_differences_as_chance_would_find_are_none():
    # Of 40 datasets two may differ by chance; a third is one too many.
    means = {f"data {i}": {"ours": 0.7, "a": 0.6 if i < 2 else 0.7} for i in range(40)}
    assert "is level with a, by" in in_one_sentence(study(means), "ours", test_share=0.2)
    means["data 2"]["a"] = 0.6
    assert "better than a on 3 of 40" in in_one_sentence(study(means), "ours", test_share=0.2)


def test_wins_and_losses_that_cancel_out_are_said_and_nothing_without_a_rival():
    means = {"zoo": {"ours": 0.7, "a": 0.6}, "wine": {"ours": 0.6, "a": 0.7}}
    assert "level with a (better on 1, worse on 1), by" in in_one_sentence(
        study(means), "ours", test_share=0.2
    )
    assert in_one_sentence(study({"zoo": {"ours": 0.7}}), "ours", test_share=0.2) == ""


def test_it_says_how_scores_change_with_the_share_of_sets_that_miss():
    rates = {"zoo": 0.0, "zoo, miss=0.1": 0.1, "wine": 0.0, "wine, miss=0.1": 0.1, "iris": 0.0}
    scores = study({data: {"ours": 0.8 - rate, "a": 0.6} for data, rate in rates.items()})
    without = findings(scores, "ours")
    found = findings(scores.assign(miss=scores["data"].map(rates)), "ours")
    sentence = (
        "Mean accuracy on zoo; wine if a share of the training sets misses the truth, "
        "miss = 0, 0.1: ours 0.800, 0.700; a 0.600, 0.600."
    )
    assert sentence in found
    assert "misses the truth" not in without
