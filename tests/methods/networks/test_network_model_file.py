import pickle
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.preprocessing import MinMaxScaler

from disambig import CandidateLabels, FeatureScaler
from disambig._core.errors import ParameterError
from methods.ncpd.examples import (
    NEW_X,
    EpochCounter,
    X,
    Y,
    assert_same_bits,
    load,
    quick,
    rewrite,
)
from methods.ncpd.other_process import exit_code_of, results_of, write_result

# There and back ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"hidden": (16, 8)},
        {"hidden": [12]},
        {"hidden": ()},
        {"n_networks": 3},
        {"cooperation": False},
        {"batch_norm": False},
        {"activation": "gelu", "dropout": 0.1},
        {"validation": 0.2},
        {"random_state": None},
        {"callbacks": [SimpleNamespace(on_fit_end=str)], "verbose": 1},
        *({"scaling": kind} for kind in ("half", "standard", "global", "quantile", "none")),
        {"scaling": FeatureScaler(kind="quantile")},
    ],
    ids=str,
)
def test_a_saved_model_comes_back_bit_by_bit(tmp_path, parameters):
    fitted = quick(**parameters).fit(X, Y)
    fitted.save(tmp_path / "model")
    assert_same_bits(load(tmp_path / "model"), fitted)


def test_a_model_that_was_stopped_early_comes_back(tmp_path):
    fitted = quick(validation=0.2, early_stopping=2).fit(X, Y)
    fitted.save(tmp_path / "model")
    assert_same_bits(load(tmp_path / "model"), fitted)


@pytest.mark.parametrize(
    "parameters",
    [
        {"epochs": np.int64(3)},
        {"dropout": np.float32(0.5)},
        {"batch_norm": np.bool_(True)},
        {"hidden": range(8, 10)},
        {"hidden": np.array([8, 9])},
        {"hidden": (np.int64(8), 8)},
    ],
    ids=str,
)
def test_parameters_may_be_numpys_numbers(tmp_path, parameters):
    fitted = quick(**parameters).fit(X, Y)
    fitted.save(tmp_path / "model")
    assert_same_bits(load(tmp_path / "model"), fitted)


@pytest.mark.parametrize(
    "names",
    [
        ["wolf", "cat", "Zürich, 東京"],
        [3, 1, -(2**60)],
        [0.1, 1e-300, -2.5],
        np.array([1.5, 2.5, 0.1], dtype=np.float32),
        np.array([3, 2, 1], dtype=np.uint8),
    ],
    ids=["texts", "integers", "floats", "single precision", "small integers"],
)
def test_classes_keep_their_names_and_type(tmp_path, names):
    fitted = quick().fit(X, CandidateLabels.from_mask(Y.to_mask(), names))
    fitted.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.classes_.dtype == fitted.classes_.dtype
    assert loaded.classes_.tolist() == fitted.classes_.tolist()
    assert loaded.predict(X).tolist() == fitted.predict(X).tolist()
    assert loaded.disambiguate().tolist() == fitted.disambiguate().tolist()


def test_booleans_keep_their_type(tmp_path):
    fitted = quick().fit(X, X[:, 0] > 0)
    fitted.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.classes_.dtype == bool
    assert loaded.classes_.tolist() == [False, True]


def test_classes_of_different_types_keep_them(tmp_path):
    names = ["wolf", 7, 2.5]
    fitted = quick().fit(X, CandidateLabels.from_mask(Y.to_mask(), names))
    assert fitted.classes_.dtype == object
    fitted.save(tmp_path / "model")
    classes = load(tmp_path / "model").classes_
    assert classes.dtype == object
    assert [(type(name), name) for name in classes] == [(str, "wolf"), (int, 7), (float, 2.5)]


def test_the_names_of_features_come_back(tmp_path, fitted):
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    quick().fit(frame, Y).save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    assert loaded.n_features_in_ == 4
    np.testing.assert_array_equal(loaded.predict_proba(frame), fitted.predict_proba(X))
    with pytest.raises(ValueError, match="feature names should match"):
        loaded.predict(frame[["b", "a", "c", "d"]])


def test_without_names_of_features_there_are_none(path):
    assert not hasattr(load(path), "feature_names_in_")


def test_history_comes_back(path, fitted):
    pd.testing.assert_frame_equal(load(path).history_.to_frame(), fitted.history_.to_frame())


def test_parameters_come_back(path, fitted):
    assert load(path).get_params() == fitted.get_params()


def test_how_a_fit_was_run_does_not_come_back(tmp_path):
    how = {
        "validation": (X, Y),
        "early_stopping": 3,
        "checkpoint": tmp_path / "checkpoint",
        "callbacks": [EpochCounter()],
    }
    fitted = quick(**how).fit(X, Y)
    fitted.save(tmp_path / "model")
    expected = {**fitted.get_params(), **dict.fromkeys(how)}
    assert load(tmp_path / "model").get_params() == expected


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (7, 7),
        (np.int64(7), 7),
        (None, None),
        (np.random.default_rng(7), None),
        (np.random.RandomState(7), None),
    ],
    ids=["integer", "integer of NumPy", "none", "generator", "random state"],
)
def test_a_seed_is_kept_and_a_generator_is_not(tmp_path, given, kept):
    quick(random_state=given).fit(X, Y).save(tmp_path / "model")
    assert load(tmp_path / "model").random_state == kept


@pytest.mark.parametrize("hidden", [[16, 8], (16, 8), np.array([16, 8])], ids=repr)
def test_hidden_layers_come_back_as_a_tuple(tmp_path, hidden):
    quick(hidden=hidden).fit(X, Y).save(tmp_path / "model")
    assert load(tmp_path / "model").hidden == (16, 8)


@pytest.mark.parametrize(
    "claim",
    [
        {"checkpoint": "/tmp/elsewhere"},
        {"callbacks": ["print"]},
        {"validation": 0.5, "early_stopping": 2},
        {"network": "os.system"},
        {"device": "cuda:77"},
    ],
    ids=str,
)
def test_a_file_has_no_say_in_how_a_fit_is_run(path, fitted, claim):
    rewrite(path, lambda _, description: description["parameters"].update(claim))
    loaded = load(path)
    assert loaded.get_params() == fitted.get_params()
    assert_same_bits(loaded, fitted)


def test_a_loaded_model_can_be_fitted_again(path, fitted):
    assert_same_bits(load(path).fit(X, Y), fitted)


def test_a_loaded_model_can_be_saved_again(path, tmp_path, fitted):
    load(path).save(tmp_path / "again")
    assert_same_bits(load(tmp_path / "again"), fitted)


def test_a_loaded_model_checks_its_input_like_any_other(path):
    with pytest.raises(ValueError, match="X has 3 features, but NCPDClassifier is expecting 4"):
        load(path).predict(X[:, :3])


def _load_and_write(path, result):
    write_result(load(path), result)


def test_another_process_reads_the_same_bits(path, tmp_path, fitted):
    assert exit_code_of(_load_and_write, path, tmp_path / "result.npz") == 0
    found = results_of(tmp_path / "result.npz")
    np.testing.assert_array_equal(found["probabilities"], fitted.predict_proba_per_network(NEW_X))
    np.testing.assert_array_equal(found["confidences"], fitted.candidate_confidence_.toarray())


def test_nothing_is_pickled_or_unpickled(tmp_path, fitted, monkeypatch):
    def forbidden(*_, **__):
        raise AssertionError("pickle was used")

    for name in ("dump", "dumps", "load", "loads", "Pickler", "Unpickler"):
        monkeypatch.setattr(pickle, name, forbidden)
    for name in ("load", "save"):
        monkeypatch.setattr(torch, name, forbidden)
    fitted.save(tmp_path / "model")
    assert_same_bits(load(tmp_path / "model"), fitted)


def test_a_path_may_be_text_and_its_folder_is_made(tmp_path, fitted):
    path = tmp_path / "not" / "there" / "model.safetensors"
    fitted.save(str(path))
    assert_same_bits(load(str(path)), fitted)
    assert [file.name for file in path.parent.iterdir()] == ["model.safetensors"]


def test_loading_draws_no_random_numbers(path):
    torch.manual_seed(5)
    before = torch.get_rng_state().tolist()
    load(path).predict(X)
    assert torch.get_rng_state().tolist() == before


# What cannot be saved ----------------------------------------------------------------------------


def test_a_scaler_of_the_user_is_refused_with_advice(tmp_path):
    fitted = quick(scaling=MinMaxScaler()).fit(X, Y)
    with pytest.raises(ParameterError, match="Got MinMaxScaler, .* fit with scaling='none'"):
        fitted.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_classes_that_json_cannot_say_are_refused(tmp_path):
    sets = CandidateLabels.from_mask(Y.to_mask(), [("a", 1), ("b", 2), ("c", 3)])
    with pytest.raises(ParameterError, match=r"Got \('a', 1\): rename the classes"):
        quick().fit(X, sets).save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_a_save_that_fails_leaves_the_old_file(path, monkeypatch):
    content = path.read_bytes()

    def full_disk(target, content):
        with target.open("wb") as file:
            file.write(content[: len(content) // 2])
        raise OSError("No space left on device")

    other = quick(random_state=1).fit(X, Y)
    monkeypatch.setattr(type(path), "write_bytes", full_disk)
    with pytest.raises(OSError, match="No space left"):
        other.save(path)
    assert path.read_bytes() == content
    assert list(path.parent.iterdir()) == [path]


def test_a_save_replaces_the_old_file(path):
    other = quick(random_state=1).fit(X, Y)
    other.save(path)
    assert_same_bits(load(path), other)


@pytest.mark.parametrize(
    "changed",
    [{"activation": "tanh"}, {"hidden": 8}, {"n_networks": 3}, {"batch_norm": False}],
    ids=str,
)
def test_what_is_set_after_a_fit_does_not_change_what_is_saved(tmp_path, changed):
    fitted = quick().fit(X, Y)
    expected = fitted.predict_proba(NEW_X)
    fitted.set_params(**changed).save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict_proba(NEW_X), expected)
