"""A model for tables in ONNX says what the model says: gaps, ranges, marks, dates, categories."""

import json
from dataclasses import replace

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
from torch import nn

from disambig import CandidateLabels
from disambig._core.errors import ParameterError
from disambig.methods import NCPDClassifier
from disambig.solvers.calibration import Calibration
from disambig.tabular import export_onnx, load_model
from disambig.tabular.columns.plan import plan_columns
from disambig.tabular.columns.values import column_values
from tabular.model_folders import QUICK_NETWORK, small_model
from tabular.small_tables import fit_model

N = 300


def wide_table(seed=0, n_rows=N):
    """Return a column of every kind: tails, spikes, gaps, dates, booleans, many categories."""
    draws = np.random.default_rng(seed)
    rain = draws.exponential(size=n_rows) * (draws.random(n_rows) < 0.7)
    names = [f"place {place}" for place in draws.integers(0, 120, n_rows)]
    colours = draws.choice(["red", "green", "blue", "3"], n_rows).astype(object)
    colours[draws.random(n_rows) < 0.1] = None
    hours = pd.to_timedelta(draws.integers(0, 999, n_rows), "h")
    return pd.DataFrame(
        {
            "size": np.where(draws.random(n_rows) < 0.1, np.nan, draws.normal(size=n_rows)),
            "rain": rain,
            "income": np.exp(3 * draws.normal(size=n_rows)),
            "is tame": draws.random(n_rows) < 0.5,
            "seen": pd.Timestamp("2024-01-01") + hours,
            "colour": colours,
            "place": names,
        }
    )


def fitted(frame, method=QUICK_NETWORK, **more):
    draws = np.random.default_rng(1)
    truth = draws.integers(0, 3, len(frame))
    mask = np.eye(3, dtype=bool)[truth] | (draws.random((len(frame), 3)) < 0.3)
    sets = CandidateLabels.from_mask(mask, classes=["cat", "dog", "fox"])
    plan, *_ = plan_columns(frame)
    model = fit_model(column_values(frame, plan), sets, plan, method)
    return replace(model, **more)


def said(path, model, frame, **more):
    """Return what the file says of the rows of a table, some of whose inputs may be others."""
    values = column_values(frame, model.plan)
    session = onnxruntime.InferenceSession(path)
    inputs = {}
    for one in session.get_inputs():
        cells = values[one.name].fillna("") if "string" in one.type else values[one.name]
        inputs[one.name] = cells.to_numpy()[:, np.newaxis]
    return session.run(None, inputs | more)


@pytest.fixture(scope="module")
def model():
    return fitted(wide_table(), calibration=Calibration(1.7, 0.05))


def test_the_table_has_all_that_features_are_made_of(model):
    state = model.transformer.state
    assert (state.gaps, list(state.spikes)) == (["size"], ["rain"])
    assert "income" in state.tails
    assert state.categories["place"].rare
    assert None in state.categories["colour"].frequent


def test_probabilities_and_labels_are_those_of_the_model(model, tmp_path):
    export_onnx(model, tmp_path / "model.onnx")
    new = wide_table(seed=2, n_rows=80)
    new.loc[:9, ["size", "rain", "income", "colour", "place"]] = None  # gaps where none were
    new.loc[10:14, "size"] = [1e12, -1e12, 1e290, -1e290, 0.0]  # far from all rows of the fit
    new.loc[15:19, "colour"] = "mauve"
    new.loc[20:24, "place"] = "nowhere"
    new.loc[25, "seen"] = pd.Timestamp("1900-01-01")
    labels, probabilities = said(tmp_path / "model.onnx", model, new)
    expected = model.predict_proba(new)
    np.testing.assert_allclose(probabilities, expected, rtol=0, atol=1e-5)
    with pytest.warns(UserWarning, match="did not have; they are ignored: mauve"):
        assert labels.tolist() == model.predict(new)["predicted_label"].tolist()
    assert np.ptp(expected, axis=0).min() > 0.05  # or any constant would do


def test_categories_are_read_as_in_a_table(model, tmp_path):
    export_onnx(model, tmp_path / "model.onnx")
    frame = wide_table(seed=3, n_rows=6)
    written = np.array(["", "NA", "3", "3.0", "red", "RED"], dtype=object)
    _, probabilities = said(tmp_path / "model.onnx", model, frame, colour=written[:, np.newaxis])
    frame["colour"] = written
    np.testing.assert_allclose(probabilities, model.predict_proba(frame), rtol=0, atol=1e-5)


def test_several_networks_without_a_calibration_in_a_table_of_categories(tmp_path):
    frame = wide_table()[["colour", "place"]]
    method = NCPDClassifier(
        hidden=(8, 4), epochs=3, ramp_epochs=1, n_networks=3, random_state=0, scaling="quantile"
    )
    model = fitted(frame, method)
    export_onnx(model, tmp_path / "model.onnx")
    _, probabilities = said(tmp_path / "model.onnx", model, frame)
    np.testing.assert_allclose(probabilities, model.predict_proba(frame), rtol=0, atol=1e-5)


def test_embeddings_are_one_input(tmp_path):
    frame, numbers = wide_table()[["size"]], np.random.default_rng(0).normal(size=(N, 5))
    plan, *_ = plan_columns(frame)
    plan = plan.model_copy(update={"embeddings": 5})
    values = column_values(frame, plan, embeddings=numbers)
    sets = CandidateLabels.from_sets(
        [["cat"] if one > 0 else ["cat", "dog"] for one in numbers[:, 0]]
    )
    model = fit_model(values, sets, plan, QUICK_NETWORK)
    export_onnx(model, tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    _, probabilities = session.run(
        None, {"size": values[["size"]].to_numpy(), "embeddings": numbers}
    )
    expected = model.predict_proba(frame, embeddings=numbers)
    np.testing.assert_allclose(probabilities, expected, rtol=0, atol=1e-5)


def test_a_column_may_have_the_name_of_an_output(tmp_path):
    frame = wide_table()[["size", "rain"]].set_axis(["probabilities", "predicted_label"], axis=1)
    model = fitted(frame)
    export_onnx(model, tmp_path / "model.onnx")
    _, probabilities = said(tmp_path / "model.onnx", model, frame)
    np.testing.assert_allclose(probabilities, model.predict_proba(frame), rtol=0, atol=1e-5)


def test_the_file_says_what_its_classes_and_inputs_are(model, tmp_path):
    export_onnx(model, tmp_path / "model.onnx")
    about = {
        one.key: json.loads(one.value) for one in onnx.load(tmp_path / "model.onnx").metadata_props
    }
    assert about["classes"] == ["cat", "dog", "fox"]
    assert about["inputs"]["colour"] == {"column": "colour", "kind": "category", "takes": "string"}
    assert about["inputs"]["seen (weekday)"]["column"] == "seen"


def test_a_model_that_was_saved_gives_the_same_file(tmp_path):
    small_model("ncpd").save(tmp_path / "model")
    for only_predict in (False, True):
        loaded = load_model(tmp_path / "model", only_predict=only_predict)
        export_onnx(loaded, tmp_path / f"{only_predict}.onnx")
    assert (tmp_path / "True.onnx").read_bytes() == (tmp_path / "False.onnx").read_bytes()


def test_a_method_without_networks_is_refused(tmp_path):
    with pytest.raises(ParameterError, match=r"methods that train networks.* Got plknn: fit with"):
        export_onnx(small_model("plknn"), tmp_path / "model.onnx")
    assert not (tmp_path / "model.onnx").exists()


def test_networks_of_somebodys_own_are_refused(tmp_path):
    own = NCPDClassifier(network=nn.Linear, epochs=1, ramp_epochs=1, random_state=0)
    own.fit(np.eye(3), CandidateLabels.from_sets([["a"], ["b"], ["a", "b"]]))
    with pytest.raises(ParameterError, match=r"Got a 'network' of yours: export the module"):
        export_onnx(own, tmp_path / "model.onnx")


def test_texts_are_refused_with_a_way_out(tmp_path):
    frame = pd.DataFrame(
        {"story": [f"the {n} cats of a long and winding story" for n in range(60)]}
    )
    plan, *_ = plan_columns(frame, text=["story"])
    sets = CandidateLabels.from_sets([["a"], ["a", "b"], ["b"]] * 20)
    model = fit_model(column_values(frame, plan), sets, plan, QUICK_NETWORK)
    with pytest.raises(ParameterError, match=r"'story' holds free text: fit without it \(--ignore"):
        export_onnx(model, tmp_path / "model.onnx")
