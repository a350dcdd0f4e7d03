"""The rows that are most like another one, compared with loops over plain definitions."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from disambig.tabular import clean_table, read_cleaned
from disambig.tabular.reasons.reasons import Reasons
from tabular.reasons.hand_made_tables import table_of
from tabular.small_tables import three_clouds

CAT, DOG, FOX = {"cat": 1.0}, {"dog": 1.0}, {"fox": 1.0}
EITHER = {"cat": 0.6, "dog": 0.4}


def found_in(table, row: int = 0) -> list[tuple[int, str]]:
    names = table.candidates.classes.tolist()
    return [(one.row, names[one.label]) for one in Reasons(table).similar(row)]


def test_of_one_number_the_nearest_three_of_every_candidate_come_the_nearest_first():
    sizes = ["5", "1", "2", "3", "4.5", "5.5", "7", "8", "9"]
    table = table_of([EITHER, *[CAT] * 4, *[DOG] * 4], {"size": sizes})
    places = pd.Series(map(float, sizes)).rank().to_numpy()
    by_distance = sorted(range(1, 9), key=lambda row: (abs(places[row] - places[0]), row))
    expected = [row for row in by_distance if row in (2, 3, 4, 5, 6, 7)]
    assert [row for row, _ in found_in(table)] == expected
    assert dict(found_in(table))[4] == "cat"


def test_the_likeness_of_numbers_is_one_less_the_squared_distance_of_random_rows():
    generator = np.random.default_rng(0)
    sizes = generator.permutation(40)
    table = table_of([EITHER, *[CAT] * 19, *[DOG] * 20], {"size": sizes})
    places = (pd.Series(sizes).rank().to_numpy() - 0.5) / 40
    # Of all pairs, where the code draws some.
    typical = np.mean([(places[a] - places[b]) ** 2 for a, b in combinations(range(1, 40), 2)])
    for one in Reasons(table).similar(0):
        exact = max(0, 1 - (places[0] - places[one.row]) ** 2 / typical)
        assert one.likeness == pytest.approx(exact, abs=0.01)


def test_equal_rows_have_likeness_one_and_rows_far_apart_none():
    sizes = [1, 1, 100, *range(2, 30)]
    table = table_of([EITHER, CAT, DOG, *[FOX] * 28], {"size": sizes})
    one, other = Reasons(table).similar(0)
    assert (one.row, one.likeness) == (1, pytest.approx(1))
    assert (other.row, other.likeness) == (2, 0)


def test_a_row_is_never_like_itself():
    table = table_of(
        [{"cat": 1.0, "dog": 0.0}, CAT, DOG], {"size": [1, 2, 3]}, marked=[False, False, False]
    )
    assert found_in(table, 0) == [(1, "cat"), (2, "dog")]


def test_rows_of_labels_that_are_no_candidates_do_not_come():
    table = table_of([EITHER, CAT, DOG, FOX], {"size": [1, 5, 9, 1]})
    assert 3 not in dict(found_in(table))


def test_with_many_candidates_each_has_its_nearest_before_any_has_a_second():
    labels = [f"l{place}" for place in range(7)]
    many = dict.fromkeys(labels, 1 / 7)
    shares = [many, *[{label: 1.0} for label in labels for _ in range(4)]]
    counter = {"features": {"number": ["size"]}}  # which is otherwise left out
    found = found_in(table_of(shares, {"size": range(len(shares))}, **counter))
    assert len(found) == 9
    counts = pd.Series([label for _, label in found]).value_counts()
    # Equally likely: the first in the alphabet have two.
    assert counts.to_dict() == {**dict.fromkeys(labels, 1), "l0": 2, "l1": 2}


def test_the_label_that_a_set_may_miss_has_similar_rows_too():
    misses = {
        "miss_probability": np.array([0.9, 0, 0, 0]),
        "label_if_missed": np.array([2, 0, 0, 0]),
    }
    table = table_of([EITHER, CAT, DOG, FOX], {"size": [1, 5, 9, 2]}, **misses)
    assert found_in(table)[0] == (3, "fox")


def test_a_column_that_tells_labels_apart_counts_more():
    generator = np.random.default_rng(1)
    n_rows = 200
    kinds = np.arange(n_rows) % 2
    telling = kinds * 9 + generator.normal(size=n_rows)
    noise = generator.normal(size=n_rows)
    shares = [[CAT, DOG][kind] for kind in kinds]
    # A cat by what tells; by what does not, as far as can be from cats and near to dogs.
    telling[0], noise[0], shares[0] = 0, 5, EITHER
    noise[1::2] += 4
    noise[2::4] += 4
    table = table_of(shares, {"telling": telling, "noise": noise})
    found = Reasons(table).similar(0)
    assert [one.label for one in found[:3]] == [0, 0, 0]
    assert found[2].likeness > 0.9
    assert found[3].likeness < 0.75


def test_categories_and_booleans_are_alike_where_they_are_equal():
    values = {
        "colour": ["red", "red", "red", "blue", "blue", "blue", "blue", "red"],
        "wild": ["yes", "no", "yes", "yes", "no", "no", "no", "yes"],
    }
    table = table_of([EITHER, *[CAT] * 3, *[DOG] * 4], values)
    found = {one.row: one.likeness for one in Reasons(table).similar(0)}
    assert set(found) == {1, 2, 3, 4, 5, 7}
    assert found[2] == found[7] == pytest.approx(1)
    assert found[4] == found[5] == 0
    assert max(found[1], found[3]) < 1


def test_texts_are_alike_by_the_words_that_they_share():
    texts = [
        "the striped cat sleeps on the warm stove",
        "one striped cat on a warm stove",
        "the loud dog barks at every bicycle outside",
        "a cat drinks milk in the kitchen today",
        "dogs bark loud outside the kitchen today",
    ]
    table = table_of([EITHER, CAT, DOG, CAT, DOG], {"caption": texts})
    assert found_in(table)[0] == (1, "cat")


@pytest.mark.parametrize("cell", ["", None])
def test_a_gap_is_like_a_gap_and_not_like_a_number_near_the_middle(cell):
    sizes = [cell, "5", cell, "4", "6", "1", "9"]
    shares = [EITHER, CAT, DOG, CAT, CAT, DOG, DOG]
    found = Reasons(table_of(shares, {"size": sizes})).similar(0)
    assert found[0].row == 2
    assert found[0].likeness == pytest.approx(1)
    assert all(one.likeness < 0.6 for one in found[1:])


def test_the_same_table_gives_the_same_answer_and_equal_rows_come_in_order():
    frame = clean_table(three_clouds(60), method="plknn", ignore="truth", n_folds=2)
    rows = read_cleaned(frame)
    doubtful = rows.doubtful_rows(5).tolist()
    one, other = Reasons(rows), Reasons(read_cleaned(frame))
    assert [one.similar(row) for row in doubtful] == [other.similar(row) for row in doubtful]
    table = table_of([EITHER, *[CAT] * 5], {"size": [3, 1, 2, 2, 2, 2]})
    assert [row for row, _ in found_in(table)] == [2, 3, 4]


def test_without_any_sure_row_or_any_column_nothing_is_similar():
    assert found_in(table_of([EITHER, EITHER], {"size": [1, 2]})) == []
    assert found_in(table_of([EITHER, CAT], {"size": [1, 1]})) == []
    assert found_in(table_of([EITHER, CAT], {})) == []
