"""``disambig methods``: a line for each, and with an option its paper."""

import json
from collections.abc import Callable

from click.testing import Result

from disambig.methods.registry import all_methods

Invoke = Callable[..., Result]


def lines_of(result: Result) -> list[str]:
    assert result.exit_code == 0
    return result.stdout.splitlines()


def test_every_method_has_one_line_of_80_columns_that_says_when_to_use_it(invoke: Invoke) -> None:
    header, *lines = lines_of(invoke("methods", COLUMNS="80"))
    assert header.split() == ["METHOD", "USE", "IT"]
    assert sorted(line.split()[0] for line in lines) == sorted(all_methods())
    assert max(map(len, lines)) <= 80
    assert not any("…" in line for line in lines)
    (plknn,) = (line for line in lines if line.startswith("plknn "))
    assert plknn.endswith(f"  {all_methods()['plknn'].card.when}")


def test_our_methods_come_first_and_baselines_last_called_what_they_are(invoke: Invoke) -> None:
    _, *lines = lines_of(invoke("methods"))
    assert [line.split()[0] for line in lines[:3]] == ["auto", "ncpd_plus", "ncpd"]
    assert lines[0].endswith("(default)")
    assert [line.split("  ")[-1].strip() for line in lines[-3:]] == [
        "as a baseline: logistic regression on every candidate",
        "as a baseline: logistic regression on true labels",
        "as a baseline: logistic regression on a random candidate",
    ]


def test_with_papers_each_has_its_class_title_and_citation(invoke: Invoke) -> None:
    lines = lines_of(invoke("methods", "--papers"))
    for name, method in all_methods().items():
        first = lines.index(f"{name}: {method.__name__}")
        assert lines[first + 1] == f"  {method.card.title}"
    (plknn,) = (line for line in lines if "Hüllermeier and Beringer" in line)
    assert plknn.endswith("2006")
    assert lines[lines.index("oracle: OracleClassifier") + 2] == (
        "random_candidate: RandomCandidateClassifier"
    )


def test_no_word_of_a_citation_is_cut_in_80_columns(invoke: Invoke) -> None:
    narrow, wide = (invoke("methods", "--papers", COLUMNS=n).stdout for n in ("80", "300"))
    assert narrow.split() == wide.split()
    assert max(map(len, narrow.splitlines())) <= 80


def test_json_has_every_card_and_nothing_else(invoke: Invoke) -> None:
    cards = json.loads(invoke("methods", "--json").stdout)
    assert [card["name"] for card in cards] == list(all_methods())
    assert {card["role"] for card in cards} == {
        "method",
        "candidate_baseline",
        "true_label_baseline",
    }
