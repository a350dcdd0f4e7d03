import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from disambig import CandidateLabels
from disambig._core.errors import ModelFileError, ParameterError
from disambig.methods import PLKNN, PLSVM, AverageClassifier, NCPDClassifier
from disambig.workbench.columns.plan import plan_columns
from disambig.workbench.columns.values import column_values
from disambig.workbench.model.model_folder import (
    check_method_can_be_saved,
    check_model_folder_is_free,
    load_model,
    save_model,
)
from disambig.workbench.model.table_model import TableModel, fit_model
from methods.instances import INSTANCES
from study.own_methods import Diligent
from workbench.model_folders import (
    CANDIDATES,
    ESTIMATE,
    PLAN,
    TABLE,
    VALUES,
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

QUICK_NETWORK = NCPDClassifier(hidden=8, epochs=4, ramp_epochs=2, random_state=0, device="cpu")
MODELS = {"plknn": fitted("plknn"), "m3pl": fitted("m3pl"), "ncpd": fitted(QUICK_NETWORK)}
FILES = {
    "plknn": ["features.skops", "method.skops", "model.json"],
    "m3pl": ["features.skops", "method.skops", "model.json"],
    "ncpd": ["features.skops", "method.safetensors", "model.json"],
}
REFUSED = "is no model that can be read: "


@pytest.fixture
def folder(tmp_path):
    save_model(MODELS["plknn"], tmp_path / "model")
    return tmp_path / "model"


def names_in(folder):
    return sorted(entry.name for entry in Path(folder).iterdir())


@pytest.mark.parametrize("name", [name for name in INSTANCES if name != "oracle"])
def test_every_method_predicts_the_same_bits_after_it_was_saved(tmp_path, name):
    model = fitted(name)
    save_model(model, tmp_path / "model")
    found = load_model(tmp_path / "model")
    np.testing.assert_array_equal(found.predict_proba(TABLE), model.predict_proba(TABLE))
    assert type(found.method) is type(model.method)
    assert found.method.disambiguate().tolist() == model.method.disambiguate().tolist()
    assert found.plan == model.plan
    assert found.estimate == ESTIMATE


@pytest.mark.parametrize("name", MODELS)
def test_a_folder_has_three_files_and_says_in_plain_text_what_it_is(tmp_path, name):
    save_model(MODELS[name], tmp_path / "model")
    assert names_in(tmp_path / "model") == FILES[name]
    assert names_in(tmp_path) == ["model"]
    description = description_in(tmp_path / "model")
    assert description["kind"] == "disambig table model"
    assert description["version"] == 1
    assert description["method"] == name
    assert description["classes"] == ["cat", "dog", "fox"]
    assert [column["name"] for column in description["plan"]["columns"]] == list(TABLE.columns)
    assert description["estimate"]["covering_rate"] == 0.9


def test_a_model_without_an_estimate_comes_back_without(tmp_path):
    model = MODELS["plknn"]
    bare = TableModel(model.plan, model.transformer, model.method)
    save_model(bare, tmp_path / "model")
    assert load_model(tmp_path / "model").estimate is None


def test_many_categories_gaps_everywhere_and_odd_names_survive(tmp_path):
    generator = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "Größe in m² 🦊": generator.normal(size=300),
            "kind": [f"k{i % 150}" for i in range(300)],
            "gaps": [None if i % 2 else float(i) for i in range(300)],
        }
    )
    names = np.array(["früh", "spät", "nie|so"])
    labels = [{names[i % 3], names[(i + generator.integers(3)) % 3]} for i in range(300)]
    plan, _ = plan_columns(table)
    candidates = CandidateLabels.from_sets(labels)
    model = fit_model(column_values(table, plan), candidates, plan, PLKNN(n_neighbors=3))
    save_model(model, tmp_path / "model")
    found = load_model(tmp_path / "model")
    new = table.assign(kind="unseen", gaps=None)
    np.testing.assert_array_equal(found.predict_proba(table), model.predict_proba(table))
    np.testing.assert_array_equal(found.predict_proba(new), model.predict_proba(new))
    assert found.classes.tolist() == model.classes.tolist()


@pytest.mark.parametrize("classes", [[3, 1, 2], [0.5, 1.5, 2.5], ["a", "b", "c"]], ids=str)
def test_classes_keep_their_type(tmp_path, classes):
    candidates = CandidateLabels(np.asarray(CANDIDATES), classes=classes)
    for method in (PLKNN(), QUICK_NETWORK):
        model = fit_model(VALUES, candidates, PLAN, method)
        save_model(model, tmp_path / "model")
        assert load_model(tmp_path / "model").classes.tolist() == model.classes.tolist()


def test_classes_that_json_cannot_write_are_refused(tmp_path):
    days = pd.date_range("2024-01-01", periods=3).date
    candidates = CandidateLabels(np.asarray(CANDIDATES), classes=np.array(days, dtype=object))
    model = fit_model(VALUES, candidates, PLAN, PLKNN())
    with pytest.raises(ParameterError, match="if its labels are texts, numbers or booleans"):
        save_model(model, tmp_path / "model")


def test_a_model_that_is_there_is_replaced(folder):
    save_model(MODELS["ncpd"], folder)
    assert names_in(folder) == FILES["ncpd"]
    assert load_model(folder).method.card.name == "ncpd"


@pytest.mark.parametrize(
    "content", [None, "", "[]", "{}", '{"kind": "a forest"}', "[" * 100_000], ids=range(6)
)
def test_a_folder_of_somebody_else_is_not_replaced(tmp_path, content):
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / ("model.json" if content is not None else "thesis.tex")).write_text(content or "mine")
    with pytest.raises(ParameterError, match="already something else at '.*taken'"):
        check_model_folder_is_free(taken)
    with pytest.raises(ParameterError, match="already something else at '.*taken'"):
        save_model(MODELS["plknn"], taken)
    assert len(names_in(taken)) == 1


@pytest.mark.parametrize("name", ["notes.txt", "method.safetensors"])
def test_a_model_with_something_else_in_its_folder_is_not_replaced(folder, name):
    if name == "notes.txt":
        (folder / name).write_text("mine")
    else:
        (folder / name).mkdir()
    with pytest.raises(ParameterError, match="already something else"):
        check_model_folder_is_free(folder)


def test_a_model_that_cannot_be_saved_leaves_the_old_one(folder):
    model = fitted(AverageClassifier())
    model.method._model.solver = iter([])
    with pytest.raises(ParameterError, match="AverageClassifier can be saved if its parts"):
        save_model(model, folder)
    assert names_in(folder.parent) == ["model"]
    assert load_model(folder).method.card.name == "plknn"


def spoil_features(method):
    method.coef_ = method.coef_[:, 1:]


def spoil_shape(method):
    method.coef_ = method.coef_[1:]


def spoil_labels(method):
    method.classes_ = np.array(["cat", "dog", "cat"])


def spoil_votes(method):
    method._votes = method._votes.copy()
    method._votes.data[::2] *= -1


@pytest.mark.parametrize(
    ("name", "spoil", "message"),
    [
        ("plsvm", spoil_features, "matmul"),
        ("plsvm", spoil_shape, "its method does not give one probability"),
        ("plsvm", spoil_labels, "its labels are not distinct"),
        ("plknn", spoil_votes, "its probabilities are none"),
    ],
)
def test_a_model_that_cannot_predict_is_not_saved(tmp_path, name, spoil, message):
    model = fitted(name)
    spoil(model.method)
    with pytest.raises(
        ParameterError, match=f"must be able to predict. This one is not: {message}"
    ):
        save_model(model, tmp_path / "model")
    assert names_in(tmp_path) == []


class NotOurs(PLKNN):
    """A method that inherits the card of another."""


@pytest.mark.parametrize("method", [NotOurs(), Diligent()], ids=["heir", "stranger"])
def test_methods_from_elsewhere_cannot_be_saved(tmp_path, method):
    message = "if its method is one of disambig's own. Got .*:.*, which is code"
    with pytest.raises(ParameterError, match=message):
        check_method_can_be_saved(method)
    with pytest.raises(ParameterError, match=message):
        save_model(fitted(method), tmp_path / "model")


def test_networks_of_ones_own_cannot_be_saved():
    with pytest.raises(ParameterError, match="Got networks made by 'network', which is code"):
        check_method_can_be_saved(NCPDClassifier(network=lambda _, __: None))


@pytest.mark.parametrize("method", INSTANCES.values(), ids=INSTANCES)
def test_a_method_can_be_asked_for_before_it_is_fitted(method):
    check_method_can_be_saved(method)


def test_generators_callbacks_and_checkpoints_are_not_stored(tmp_path):
    generator = np.random.default_rng(0)
    model = fitted(PLSVM(max_iter=20, random_state=generator))
    model.method.set_params(random_state=generator)
    save_model(model, tmp_path / "model")
    found = load_model(tmp_path / "model")
    assert found.method.random_state is None
    assert model.method.random_state is generator
    np.testing.assert_array_equal(found.predict_proba(TABLE), model.predict_proba(TABLE))

    network = fitted(
        NCPDClassifier(
            hidden=8, epochs=2, ramp_epochs=1, device="cpu",
            random_state=np.random.default_rng(0),
            callbacks=[object()],
            checkpoint=tmp_path / "secret",
        )
    )  # fmt: skip
    save_model(network, tmp_path / "network")
    assert not any(b"secret" in path.read_bytes() for path in (tmp_path / "network").iterdir())
    found = load_model(tmp_path / "network").method
    assert found.callbacks is found.checkpoint is found.random_state is None


def test_a_seed_is_stored(tmp_path):
    model = fitted(PLSVM(max_iter=20, random_state=7))
    save_model(model, tmp_path / "model")
    assert load_model(tmp_path / "model").method.random_state == 7


def test_a_model_is_read_in_another_process(folder):
    TABLE.to_pickle(folder.parent / "table")
    code = (
        "import sys, pandas as pd\n"
        "from disambig.workbench.model.model_folder import load_model\n"
        "table = pd.read_pickle(sys.argv[2])\n"
        "print(load_model(sys.argv[1]).predict_proba(table).tobytes().hex())\n"
    )
    command = [sys.executable, "-c", code, str(folder), str(folder.parent / "table")]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    assert printed == MODELS["plknn"].predict_proba(TABLE).tobytes().hex()


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ModelFileError, match="There is no model '.*gone'. Check the path"):
        load_model(tmp_path / "gone")
    (tmp_path / "file").write_text("")
    with pytest.raises(ModelFileError, match="There is no model '.*file'. Check the path"):
        load_model(tmp_path / "file")


def test_another_folder_is_no_model(tmp_path):
    with pytest.raises(ModelFileError, match=f"{REFUSED}it has no file model.json"):
        load_model(tmp_path)


@pytest.mark.parametrize("name", ["features.skops", "method.skops"])
def test_a_file_that_is_missing_or_changed_is_named(folder, name):
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[:-1])
    with pytest.raises(ModelFileError, match=f"{REFUSED}its {name} is damaged, or belongs to"):
        load_model(folder)
    (folder / name).unlink()
    with pytest.raises(ModelFileError, match=f"{REFUSED}it has no file {name}"):
        load_model(folder)


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
        ("method", "study.own_methods:Diligent", "this disambig has no method"),
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


def test_files_of_two_models_do_not_mix(folder, tmp_path):
    other = fit_model(VALUES[["size"]], CANDIDATES, plan_columns(TABLE[["size"]])[0], PLKNN())
    save_model(other, tmp_path / "other")
    for name in ("features.skops", "method.skops"):
        mixed = shutil.copytree(folder, tmp_path / f"mixed {name}")
        shutil.copy(tmp_path / "other" / name, mixed / name)
        with pytest.raises(ModelFileError, match=f"its {name} is damaged, or belongs to another"):
            load_model(mixed)
        sign(mixed)
        with pytest.raises(ModelFileError, match=REFUSED):
            load_model(mixed)


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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda low: np.stack([low, low]), "do not have one range each"),
        (lambda low: low[:1], "do not have one range each"),
        (lambda low: low + 1e9, "the range of one of its features is none"),
        (lambda low: low * np.nan, "the range of one of its features is none"),
    ],
    ids=["rows", "one", "backwards", "gaps"],
)
def test_a_range_that_no_rows_can_have_is_refused(tmp_path, change, message):
    model = fitted("plknn")
    seen = model.transformer.named_transformers_["numbers"].named_steps["keep"]
    seen.low_ = change(seen.low_)
    with pytest.raises(ParameterError, match=message):
        save_model(model, tmp_path / "other")


def test_claims_of_a_billion_labels_are_refused_before_memory_is_taken(tmp_path):
    save_model(MODELS["m3pl"], tmp_path / "model")
    schema, members = members_of(tmp_path / "model" / "method.skops")
    attributes_of(attributes_of(schema)["_machine"])["n_classes"] = value_node(10**12)
    write_members(tmp_path / "model" / "method.skops", schema, members)
    sign(tmp_path / "model")
    with pytest.raises(ModelFileError, match="a part of its method is for 1000000000000 labels"):
        load_model(tmp_path / "model")


def test_a_sparse_part_for_other_labels_is_refused(folder, tmp_path):
    model = fitted("plknn")
    model.method._votes.resize((len(TABLE), 10**6))
    with pytest.raises(ParameterError, match="a part of its method is for 1000000 labels"):
        save_model(model, tmp_path / "other")


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


def test_damaged_networks_are_refused(tmp_path):
    save_model(MODELS["ncpd"], tmp_path / "model")
    (tmp_path / "model" / "method.safetensors").write_bytes(b"x" * 100)
    sign(tmp_path / "model")
    with pytest.raises(ModelFileError, match="is no NCPD model that can be read"):
        load_model(tmp_path / "model")


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    place = tmp_path_factory.mktemp("saved")
    for name, model in MODELS.items():
        save_model(model, place / name)
    return place


def works_or_is_refused(folder):
    try:
        found = load_model(folder)
    except ModelFileError:
        return
    probabilities = found.predict_proba(TABLE)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-4)


QUICK = settings(
    max_examples=35, deadline=None, derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip


@st.composite
def damages(draw):
    """Draw a model, one of its files, and what becomes of the file's bytes."""
    name = draw(st.sampled_from(sorted(MODELS)))
    file = draw(st.sampled_from(FILES[name]))
    kind = draw(st.sampled_from(["cut", "flip", "replace", "insert"]))
    return name, file, kind, draw(st.floats(0, 1, exclude_max=True)), draw(st.binary(max_size=8))


def damaged(content, kind, place, bytes_):
    start = int(place * len(content))
    if kind == "cut":
        return content[:start]
    if kind == "flip":
        return (
            content[:start]
            + bytes([content[start] ^ (1 << len(bytes_) % 8)])
            + content[start + 1 :]
        )
    skipped = len(bytes_) if kind == "replace" else 0
    return content[:start] + bytes_ + content[start + skipped :]


@pytest.mark.parametrize("signed", [False, True], ids=["as it is", "signed"])
@QUICK
@given(damage=damages())
def test_damaged_bytes_give_a_model_that_works_or_a_refusal(saved, tmp_path, signed, damage):
    name, file, *how = damage
    folder = tmp_path / "model"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(saved / name, folder)
    (folder / file).write_bytes(damaged((folder / file).read_bytes(), *how))
    if signed and file != "model.json":
        sign(folder)
    works_or_is_refused(folder)


@QUICK
@given(data=st.data(), name=st.sampled_from(["plknn", "m3pl"]))
def test_a_schema_with_other_nodes_gives_a_model_that_works_or_a_refusal(
    saved, tmp_path, data, name
):
    folder = tmp_path / "model"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(saved / name, folder)
    file = data.draw(st.sampled_from(["features.skops", "method.skops"]))
    schema, members = members_of(folder / file)
    nodes = list(nodes_in(schema))
    one, other = (nodes[data.draw(st.integers(0, len(nodes) - 1))] for _ in range(2))
    match data.draw(st.sampled_from(["copy", "value", "drop", "content"])):
        case "copy":
            kept = dict(other)
            one.clear()
            one.update(kept)
        case "value":
            number = one["__id__"]
            one.clear()
            one.update(
                value_node(data.draw(st.sampled_from([None, -1, 0, 10**9, "x", 0.5])), number)
            )
        case "drop":
            one.pop(data.draw(st.sampled_from(sorted(one))))
        case "content":
            one["content"] = other.get("content")
    try:
        write_members(folder / file, schema, members)
    except (RecursionError, ValueError):  # a node inside itself cannot be written at all
        return
    sign(folder)
    works_or_is_refused(folder)
