import numpy as np
import pandas as pd
import pytest

from disambig import LabelColumns, audit_table, weigh_annotators
from disambig.tabular import read_answers
from disambig.tabular.audit.annotators_judged import JudgedAnnotators

NAMES = np.array(["cat", "cow", "dog"])


@pytest.fixture
def wide():
    """Return answers in columns: two good, one who guesses, one who knows a single label."""
    random = np.random.default_rng(0)
    truth = random.integers(0, 3, 200)

    def said(skill):
        wrong = (truth + random.integers(1, 3, 200)) % 3
        return NAMES[np.where(random.random(200) < skill, truth, wrong)]

    frame = pd.DataFrame({"size": random.normal(size=200) + truth, "ann": said(0.95)})
    return frame.assign(bob=said(0.85), cem=said(0.8), eve=said(1 / 3), fay="cow")


def test_columns_and_a_long_table_say_the_same_of_annotators(wide):
    people = ["ann", "bob", "cem", "eve", "fay"]
    columns = LabelColumns(columns=tuple(people), votes=True)
    by_columns = audit_table(wide, labels=columns)
    frame = wide[["size"]].assign(photo=range(200))
    long = wide.assign(photo=range(200)).melt("photo", people, "who", "said")
    answers = read_answers(long, item="photo", annotator="who", label="said", order=frame["photo"])[
        1
    ]
    by_lines = audit_table(frame, labels=answers, id="photo")
    assert by_lines.annotators.to_json() == by_columns.annotators.to_json()
    assert by_lines.sets.size_histogram == by_columns.sets.size_histogram
    assert audit_table(wide, labels="ann", ignore=people[1:]).annotators is None


def test_who_guesses_who_knows_one_label_and_who_disagrees_is_found(wide):
    audit = audit_table(wide, labels=LabelColumns(columns=tuple(wide.columns[1:]), votes=True))
    found = {finding.kind: str(finding) for finding in audit.annotators.findings()}
    assert found["annotators_at_random"].startswith("'eve' and 'fay' answer nearly at random")
    assert "'fay' gave 200 answers and never used 'cat' and 'dog'" in found["label_never_used"]
    assert {finding.kind for finding in audit.findings} >= set(found)
    lines = audit.annotators.lines()
    assert [line.split()[0] for line in lines[1:4]] == ["ann", "bob", "cem"]
    assert "Annotators, judged by each other" in str(audit)
    pairs = audit.to_json()["annotators"]["least_agreement"]
    first = pairs[0]
    both = wide[first["annotators"]]
    assert first["agree"] == pytest.approx((both.iloc[:, 0] == both.iloc[:, 1]).mean())
    assert first["items"] == 200


def test_a_share_is_not_given_where_nobody_can_tell_it():
    items = list(range(60))
    alone = JudgedAnnotators.of(
        weigh_annotators(items, ["ann"] * 60, [NAMES[item % 3] for item in items])
    )
    assert alone.lines()[1].split()[:3] == ["ann", "60", "?"]
    assert alone.findings() == []


def test_a_long_list_of_annotators_is_cut():
    people = [f"a{number:02}" for number in range(25)]
    items = [item for item in range(12) for _ in people]
    model = weigh_annotators(items, people * 12, [str(NAMES[item % 3]) for item in items])
    lines = JudgedAnnotators.of(model).lines()
    assert len(lines) == 22
    assert lines[-1] == "and 5 more"
