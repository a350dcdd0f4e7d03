"""What an epoch saw, and what is kept of it."""

import json

import numpy as np
import pytest
import torch

from disambig.engine.batches import Batches
from disambig.engine.fast.step import Clock
from disambig.engine.history import EpochRecords, History
from disambig.engine.row_tables import RowMemory

# ---- history


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


# ---- epoch records


CPU = torch.device("cpu")
N_NETWORKS = 3
NAMES = ["simple", "agreement", "loss", "covering_rate", "changed"]


@pytest.fixture
def batches():
    # Two steps of 5 rows at most; the second problem's batches are filled up.
    return Batches([10, 7], [1, 2], 5, CPU)


@pytest.fixture
def records(batches):
    return EpochRecords(batches, RowMemory(CPU))


def seen_in_a_step(shape, generator):
    """What a step may see, at random; rows that only fill up see nonsense."""
    problems, n_rows = shape
    of_networks = (problems, N_NETWORKS, n_rows)
    predicted = generator.integers(2, size=of_networks)
    return {
        "log_likelihood": torch.as_tensor(-generator.exponential(size=of_networks)),
        "simple": torch.as_tensor(generator.random(of_networks) < 0.3),
        "covered": torch.as_tensor(generator.random(of_networks) < 0.7),
        "predicted": torch.as_tensor(predicted),
        "chosen": torch.as_tensor(generator.integers(2, size=shape)),
    }


def put(records, clock, seen):
    """Note down what a step has seen, and one of these as a measure of the rule."""
    seen = dict(seen)
    records.put(clock, {"simple": seen.pop("simple")}, **seen)


def run_epoch(records, batches, epoch, generator):
    """Return the measures of an epoch, and what each row of each problem saw."""
    rows, clock = batches.rows_of(epoch), Clock()
    by_row = [{}, {}]
    for step in range(batches.n_steps):
        seen = seen_in_a_step(batches.real.shape[1:], generator)
        for problem in range(2):
            for place in torch.nonzero(batches.real[step, problem]).flatten().tolist():
                row = int(rows[step, problem, place])
                by_row[problem][row] = {
                    name: values[problem, ..., place].tolist() for name, values in seen.items()
                }
        seen["log_likelihood"].masked_fill_(~batches.real[step].unsqueeze(1), torch.nan)
        put(records, clock, seen)
        clock.advance()
    return records.measures(rows), by_row


def expected_measures(by_row, before):
    """The same row by row."""
    rows = []
    for row, seen in by_row.items():
        rows.append(
            {
                "simple": np.mean(seen["simple"]),
                "agreement": len(set(seen["predicted"])) == 1,
                "loss": -np.mean(seen["log_likelihood"]),
                "covering_rate": np.mean(seen["covered"]),
                "changed": row not in before or before[row]["chosen"] != seen["chosen"],
            }
        )
    return {name: np.mean([row[name] for row in rows]) for name in NAMES}


def test_measures_are_means_over_the_real_rows_of_every_problem(records, batches):
    generator = np.random.default_rng(0)
    before = [{}, {}]
    for epoch in range(1, 5):
        found, by_row = run_epoch(records, batches, epoch, generator)
        assert [len(rows) for rows in by_row] == [10, 7]
        for problem in range(2):
            expected = expected_measures(by_row[problem], before[problem])
            assert found.keys() == expected.keys()
            for name, value in expected.items():
                assert found[name].shape == (2,)
                assert found[name][problem] == pytest.approx(value, rel=1e-12), name
        before = by_row


def test_everything_has_changed_after_the_first_epoch(records, batches):
    found, _ = run_epoch(records, batches, 1, np.random.default_rng(0))
    assert found["changed"].tolist() == [1, 1]


def test_choices_are_compared_row_by_row_whatever_the_order(records, batches):
    # Every row chooses by its number: nothing changes however rows are dealt.
    for epoch in range(1, 4):
        rows, clock = batches.rows_of(epoch), Clock()
        for step in range(batches.n_steps):
            seen = seen_in_a_step(batches.real.shape[1:], np.random.default_rng(0))
            put(records, clock, {**seen, "chosen": rows[step] % 3})
            clock.advance()
        changed = records.measures(rows)["changed"].tolist()
        assert changed == ([1, 1] if epoch == 1 else [0, 0])


def test_a_clock_on_a_device_notes_down_the_same(batches):
    measures = []
    for clock in (Clock(), Clock(CPU)):
        records = EpochRecords(batches, RowMemory(CPU))
        generator = np.random.default_rng(0)
        for _ in range(batches.n_steps):
            put(records, clock, seen_in_a_step(batches.real.shape[1:], generator))
            clock.advance()
        measures.append(records.measures(batches.rows_of(1)))
    for name in NAMES:
        assert measures[0][name].tolist() == measures[1][name].tolist()
