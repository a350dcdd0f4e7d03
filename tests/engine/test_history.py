import json

import numpy as np
import pytest

from disambig.engine.history import History


@pytest.fixture
def history():
    history = History()
    for loss, share in ((1.5, 0.1), (np.float32(0.5), np.float64(0.2))):
        history.begin_epoch()
        history.note("loss", loss)
        history.note("T", share)
    return history


def test_measures_are_arrays_by_name(history):
    assert isinstance(history["loss"], np.ndarray)
    assert history["loss"].tolist() == [1.5, 0.5]
    assert history["T"].tolist() == [0.1, 0.2]


def test_a_name_that_is_not_there_is_a_key_error(history):
    with pytest.raises(KeyError, match="accuracy"):
        history["accuracy"]


def test_names_come_in_the_order_they_were_noted_in(history):
    assert list(history) == ["loss", "T"]


def test_it_is_a_mapping_of_names(history):
    assert len(history) == 2
    assert dict(history).keys() == history.keys() == {"loss", "T"}
    history.begin_epoch()
    assert len(history) == 2


def test_it_knows_the_number_of_epochs(history):
    assert history.n_epochs == 2
    assert History().n_epochs == 0


def test_a_measure_can_be_set_again_and_belongs_to_the_last_epoch(history):
    history.note("loss", 0.25)
    assert history["loss"].tolist() == [1.5, 0.25]
    assert history.n_epochs == 2


def test_a_measure_that_was_not_taken_is_not_a_number(history):
    history.begin_epoch()
    history.note("late", 3)
    np.testing.assert_array_equal(history["late"], [np.nan, np.nan, 3])
    np.testing.assert_array_equal(history["loss"], [1.5, 0.5, np.nan])
    assert history.to_frame()["late"].isna().tolist() == [True, True, False]


def test_measures_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="shorter"):
        History({"loss": [1.0, 2.0], "T": [1.0]})


def test_the_text_says_how_long_it_is_and_what_is_in_it(history):
    assert repr(history) == "History(2 epochs, loss, T)"
    assert repr(History()) == "History(0 epochs, nothing measured)"


def test_a_dict_of_it_is_plain_numbers_that_json_takes(history):
    plain = history.to_dict()
    assert json.loads(json.dumps(plain)) == plain == {"loss": [1.5, 0.5], "T": [0.1, 0.2]}


def test_a_dict_of_it_is_a_copy(history):
    history.to_dict()["loss"].append(3)
    assert history.n_epochs == 2


def test_a_history_comes_back_from_its_dict_and_goes_on(history):
    again = History(history.to_dict())
    assert again.to_dict() == history.to_dict()
    again.begin_epoch()
    assert again.n_epochs == 3
    assert history.n_epochs == 2


def test_a_history_can_begin_with_arrays():
    assert History({"loss": np.array([1, 2])}).to_dict() == {"loss": [1.0, 2.0]}


def test_a_frame_has_one_row_an_epoch_counted_from_one(history):
    frame = history.to_frame()
    assert frame.columns.tolist() == ["loss", "T"]
    assert frame.index.tolist() == [1, 2]
    assert frame.index.name == "epoch"
    assert frame["loss"].tolist() == [1.5, 0.5]
    assert frame.loc[2, "T"] == 0.2


def test_no_epoch_is_a_frame_without_rows():
    assert len(History().to_frame()) == 0
