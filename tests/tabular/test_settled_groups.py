"""What decisions on rows of a group say of its other rows, against counting all assignments."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from disambig import CandidateLabels, clean_table, read_table
from disambig.tabular import clean_details, read_cleaned
from disambig.tabular.clean_details import read_details
from disambig.tabular.cleaned_table import CleanedTable
from disambig.tabular.judged_rows import confidences_in_sets, judge_rows, told_by_groups
from disambig.tabular.settled_groups import SettledGroups
from disambig.tabular.task import prepare_task
from tabular.small_tables import neighbours, three_clouds
from web.photo_rows import FREE, counted, given_promise, photo_rows

BEACH, GARDEN = {0, 1, 3}, {2, 4}


def as_names(rows: CleanedTable, found: dict[int, np.ndarray]) -> dict[int, dict[str, float]]:
    """Return confidences by the names of candidates."""
    starts, (_, columns) = rows.candidates.starts, rows.candidates.pairs()
    names = rows.candidates.classes[columns].tolist()
    return {
        row: dict(zip(names[starts[row] :], values.tolist(), strict=False))
        for row, values in found.items()
    }


@pytest.mark.parametrize("strength", [0.9, 0.5])
@pytest.mark.parametrize("kind", ["exclusive", "cover"])
@pytest.mark.parametrize(
    "decisions",
    [
        {1: "Ben"},
        {1: "Ada"},
        {0: "Ada", 3: "Cy"},
        {2: "Emil", 0: "Cy"},
        {1: "Dora"},  # which is not in the caption of this photo
    ],
)
def test_others_of_the_group_get_the_marginals_given_what_is_settled(kind, strength, decisions):
    rows = photo_rows(kind=kind, strength=strength)
    found = as_names(rows, SettledGroups(rows)(decisions))
    expected = counted(decisions, kind=kind, strength=strength)
    touched = set().union(*(group for group in (BEACH, GARDEN) if group & set(decisions)))
    assert set(found) == touched - set(decisions)
    for row, shares in found.items():
        assert shares == pytest.approx(expected[row], abs=1e-5)


def test_settling_one_of_two_faces_settles_the_other():
    rows = photo_rows(strength=1)
    (found,) = as_names(rows, SettledGroups(rows)({2: "Emil"})).values()
    assert found == pytest.approx({"Dora": 1, "Emil": 0}, abs=1e-5)


def test_where_decisions_break_the_promise_the_other_rows_speak_for_themselves():
    rows = photo_rows()
    found = as_names(rows, SettledGroups(rows)({0: "Ben", 1: "Ben"}))
    assert found == {3: pytest.approx(FREE[3], abs=1e-5)}


def test_a_label_that_nobody_knows_takes_its_row_out_of_the_group():
    rows = photo_rows()
    found = as_names(rows, SettledGroups(rows)({1: "a passer-by"}))
    as_outside = as_names(rows, SettledGroups(rows)({1: "Dora"}))
    assert found == {row: pytest.approx(shares) for row, shares in as_outside.items()}


def test_it_depends_on_the_decisions_that_stand_and_on_nothing_before():
    rows = photo_rows()
    used = SettledGroups(rows)
    for decisions in ({1: "Ben"}, {1: "Cy", 0: "Ada"}, {}, {2: "Dora"}, {0: "Ada", 1: "Cy"}):
        found = used(decisions)
        fresh = SettledGroups(rows)(dict(reversed(decisions.items())))
        assert set(found) == set(fresh)
        for row, values in found.items():
            np.testing.assert_array_equal(values, fresh[row])
    assert used({}) == {}


def test_nothing_follows_where_nothing_is_promised_or_rows_by_themselves_are_not_known():
    assert SettledGroups(photo_rows(kind=None))({1: "Ben"}) == {}
    half = {row: share for row, share in enumerate(FREE) if row != 0}
    settled = SettledGroups(photo_rows(free_confidences=half))
    assert set(settled({1: "Ben", 2: "Dora"})) == {4}
    assert SettledGroups(photo_rows())({5: "Ben"}) == {}  # it is alone


def test_what_may_be_outside_the_set_stays_as_probable_as_it_was():
    rows = photo_rows()
    # Of the last face of the beach a fifth is said to be outside, and Emil is listed for it.
    sets = [set(share) for share in FREE]
    sets[3].add("Emil")
    candidates = CandidateLabels.from_sets(sets).with_rows_of(rows.candidates)
    pairs = zip(*candidates.pairs(), strict=True)
    names, shares = candidates.classes.tolist(), counted({})
    confidences = np.array([shares[row].get(names[column], 0.0) for row, column in pairs])
    of_face = slice(candidates.starts[3], candidates.starts[3] + 4)
    confidences[of_face] = confidences[of_face] * 0.8 + np.array([0, 0, 0, 0.15])
    rows = replace(rows, candidates=candidates, confidences=confidences)
    found = as_names(rows, SettledGroups(rows)({1: "Cy"}))[3]
    assert found.pop("Emil") == 0.15
    expected = counted({1: "Cy"})[3]
    assert found == {name: pytest.approx(0.8 * expected[name], abs=1e-5) for name in found}


# A table that was cleaned ------------------------------------------------------------------------


@pytest.fixture
def trios(tmp_path):
    """Return a table in which three rows come together, cleaned: its rows, and the table."""
    frame = three_clouds(90)
    frame["trio"] = [str(row // 3) for row in range(90)]
    frame["label"] = [
        "|".join(sorted({*labels.split("|"), "cat", "dog"})) for labels in frame["label"]
    ]
    frame["checked"] = frame["truth"].where(frame.index < 6, "")
    options = {"truth": "checked", "ignore": ["truth"], "group": "trio", "promise": "exclusive"}
    out = tmp_path / "clean.csv"
    clean_table(frame, method=neighbours(), n_folds=3, out=out, **options)
    return read_cleaned(read_table(out), read_details(f"{out}.details.json")), frame, options


def test_rows_by_themselves_are_kept_so_that_the_table_follows_from_them(trios):
    rows, _, _ = trios
    groups, doubtful = rows.candidates.groups, rows.second_look
    with_doubt = np.isin(groups, groups[doubtful])
    assert set(rows.free_confidences) == set(np.flatnonzero(with_doubt))
    assert with_doubt.any()
    starts, sizes = rows.candidates.starts, rows.candidates.sizes
    names = rows.candidates.classes[rows.candidates.pairs()[1]].tolist()
    changes = []
    for group in np.unique(groups[doubtful]):
        members = np.flatnonzero(groups == group).tolist()
        free = [rows.free_confidences[row] for row in members]
        for row, share in zip(members, given_promise(free, "exclusive", 0.9), strict=True):
            pairs = slice(starts[row], starts[row] + sizes[row])
            # A row whose true label is known has that alone, beside its other candidates.
            expected = np.array([share.get(name, 0.0) for name in names[pairs]])
            in_table = rows.confidences[pairs]
            np.testing.assert_allclose(in_table, expected * in_table.sum(), atol=1e-5)
            changes.append(max(share.values()) - max(rows.free_confidences[row].values()))
    assert np.abs(changes).max() > 0.05


def test_a_group_too_large_to_be_kept_leaves_room_for_others(monkeypatch):
    monkeypatch.setattr(clean_details, "_MOST_ROWS_BY_THEMSELVES", 4)
    sets = CandidateLabels.from_sets([{"cat", "dog"}] * 9).with_groups([0] * 5 + [1, 1, 2, 2])
    # The large group has the most doubtful row.
    confidence = np.array([0.5, 0.9, 0.9, 0.9, 0.9, 0.6, 0.7, 0.8, 0.9])
    cleaning = SimpleNamespace(
        columns=pd.DataFrame({"confidence": confidence, "second_look": confidence < 0.85}),
        free=(sets, sets.prior()),
    )
    kept = clean_details._free_confidences(cleaning)
    assert kept == dict.fromkeys([6, 7, 8, 9], "cat:0.5|dog:0.5")


def test_cleaning_again_with_the_same_models_would_find_the_same(trios):
    rows, frame, options = trios
    row = int(rows.doubtful_rows(1)[0])
    label = rows.candidates.classes[rows.candidates.pairs()[1][rows.candidates.starts[row]]]
    found = SettledGroups(rows)({row: label})
    assert len(found) == 2
    # Probabilities of models that are always the same: what the table says of rows by themselves.
    task = prepare_task(frame, decisions={row: label}, **options)
    names = task.candidates.classes.tolist()
    probabilities = np.full((len(frame), len(names)), 1e-3)
    for number, shares in rows.free_confidences.items():
        for name, share in shares.items():
            probabilities[number, names.index(name)] = max(share, 1e-3)
    judged = judge_rows(task, probabilities)
    by_themselves = confidences_in_sets(task, probabilities, judged, "none")
    again = told_by_groups(task, by_themselves, judged, truth=task.truth).toarray()
    for number, values in found.items():
        start, size = rows.candidates.starts[number], rows.candidates.sizes[number]
        columns = [
            names.index(name)
            for name in rows.candidates.classes[rows.candidates.pairs()[1][start : start + size]]
        ]
        expected = again[number, columns] / again[number, columns].sum()
        np.testing.assert_allclose(values / values.sum(), expected, atol=0.01)
