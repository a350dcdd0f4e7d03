"""Labels that can hardly be learned."""

import numpy as np
import pandas as pd

from disambig import CandidateLabels, audit_candidates
from disambig.tabular.audit.findings import LabelledRows
from disambig.tabular.audit.label_findings import (
    look_alike,
    never_alone,
    never_without,
    rare_labels,
    told_by_a_line,
    told_by_neighbours,
)


def labelled(sets, features=None):
    candidates = CandidateLabels.from_sets(sets)
    return LabelledRows(
        candidates, audit_candidates(candidates), np.arange(len(candidates)), features
    )


def test_labels_of_fewer_rows_than_folds_are_named_with_their_rows():
    sets = [["bee"], ["cow"]] * 20 + [["owl"], ["bee", "ant"], ["ant"]]
    (finding,) = rare_labels(labelled(sets))
    assert "2 labels are possible in fewer than 5 rows: 'owl' (1 row), 'ant' (2 rows)." in str(
        finding
    )
    assert finding.rows == (41, 42, 43)
    assert finding.labels == (("owl",), ("ant",))


def test_rows_that_may_have_any_label_do_not_hide_one_that_is_written_once():
    everything = ["bee", "cow", "owl"]
    (finding,) = rare_labels(labelled([["bee"], ["cow"]] * 20 + [everything] * 30 + [["owl"]]))
    assert "fewer than 5 rows, not counting 30 rows that may have any label: 'owl' (1 row)" in str(
        finding
    )
    assert finding.rows == (71,)
    (finding,) = rare_labels(labelled([["bee"], ["cow"]] * 20 + [everything] * 30))
    assert "'owl' (0 rows)" in str(finding)
    assert finding.rows == ()
    assert list(rare_labels(labelled([["bee"], ["cow"]] * 5 + [everything] * 30))) == []


def test_labels_of_five_rows_and_tables_of_a_few_rows_are_fine():
    assert list(rare_labels(labelled([["bee"], ["cow"]] * 20 + [["owl"]] * 5))) == []
    assert list(rare_labels(labelled([["bee"], ["cow"], ["owl"]]))) == []


def test_labels_that_are_never_the_only_one_are_named():
    sets = [["bee"], ["cow"]] * 10 + [["owl", "bee"], ["owl", "cow"]] * 3
    (finding,) = never_alone(labelled(sets))
    assert "1 label is never the only one of a row: 'owl' (6 rows)." in finding.message
    assert finding.rows == (21, 22, 23, 24, 25, 26)


def test_where_no_row_has_one_label_none_is_named():
    assert list(never_alone(labelled([["owl", "bee"], ["owl", "cow"], ["bee", "cow"]] * 10))) == []


def test_a_label_that_never_occurs_without_another_is_named():
    sets = [["bee"], ["cow"]] * 20 + [["owl", "bee"]] * 20
    (finding,) = never_without(labelled(sets))
    assert "'owl' without 'bee'" in finding.message
    assert finding.count == 20
    assert finding.labels == (("owl", "bee"),)


def test_a_label_that_is_never_without_another_is_not_said_to_be_never_alone_too():
    sets = labelled([["bee"], ["cow"]] * 20 + [["owl", "bee"]] * 20)
    assert len(list(never_without(sets))) == 1
    assert list(never_alone(sets)) == []


def test_what_a_few_rows_do_by_chance_is_not_named():
    assert list(never_without(labelled([["bee"], ["cow"]] * 20 + [["owl", "bee"]] * 2))) == []
    # Where 'bee' is in nearly every row, it is with everything.
    sets = [["bee", "cow"]] * 40 + [["cow"]] + [["owl", "bee"]] * 20
    assert list(never_without(labelled(sets))) == []


def sets_of_pairs():
    return [["bee"]] * 60 + [["cow"]] * 60 + [["bee", "cow"]] * 40 + [["owl"]] * 20


def pairs_found(columns):
    features = pd.DataFrame(columns)
    return list(look_alike(labelled(sets_of_pairs(), features), features.to_numpy(np.float32)))


def test_labels_with_the_same_features_look_alike():
    found = 0
    for seed in range(5):
        findings = pairs_found(np.random.default_rng(seed).normal(size=(180, 3)))
        found += bool(findings) and findings[0].labels == (("bee", "cow"),)
    assert found >= 3


def test_columns_that_were_not_compared_may_tell_labels_apart():
    random = np.random.default_rng(2)
    alike = pd.DataFrame(random.normal(size=(180, 3)))
    texts = [f"{'buzz' if row < 60 else 'moo'} {row}" for row in range(180)]
    sets = sets_of_pairs()
    for features in (alike.assign(text=texts), pd.concat([alike] * 30, axis=1)):
        where = alike.to_numpy(np.float32)
        assert list(look_alike(labelled(sets, alike), where)) != []
        assert list(look_alike(labelled(sets, features), where)) == []


def test_labels_that_one_of_the_rules_tells_apart_do_not():
    generator = np.random.default_rng(0)
    columns = generator.normal(size=(180, 3))
    columns[:60, 0] += 2  # by a line
    assert pairs_found(columns) == []
    columns = generator.normal(size=(180, 2))
    columns[:60] *= 0.1  # one within the other: no line, but neighbours
    where = columns[:120].astype(np.float32)
    assert told_by_a_line(where).mean() < 0.7 < told_by_neighbours(where).mean()
    assert pairs_found(columns) == []


def test_pairs_of_which_few_rows_are_sure_are_not_judged():
    features = np.zeros((60, 2), dtype=np.float32)
    sets = [["bee"]] * 10 + [["cow"]] * 10 + [["bee", "cow"]] * 40
    assert list(look_alike(labelled(sets, pd.DataFrame(features)), features)) == []
