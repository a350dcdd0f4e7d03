"""Parameters declared in the body of a class: the ``__init__`` that they make."""

import inspect
import pickle
from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import clone

from disambig import PRODEN, NCPDClassifier, NCPDPlusClassifier, NetworkClassifier
from methods.deep.plain_loops import DATA

INHERITED = list(inspect.signature(NetworkClassifier).parameters)


class Mine(PRODEN):
    """PRODEN with two more parameters, and fewer epochs."""

    _NOT_LEARNED_FROM: ClassVar[frozenset[str]] = PRODEN._NOT_LEARNED_FROM
    strength: float = 1.0
    epochs: int | None = 3
    kind: str = "soft"


class Shorter(NetworkClassifier):
    """A method that leaves out parameters, and writes its ``__init__`` for that."""

    card = PRODEN.card
    _make_rule = PRODEN._make_rule

    def __init__(self, *, strength=1.0, hidden=16, epochs=5, random_state=0):
        super().__init__(hidden=hidden, epochs=epochs, random_state=random_state)
        self.strength = strength


class ShorterStill(Shorter):
    """Inherits the ``__init__`` that somebody wrote."""


def test_parameters_of_a_class_come_before_those_it_inherits():
    assert list(inspect.signature(Mine).parameters) == ["strength", "kind", *INHERITED]
    of_plus = list(inspect.signature(NCPDPlusClassifier).parameters)
    assert of_plus[:2] == ["select", "second_view"]
    assert of_plus[7:] == list(inspect.signature(NCPDClassifier).parameters)
    assert INHERITED[:2] == ["hidden", "epochs"]


def test_all_are_given_by_keyword():
    kinds = {parameter.kind for parameter in inspect.signature(Mine).parameters.values()}
    assert kinds == {inspect.Parameter.KEYWORD_ONLY}
    with pytest.raises(TypeError, match="positional"):
        Mine(2.0)
    with pytest.raises(TypeError, match=r"__init__\(\) got an unexpected .*'strenght'"):
        Mine(strenght=2.0)


def test_a_class_changes_a_default_for_itself_alone():
    assert (Mine().epochs, Mine().strength, PRODEN().epochs) == (3, 1.0, 200)
    assert NCPDPlusClassifier().epochs is None
    assert not hasattr(PRODEN(), "strength")


def test_scikit_learn_sees_them_all():
    mine = Mine(strength=2.0, hidden=8)
    assert set(mine.get_params()) == {"strength", "kind", *INHERITED}
    assert vars(mine) == mine.get_params()
    assert repr(mine) == "Mine(hidden=8, strength=2.0)"
    again = clone(mine).set_params(kind="hard")
    assert (again.strength, again.hidden, again.kind, mine.kind) == (2.0, 8, "hard", "soft")
    assert vars(pickle.loads(pickle.dumps(mine))) == vars(mine)


def test_what_is_no_parameter_is_left_out():
    taken = set(inspect.signature(NCPDPlusClassifier).parameters)
    assert not {name for name in taken if name.startswith("_") or name.endswith("_")}
    assert NCPDPlusClassifier().misses_ is None
    assert not hasattr(NCPDPlusClassifier(), "selection_")


@pytest.mark.parametrize("cls", [Shorter, ShorterStill])
def test_an_init_that_leaves_out_parameters_stays(cls, tmp_path):
    names = ["strength", "hidden", "epochs", "random_state"]
    assert list(inspect.signature(cls).parameters) == names
    mine = clone(cls(strength=2.0)).fit(DATA.X, DATA.candidates)
    assert (mine.strength, mine.batch_size, mine.device) == (2.0, 128, "auto")
    mine.save(tmp_path / "model")
    again = cls.load(tmp_path / "model", device="cpu")
    assert (again.strength, again.device) == (2.0, "cpu")
    np.testing.assert_array_equal(again.predict_proba(DATA.X), mine.predict_proba(DATA.X))
