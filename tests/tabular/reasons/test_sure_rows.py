"""Which rows others are compared with."""

import numpy as np

from disambig.tabular.reasons.sure_rows import sure_rows
from tabular.reasons.hand_made_tables import table_of

CAT, DOG = {"cat": 1.0}, {"dog": 1.0}


def sure_of(shares, **options) -> dict[str, list[int]]:
    table = table_of(shares, {"x": range(len(shares))}, **options)
    found = sure_rows(table)
    names = table.candidates.classes.tolist()
    return {name: found.rows[found.of(place)].tolist() for place, name in enumerate(names)}


def test_rows_of_a_label_stand_together_in_the_order_of_the_table():
    doubtful = {"cat": 0.6, "dog": 0.4}
    assert sure_of([DOG, CAT, doubtful, DOG, CAT]) == {"cat": [1, 4], "dog": [0, 3]}


def test_a_row_whose_true_label_was_chosen_is_sure():
    assert sure_of([{"cat": 1.0, "dog": 0.0}, DOG], marked=[False, False])["cat"] == [0]


def test_only_a_label_with_few_certain_rows_takes_less_certain_ones():
    nearly = {"cat": 0.97, "dog": 0.03}
    unmarked = {"cat": 0.7, "dog": 0.3}
    shares = [nearly, unmarked]
    assert sure_of([CAT] * 29 + shares, marked=[False] * 31)["cat"] == list(range(30))
    assert sure_of([CAT] * 30 + shares, marked=[False] * 32)["cat"] == list(range(30))
    assert sure_of([CAT] * 28 + shares, marked=[False] * 30)["cat"] == list(range(30))


def test_a_marked_row_and_one_that_is_likelier_wrong_than_right_are_not_sure():
    shares = [CAT, {"cat": 0.97, "dog": 0.03}, {"cat": 0.45, "dog": 0.4, "fox": 0.15}, DOG]
    found = sure_of([*shares, {"fox": 1.0}], marked=[False, True, False, False, False])
    assert found["cat"] == [0]


def test_a_single_candidate_that_is_probably_wrong_counts_only_where_others_are_few():
    doubted = np.array([0.9] + [0.0] * 30)
    misses = {
        "miss_probability": doubted,
        "label_if_missed": np.ones(31, dtype=int),
    }
    table = [*([CAT] * 31), DOG]
    misses["miss_probability"] = np.append(doubted, 0.0)
    misses["label_if_missed"] = np.append(misses["label_if_missed"], 0)
    assert sure_of(table, **misses)["cat"] == list(range(1, 31))
    few = {name: values[[0, 1, 31]] for name, values in misses.items()}
    assert sure_of([CAT, CAT, DOG], **few)["cat"] == [0, 1]


def test_a_row_that_a_person_could_not_tell_or_called_bad_is_not_sure():
    decision = np.array(["cannot tell", "bad row", "label", "", ""], dtype=object)
    likely = {"cat": 0.9, "dog": 0.1}
    found = sure_of([likely, CAT, CAT, CAT, DOG], marked=[False] * 5, decision=decision)
    assert found["cat"] == [2, 3]


def test_of_very_many_rows_evenly_spaced_ones_are_kept_and_rare_labels_stay_whole():
    n_rows = 250_000
    table = table_of([DOG] * 3 + [CAT], {"x": range(4)})
    places = np.concatenate([np.arange(3), np.full(n_rows, 3)])
    candidates = table.candidates[places]
    many = type(table)(
        candidates=candidates,
        confidences=np.ones(len(places)),
        chosen=table.chosen[places],
        second_look=np.zeros(len(places), dtype=bool),
        values=table.values.iloc[places],
    )
    found = sure_rows(many)
    assert found.rows[found.of(1)].tolist() == [0, 1, 2]
    cats = found.rows[found.of(0)]
    assert len(cats) <= 100_000
    assert np.unique(np.diff(cats)).tolist() == [3]
