import numpy as np
import pytest

from disambig._core.errors import CandidateError
from disambig.candidates import PredictionSets

NAMES = np.array(["lion", "lynx", "wolf"])
TAXONOMY = {"animal": ["cat", "dog"], "cat": ["lion", "lynx"], "dog": ["wolf"]}


def sets_of(*rows):
    return PredictionSets(np.array([[name in row for name in NAMES] for row in rows]), NAMES)


SETS = sets_of(["lion", "lynx"], ["wolf"], [], ["lion", "wolf"])


def test_sets_are_counted_and_written():
    assert len(SETS) == 4
    assert SETS.sizes.tolist() == [2, 1, 0, 2]
    assert SETS.to_sets() == [{"lion", "lynx"}, {"wolf"}, set(), {"lion", "wolf"}]
    assert SETS.to_strings(", ") == ["lion, lynx", "wolf", "", "lion, wolf"]
    np.testing.assert_array_equal(np.asarray(SETS), SETS.mask)
    assert np.asarray(SETS, dtype=int).sum() == 5


def test_the_sentence_says_how_large_they_are():
    assert str(SETS) == "1.2 of 3 labels on average; one label in 25 % of 4 rows, none in 25 %."
    assert str(PredictionSets(SETS.mask[:0], NAMES)) == "No rows."


def test_a_label_is_in_its_set_or_not():
    assert SETS.contains(["lynx", "lion", "wolf", "wolf"]).tolist() == [True, False, False, True]
    # -1 must not be taken for the last class.
    assert SETS.contains(["tiger"] * 4).tolist() == [False] * 4
    with pytest.raises(CandidateError, match="each of the 4 rows. Got 1"):
        SETS.contains(["lion"])


def test_the_answer_may_be_a_node_of_a_taxonomy():
    # "dog" has one leaf, which is deeper than "dog" itself.
    assert SETS.deepest_nodes(TAXONOMY).tolist() == ["cat", "wolf", None, "animal"]


def test_without_a_root_no_node_may_hold_a_set():
    forest = {"cat": ["lion", "lynx"], "dog": ["wolf"]}
    assert SETS.deepest_nodes(forest).tolist() == ["cat", "wolf", None, None]


def test_a_leaf_below_two_nodes_goes_with_the_smaller_one():
    both = TAXONOMY | {"pack": ["lion", "wolf"]}
    assert SETS.deepest_nodes(both).tolist() == ["cat", "wolf", None, "pack"]


def test_leaves_that_are_no_classes_count_below_their_node():
    wide = TAXONOMY | {"cat": ["lion", "lynx", "puma"], "dog": ["wolf", "fox"]}
    assert SETS.deepest_nodes(wide).tolist() == ["cat", "wolf", None, "animal"]


@pytest.mark.parametrize(
    "taxonomy", [{"cat": ["lion", "lynx"]}, TAXONOMY | {"wolf": ["grey wolf"]}]
)
def test_classes_must_be_leaves(taxonomy):
    with pytest.raises(CandidateError, match="must be a leaf .* not so for 'wolf'. Add"):
        SETS.deepest_nodes(taxonomy)
