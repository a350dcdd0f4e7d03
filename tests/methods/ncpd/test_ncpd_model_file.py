import pickle

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import save_file
from sklearn.preprocessing import MinMaxScaler

from disambig import CandidateLabels, FeatureScaler, NCPDClassifier
from disambig._core.errors import ModelFileError, ParameterError
from methods.ncpd.examples import (
    NEW_X,
    EpochCounter,
    X,
    Y,
    assert_same_bits,
    description_in,
    quick,
    rewrite,
)
from methods.ncpd.other_process import exit_code_of, results_of, write_result

NO_FIT = "is no NCPD model that can be read: what it says does not fit together"


@pytest.fixture(scope="module")
def fitted():
    return quick().fit(X, Y)


@pytest.fixture
def path(tmp_path, fitted):
    fitted.save(tmp_path / "model.safetensors")
    return tmp_path / "model.safetensors"


def load(path, **options):
    return NCPDClassifier.load(path, device="cpu", **options)


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
        {"callbacks": [print], "verbose": 1},
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

    def full_disk(tensors, filename, metadata):
        filename.write_bytes(b"half of it")
        raise OSError("No space left on device")

    monkeypatch.setattr("safetensors.torch.save_file", full_disk)
    other = quick(random_state=1).fit(X, Y)
    with pytest.raises(OSError, match="No space left"):
        other.save(path)
    assert path.read_bytes() == content
    assert list(path.parent.iterdir()) == [path]


def test_a_save_replaces_the_old_file(path):
    other = quick(random_state=1).fit(X, Y)
    other.save(path)
    assert_same_bits(load(path), other)


# What is not loaded ------------------------------------------------------------------------------


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ModelFileError, match="There is no file '.*gone'. Check the path"):
        load(tmp_path / "gone")


def test_truncated_files_are_refused(path):
    content = path.read_bytes()
    for length in (0, 1, 7, 8, 9, *range(50, len(content), 500), len(content) - 1):
        path.write_bytes(content[:length])
        with pytest.raises(
            ModelFileError, match="is no NCPD model that can be read: it is damaged"
        ):
            load(path)


def test_random_bytes_are_refused(path):
    generator = np.random.default_rng(0)
    for length in (1, 8, 100, 10_000):
        path.write_bytes(generator.bytes(length))
        with pytest.raises(
            ModelFileError, match="is no NCPD model that can be read: it is damaged"
        ):
            load(path)


def test_a_header_with_wrong_bytes_is_refused_or_read(path):
    content = path.read_bytes()
    generator = np.random.default_rng(0)
    refused = 0
    for place in generator.integers(0, 2000, size=150):
        damaged = bytearray(content)
        damaged[place] ^= 1 << generator.integers(8)
        path.write_bytes(damaged)
        try:
            load(path)  # some bytes are only the digits of a number in the history
        except ModelFileError:
            refused += 1
    assert refused > 50


def test_pickles_are_not_opened(path, fitted):
    class Trap:
        def __reduce__(self):
            return pytest.fail, ("the pickle was opened",)

    path.write_bytes(pickle.dumps(Trap()))
    with pytest.raises(ModelFileError, match="it is damaged or something else"):
        load(path)
    torch.save({"trap": Trap()}, path)
    with pytest.raises(ModelFileError, match="it is damaged or something else"):
        load(path)


@pytest.mark.parametrize("metadata", [None, {"format": "pt"}, {"disambig": "[1, 2]"}])
def test_foreign_tensors_are_refused(path, metadata):
    save_file({"weight": torch.ones(3)}, path, metadata=metadata)
    with pytest.raises(ModelFileError, match="it was not written by disambig"):
        load(path)


def test_a_header_that_is_no_json_is_refused(path):
    save_file({"weight": torch.ones(3)}, path, metadata={"disambig": "{'kind': 'NCPD model'"})
    with pytest.raises(ModelFileError, match="its header is damaged"):
        load(path)


def test_a_checkpoint_is_no_model(tmp_path):
    quick(checkpoint=tmp_path / "checkpoint").fit(X, Y)
    message = "is no NCPD model that can be read: it is a training checkpoint"
    with pytest.raises(ModelFileError, match=message):
        load(tmp_path / "checkpoint")


@pytest.mark.parametrize("version", [0, 2, None, "1"])
def test_another_version_is_refused(path, version):
    rewrite(path, lambda _, description: description.update(version=version))
    with pytest.raises(ModelFileError, match=f"has the version {version}, and this disambig reads"):
        load(path)


@pytest.mark.parametrize(
    ("entry", "value"),
    [
        ("n_features", 5),
        ("n_features", "4"),
        ("n_features", -1),
        ("n_features", 10**30),
        ("classes", {"type": "<i8", "names": [0, 1]}),
        ("classes", {"type": "<i8", "names": [0, 1, 2, 3]}),
        ("classes", {"type": "<i8", "names": ["a", "b", "c"]}),
        ("classes", {"type": "nonsense", "names": [0, 1, 2]}),
        ("classes", {"type": "<i8", "names": [[0, 1], [2, 3], [4, 5]]}),
        ("classes", {"type": "<i8", "names": [0, 0, 0]}),
        ("classes", [0, 1, 2]),
        ("classes", None),
        ("parameters", None),
        ("parameters", [1, 2]),
        ("parameters", {"hidden": 17}),
        ("parameters", {"hidden": 16, "n_networks": 3}),
        ("parameters", {"hidden": 16, "cooperation": False}),
        ("parameters", {"hidden": 10**13}),
        ("parameters", {"hidden": 16, "n_networks": 10**12}),
        ("parameters", {"hidden": [10**6, 10**6]}),
        ("parameters", {"hidden": [16, 16]}),
        ("parameters", {"hidden": 16, "n_networks": 0}),
        ("parameters", {"hidden": 16, "epochs": "many"}),
        ("parameters", {"hidden": 16, "scaling": "quantile"}),
        ("parameters", {"hidden": 16, "n_estimators": 100}),
        ("history", {"loss": 5}),
        ("history", {"loss": ["low"]}),
        ("history", [1, 2]),
        ("history", {"loss": [1.0], "T": [1.0, 1.0]}),
        ("feature_names", ["a"]),
        ("feature_names", 5),
    ],
    ids=str,
)
def test_a_description_that_cannot_be_or_does_not_fit_the_numbers_is_refused(path, entry, value):
    rewrite(path, lambda _, description: description.update({entry: value}))
    with pytest.raises(ModelFileError, match=NO_FIT):
        load(path)


@pytest.mark.parametrize(
    "entry", ["n_features", "classes", "feature_names", "parameters", "history"]
)
def test_a_description_that_lacks_an_entry_is_refused(path, entry):
    rewrite(path, lambda _, description: description.pop(entry))
    with pytest.raises(ModelFileError, match=f"{NO_FIT} .'{entry}'"):
        load(path)


def test_a_file_that_lacks_any_of_its_numbers_is_refused(path):
    content = path.read_bytes()
    names = []
    rewrite(path, lambda tensors, _: names.extend(tensors))
    assert len(names) > 8
    for name in names:
        path.write_bytes(content)
        rewrite(path, lambda tensors, _, name=name: tensors.pop(name))
        with pytest.raises(ModelFileError, match=NO_FIT):
            load(path)


def first_weights(tensors):
    return next(name for name in sorted(tensors) if name.endswith("weight"))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_no_numbers_are_refused(path, value):
    rewrite(path, lambda tensors, _: tensors[first_weights(tensors)].view(-1)[3:4].fill_(value))
    with pytest.raises(ModelFileError, match="it holds numbers that are not finite"):
        load(path)


def test_weights_of_a_type_that_is_never_written_are_refused(path):
    def shrink(tensors, _):
        name = first_weights(tensors)
        tensors[name] = tensors[name].to(torch.float8_e4m3fn)

    rewrite(path, shrink)
    with pytest.raises(ModelFileError, match="numbers of a type that disambig does not write"):
        load(path)


def test_weights_of_another_shape_are_refused(path):
    def halve(tensors, _):
        name = first_weights(tensors)
        tensors[name] = tensors[name][..., :3].contiguous()

    rewrite(path, halve)
    with pytest.raises(ModelFileError, match=NO_FIT):
        load(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda confidence: confidence["confidence.indices"].add_(5),
        lambda confidence: confidence["confidence.indices"].sub_(5),
        lambda confidence: confidence["confidence.indptr"].mul_(2),
        lambda confidence: confidence.update({"confidence.indptr": torch.tensor([], dtype=int)}),
        lambda confidence: confidence.update({"confidence.data": torch.ones(3).double()}),
        lambda confidence: confidence["scaler.scale_"].neg_(),
    ],
    ids=["beyond", "below", "too many", "none", "too few", "negative scale"],
)
def test_confidences_and_scales_that_cannot_be_are_refused(path, change):
    rewrite(path, lambda tensors, _: change(tensors))
    with pytest.raises(ModelFileError, match=NO_FIT):
        load(path)


def test_a_scaler_of_other_features_is_refused(path):
    def shorten(tensors, _):
        for name in ("scaler.center_", "scaler.scale_"):
            tensors[name] = tensors[name][:3].clone()

    rewrite(path, shorten)
    with pytest.raises(ModelFileError, match=NO_FIT):
        load(path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"device": "gpu"}, "'device' must be 'auto' or a device of torch.* Got 'gpu'"),
        ({"network": 3}, "'network' must be a function .* Got 3"),
    ],
)
def test_what_is_wrong_with_the_call_is_not_blamed_on_the_file(path, options, message):
    with pytest.raises(ParameterError, match=message):
        NCPDClassifier.load(path, **options)


def test_a_file_says_in_plain_text_what_it_is(path):
    description = description_in(path)
    assert description["kind"] == "NCPD model"
    assert description["classes"] == {"type": "<i8", "names": [0, 1, 2]}
    assert description["parameters"]["hidden"] == 16
    assert description["parameters"]["random_state"] == 0
    for name in ("callbacks", "checkpoint", "device", "early_stopping", "network", "validation"):
        assert name not in description["parameters"]


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


@pytest.mark.parametrize("name", ["networks.hidden.0.variance", "confidence.data"])
def test_what_cannot_be_negative_is_refused(path, name):
    rewrite(path, lambda tensors, _: tensors[name].neg_())
    with pytest.raises(ModelFileError, match="is negative"):
        load(path)


@pytest.mark.parametrize("kind", ["<M8[ns]", "<c16"])
def test_classes_of_a_strange_type_are_refused(path, kind):
    rewrite(path, lambda _, description: description["classes"].update({"type": kind}))
    with pytest.raises(ModelFileError, match="classes cannot be of the type"):
        load(path)


def test_names_of_classes_take_no_more_memory_than_they_need(path):
    names = {"type": "<U400000000", "names": ["a", "b", "c"]}
    rewrite(path, lambda _, description: description.update({"classes": names}))
    assert load(path).classes_.nbytes < 100
