import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from disambig import PLKNN
from disambig._core.errors import ModelFileError, ParameterError
from disambig.methods import AverageClassifier
from disambig.methods.scaling import FeatureScaler
from disambig.tabular.model.skops_file import one_line, read_skops, write_skops
from tabular.model.model_folders import CANDIDATES, members_of, nodes_in, write_members
from tabular.model.saved_models import MODELS, read_features

MODEL = MODELS["plknn"]


def test_an_object_comes_back_as_it_was(features, method):
    found = read_features(features)
    assert type(found) is ColumnTransformer
    assert repr(found) == repr(MODEL.transformer)
    kept = read_skops(method, PLKNN, finite=True)
    np.testing.assert_array_equal(kept._rows, MODEL.method._rows)
    assert kept.classes_.tolist() == MODEL.method.classes_.tolist()


def test_no_index_of_rows_is_in_a_file(method):
    schema, _ = members_of(method)
    names = {f"{found['__module__']}.{found['__class__']}" for found in nodes_in(schema)}
    assert not any("neighbors" in name or "metrics" in name for name in names)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ModelFileError, match="There is no file '.*gone'"):
        read_features(tmp_path / "gone")


@pytest.mark.parametrize(
    "schema", ["", "[]", "{}", "null", "{", '{"protocol": 2}', "[" * 100_000, '"' + "x" * 1000],
    ids=range(8),
)  # fmt: skip
def test_a_schema_that_is_none_is_refused(features, schema):
    write_members(features, schema, {})
    with pytest.raises(ModelFileError, match="cannot be read"):
        read_features(features)


@pytest.mark.parametrize("protocol", [0, 1, True, "2", None, -1, 99])
def test_another_protocol_is_refused(features, protocol):
    schema, members = members_of(features)
    write_members(features, {**schema, "protocol": protocol}, members)
    with pytest.raises(ModelFileError, match="protocol"):
        read_features(features)


def test_an_object_of_another_type_is_refused(features, method):
    with pytest.raises(ModelFileError, match="it holds a .*PLKNN, and no ColumnTransformer"):
        read_features(method)
    with pytest.raises(ModelFileError, match="it holds a .*ColumnTransformer, and no PLKNN"):
        read_skops(features, PLKNN)


@pytest.mark.parametrize(
    ("method", "what"),
    [
        (PLKNN(scaling=StandardScaler()), "StandardScaler"),
        (AverageClassifier(estimator=RandomForestClassifier(n_estimators=2)), "Forest"),
        (PLKNN(scaling=FunctionTransformer(np.sqrt)), "FunctionTransformer"),
    ],
    ids=["scaling", "forest", "function"],
)
def test_parts_that_could_not_be_read_again_are_not_written(tmp_path, method, what):
    method.fit(np.abs(MODEL.method._rows), CANDIDATES)
    with pytest.raises(ParameterError, match=f"can be saved if its parts .* it names .*{what}"):
        write_skops(method, tmp_path / "file")
    assert list(tmp_path.iterdir()) == []


def test_parts_that_skops_does_not_take_are_not_written(tmp_path):
    scaler = FeatureScaler()
    scaler.kind = iter([])
    with pytest.raises(ParameterError, match="FeatureScaler can be saved if its parts"):
        write_skops(scaler, tmp_path / "file")


def test_what_an_exception_says_is_cut_to_a_line():
    assert one_line(ValueError("first\nsecond")) == "first"
    assert one_line(MemoryError()) == "MemoryError"
    assert one_line(ValueError("x" * 1000)) == "x" * 200 + "..."
