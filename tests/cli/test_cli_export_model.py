"""``disambig export MODEL --to onnx``: a model as one file, or a clear refusal."""

import numpy as np
import onnxruntime
import pytest

from tabular.model_folders import TABLE, VALUES, small_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("exported")
    for name in ("ncpd", "plknn"):
        small_model(name).save(folder / name)
    return folder


def test_the_file_says_what_the_model_says(folder, tmp_path, run_main):
    ended = run_main("export", folder / "ncpd", "--to", "onnx", "--out", tmp_path / "pets.onnx")
    assert (ended.code, ended.out) == (0, "")
    assert str(tmp_path / "pets.onnx") in ended.err
    session = onnxruntime.InferenceSession(tmp_path / "pets.onnx")
    inputs = {
        one.name: (
            VALUES[one.name].fillna("") if "string" in one.type else VALUES[one.name]
        ).to_numpy()[:, np.newaxis]
        for one in session.get_inputs()
    }
    labels, probabilities = session.run(None, inputs)
    model = small_model("ncpd")
    np.testing.assert_allclose(probabilities, model.predict_proba(TABLE), rtol=0, atol=1e-5)
    assert labels.tolist() == model.predict(TABLE)["predicted_label"].tolist()


@pytest.mark.parametrize(
    ("source", "options", "error"),
    [
        ("plknn", [], "methods that train networks, such as ncpd, ncpd+ and proden. Got plknn"),
        ("none", [], "There is no model"),
        ("ncpd", ["--rows", "3"], "--to onnx writes a model, and --rows is about the rows"),
        ("ncpd", ["--delimiter", ";"], "--format or the like is about the rows"),
    ],
)
def test_what_cannot_be_exported_is_refused(folder, tmp_path, run_main, source, options, error):
    out = tmp_path / "pets.onnx"
    ended = run_main("export", folder / source, "--to", "onnx", "--out", out, *options)
    assert ended.code == 2
    assert error in ended.err
    assert not out.exists()


def test_a_folder_cannot_be_the_file(folder, tmp_path, run_main):
    ended = run_main("export", folder / "ncpd", "--to", "onnx", "--out", tmp_path)
    assert ended.code == 2
    assert "is a folder: give it a name" in ended.err
