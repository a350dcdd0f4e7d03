import warnings

import pytest

from disambig._core.errors import ModelFileError
from disambig.methods import NCPDClassifier
from disambig.tabular.model.model_folder import load_model, save_model
from tabular.model.model_folders import (
    TABLE,
    attributes_of,
    describe,
    description_in,
    fitted,
    members_of,
    nodes_in,
    sign,
    value_node,
    write_members,
)
from tabular.model.saved_models import MODELS, REFUSED


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ModelFileError, match="There is no model '.*gone'. Check the path"):
        load_model(tmp_path / "gone")
    (tmp_path / "file").write_text("")
    with pytest.raises(ModelFileError, match="There is no model '.*file'. Check the path"):
        load_model(tmp_path / "file")


def test_another_folder_is_no_model(tmp_path):
    with pytest.raises(ModelFileError, match=f"{REFUSED}it has no file model.json"):
        load_model(tmp_path)


@pytest.mark.parametrize(
    "content", ["", "{", "[" * 100_000, "\ufffe", '{"kind": NaN'], ids=range(5)
)
def test_a_description_that_is_no_json_is_refused(folder, content):
    (folder / "model.json").write_text(content, encoding="utf-16")
    with pytest.raises(ModelFileError, match=f"{REFUSED}its model.json is damaged"):
        load_model(folder)


@pytest.mark.parametrize("kind", ["NCPD model", None, 5])
def test_a_description_of_something_else_is_refused(folder, kind):
    describe(folder, kind=kind)
    with pytest.raises(
        ModelFileError, match=f"{REFUSED}its model.json was not written by disambig"
    ):
        load_model(folder)


@pytest.mark.parametrize("version", [0, 2, None, "1"])
def test_another_version_is_refused(folder, version):
    describe(folder, version=version)
    message = f"it has the version {version!r}, and this disambig reads 1"
    with pytest.raises(ModelFileError, match=message):
        load_model(folder)


@pytest.mark.parametrize(
    ("entry", "value", "message"),
    [
        ("more", 1, "more: Extra inputs"),
        ("method", 5, "method: "),
        ("classes", "cat", "classes: "),
        ("classes", [["cat"]], "classes.0"),
        ("plan", None, "plan: "),
        ("plan", {"columns": []}, "plan.columns: "),
        ("estimate", {"covering_rate": 3}, "estimate."),
        ("files", [], "files: "),
        ("scikit_learn", "1.9\nrm -rf", "scikit_learn: "),
        ("files", {}, "it must be made of features.skops and method.skops"),
        ("files", {"features.skops": "", "../method.skops": ""}, "it must be made of"),
        ("files", {"features.skops": "", "method.skops": ""}, "is damaged"),
        ("method", "ncpd", "it must be made of features.skops and method.safetensors"),
        ("method", "sure", "it holds a .*PLKNN, and no SURE|cannot be read"),
        ("method", "xgboost", "this disambig has no method 'xgboost'"),
        ("method", "os:system", "this disambig has no method 'os:system'"),
        ("method", "bench.own_methods:Diligent", "this disambig has no method"),
        ("method", "", "this disambig has no method ''"),
        ("classes", ["cat", "dog"], "the labels of its method are not those that it names"),
        ("classes", ["cat", "fox", "dog"], "the labels of its method are not those"),
        ("classes", ["cat", "dog", "dog"], "the labels of its method are not those"),
    ],
    ids=str,
)
def test_a_description_that_does_not_fit_is_refused(folder, entry, value, message):
    describe(folder, **{entry: value})
    with pytest.raises(ModelFileError, match=message):
        load_model(folder)


def test_a_plan_of_other_columns_is_refused(folder):
    columns = description_in(folder)["plan"]["columns"]
    describe(folder, plan={"columns": columns[:-1]})
    with pytest.raises(ModelFileError, match="columns of its features are not those of its plan"):
        load_model(folder)
    describe(folder, plan={"columns": columns[::-1]})
    with pytest.raises(ModelFileError, match="columns of its features are not those of its plan"):
        load_model(folder)


def change_attributes(folder, file, **attributes):
    """Change attributes of the object in a file, and let model.json agree."""
    schema, members = members_of(folder / file)
    for name, value in attributes.items():
        assert name in attributes_of(schema)
        attributes_of(schema)[name] = value_node(value, 10**9 + len(name))
    write_members(folder / file, schema, members)
    kept = {node["file"] for node in nodes_in(schema) if "file" in node}
    write_members(folder / file, schema, {n: c for n, c in members.items() if n in kept})
    sign(folder)


@pytest.mark.parametrize(
    ("file", "name", "value", "message"),
    [
        ("method.skops", "n_neighbors", "many", "'n_neighbors' must be"),
        ("method.skops", "n_neighbors", -5, "'n_neighbors' must be"),
        ("method.skops", "n_features_in_", 99, "its method needs 99 features, and gets"),
        ("method.skops", "classes_", 5, REFUSED),
        ("method.skops", "_votes", 5, REFUSED),
        ("method.skops", "_rows", 5, "cannot be read"),
        ("method.skops", "_scaler", None, REFUSED),
        ("method.skops", "candidate_confidence_", None, "no confidences of its labels"),
        ("features.skops", "n_jobs", 10**6, "its features are made with n_jobs = 1000000"),
        ("features.skops", "verbose", True, "its features are made with verbose = True"),
        ("features.skops", "transformers_", None, REFUSED),
        ("features.skops", "transformers", "x", None),
        ("features.skops", "feature_names_in_", 5, REFUSED),
        ("features.skops", "sparse_output_", True, REFUSED),
    ],
    ids=str,
)
def test_parts_that_cannot_predict_are_refused(folder, file, name, value, message):
    change_attributes(folder, file, **{name: value})
    if message is None:  # what a prediction does not need
        assert load_model(folder).predict_proba(TABLE).shape == (len(TABLE), 3)
    else:
        with pytest.raises(ModelFileError, match=message):
            load_model(folder)


def test_claims_of_a_billion_labels_are_refused_before_memory_is_taken(tmp_path):
    save_model(MODELS["m3pl"], tmp_path / "model")
    schema, members = members_of(tmp_path / "model" / "method.skops")
    attributes_of(attributes_of(schema)["_machine"])["n_classes"] = value_node(10**12)
    write_members(tmp_path / "model" / "method.skops", schema, members)
    sign(tmp_path / "model")
    with pytest.raises(ModelFileError, match="a part of its method is for 1000000000000 labels"):
        load_model(tmp_path / "model")


def test_another_version_of_scikit_learn_is_said_once(folder):
    describe(folder, scikit_learn="0.1.5")
    with pytest.warns(UserWarning, match="made with scikit-learn 0.1.5, and this is") as caught:
        load_model(folder)
    assert len(caught) == 1


def test_the_parts_say_nothing_of_their_versions(folder):
    schema, members = members_of(folder / "features.skops")
    for node in nodes_in(schema):
        if node["__loader__"] == "ObjectNode" and "_sklearn_version" in attributes_of(node):
            attributes_of(node)["_sklearn_version"] = value_node("0.1")
    write_members(folder / "features.skops", schema, members)
    sign(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_model(folder)


def test_networks_that_need_code_are_refused(tmp_path):
    import torch

    save_model(MODELS["ncpd"], tmp_path / "model")
    own = fitted(NCPDClassifier(epochs=2, ramp_epochs=1, network=torch.nn.Linear, device="cpu"))
    own.method.save(tmp_path / "model" / "method.safetensors")
    sign(tmp_path / "model")
    with pytest.raises(ModelFileError, match=f"{REFUSED}.* holds networks of your own making"):
        load_model(tmp_path / "model")
