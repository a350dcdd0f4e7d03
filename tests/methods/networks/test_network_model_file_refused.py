import pickle

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from disambig import NCPDClassifier
from disambig._core.errors import ModelFileError, ParameterError
from methods.ncpd.examples import (
    X,
    Y,
    description_in,
    load,
    quick,
    rewrite,
)

NO_FIT = "is not a model that disambig can read: what it says does not fit together"


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ModelFileError, match="There is no file '.*gone'. Check the path"):
        load(tmp_path / "gone")


def test_truncated_files_are_refused(path):
    content = path.read_bytes()
    for length in (0, 1, 7, 8, 9, *range(50, len(content), 500), len(content) - 1):
        path.write_bytes(content[:length])
        with pytest.raises(
            ModelFileError, match="is not a model that disambig can read: it is damaged"
        ):
            load(path)


def test_random_bytes_are_refused(path):
    generator = np.random.default_rng(0)
    for length in (1, 8, 100, 10_000):
        path.write_bytes(generator.bytes(length))
        with pytest.raises(
            ModelFileError, match="is not a model that disambig can read: it is damaged"
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
    save_file({"weight": torch.ones(3)}, path, metadata={"disambig": "{'kind': 'model'"})
    with pytest.raises(ModelFileError, match="its header is damaged"):
        load(path)


def test_a_checkpoint_is_no_model(tmp_path):
    quick(checkpoint=tmp_path / "checkpoint").fit(X, Y)
    message = "is not a model that disambig can read: it is a training checkpoint"
    with pytest.raises(ModelFileError, match=message):
        load(tmp_path / "checkpoint")


@pytest.mark.parametrize("version", [0, 1, None, "2"])
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
        lambda confidence: confidence["views.0.scale_"].neg_(),
    ],
    ids=["beyond", "below", "too many", "none", "too few", "negative scale"],
)
def test_confidences_and_scales_that_cannot_be_are_refused(path, change):
    rewrite(path, lambda tensors, _: change(tensors))
    with pytest.raises(ModelFileError, match=NO_FIT):
        load(path)


def test_a_scaler_of_other_features_is_refused(path):
    def shorten(tensors, _):
        for name in ("views.0.center_", "views.0.scale_"):
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
    assert (description["kind"], description["method"]) == ("model", "ncpd")
    assert description["classes"] == {"type": "<i8", "names": [0, 1, 2]}
    assert description["parameters"]["hidden"] == 16
    assert description["parameters"]["random_state"] == 0
    for name in ("callbacks", "checkpoint", "device", "early_stopping", "network", "validation"):
        assert name not in description["parameters"]


@pytest.mark.parametrize("name", ["networks.hidden.0.variance", "confidence.data"])
def test_what_cannot_be_negative_is_refused(path, name):
    rewrite(path, lambda tensors, _: tensors[name].neg_())
    with pytest.raises(ModelFileError, match="negative"):
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
