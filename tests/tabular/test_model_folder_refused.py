"""Folders that are not models, or models that somebody has changed: refused, and why."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from disambig._core.errors import ModelFileError
from disambig.methods import PLKNN, NCPDClassifier
from disambig.tabular.columns.plan import plan_columns
from disambig.tabular.table_model import load_model
from tabular.model_folders import (
    CANDIDATES,
    FILES,
    REFUSED,
    TABLE,
    VALUES,
    contents_of,
    describe,
    description_in,
    fitted,
    rewrite,
    sign,
    small_model,
)
from tabular.small_tables import fit_model

METHODS = ("plknn", "m3pl", "ncpd")
FEATURES, METHOD = "features.safetensors", "method.safetensors"


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Save the models once; every test has a copy of its own to damage."""
    place = tmp_path_factory.mktemp("saved")
    for name in METHODS:
        small_model(name).save(place / name)
    return place


@pytest.fixture
def folder(tmp_path, saved):
    return Path(shutil.copytree(saved / "plknn", tmp_path / "model"))


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


@pytest.mark.parametrize("version", [0, 3, None, "2"])
def test_another_version_is_refused(folder, version):
    describe(folder, version=version)
    message = f"it has the version {version!r}, and this disambig reads 2"
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
        ("plan", {"columns": []}, "plan: .*nothing is planned"),
        ("estimate", {"covering_rate": 3}, "estimate."),
        ("files", [], "files: "),
        ("scikit_learn", "1.9\nrm -rf", "scikit_learn: "),
        ("files", {}, f"it must be made of {FEATURES} and {METHOD}"),
        ("files", {FEATURES: "", f"../{METHOD}": ""}, "it must be made of"),
        ("files", {FEATURES: "", METHOD: ""}, "is damaged"),
        ("method", "ncpd", "holds a model of the method 'plknn'"),
        ("method", "sure", "holds a model of the method 'plknn'"),
        ("method", "xgboost", "this disambig has no method 'xgboost'"),
        ("method", "os:system", "this disambig has no method 'os:system'"),
        ("method", "bench.study_methods:Diligent", "this disambig has no method"),
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


def test_a_model_of_disambig_0_1_is_refused_with_what_to_do(folder):
    describe(folder, version=1)
    with pytest.raises(ModelFileError, match=r"disambig 0.1 wrote.* Fit it again, or predict with"):
        load_model(folder)


def test_a_plan_of_other_columns_is_refused(folder):
    columns = description_in(folder)["plan"]["columns"]
    for other in (columns[:-1], columns[1:], columns[::-1]):
        describe(folder, plan={"columns": other})
        if other == columns[::-1]:  # the same ranges, but of other columns
            load_model(folder)
            continue
        with pytest.raises(ModelFileError, match=REFUSED):
            load_model(folder)


@pytest.mark.parametrize("name", [FEATURES, METHOD])
def test_a_file_that_is_missing_or_changed_is_named(folder, name):
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[:-1])
    with pytest.raises(ModelFileError, match=f"{REFUSED}its {name} is damaged, or belongs to"):
        load_model(folder)
    (folder / name).unlink()
    with pytest.raises(ModelFileError, match=f"{REFUSED}it has no file {name}"):
        load_model(folder)


def test_files_of_two_models_do_not_mix(folder, tmp_path):
    other = fit_model(VALUES[["size"]], CANDIDATES, plan_columns(TABLE[["size"]])[0], PLKNN())
    other.save(tmp_path / "other")
    for name in (FEATURES, METHOD):
        mixed = shutil.copytree(folder, tmp_path / f"mixed {name}")
        shutil.copy(tmp_path / "other" / name, mixed / name)
        with pytest.raises(ModelFileError, match=f"its {name} is damaged, or belongs to another"):
            load_model(mixed)
        sign(mixed)
        with pytest.raises(ModelFileError, match=REFUSED):
            load_model(mixed)


def test_damaged_networks_are_refused(tmp_path, saved):
    folder = shutil.copytree(saved / "ncpd", tmp_path / "model")
    (folder / METHOD).write_bytes(b"x" * 100)
    sign(folder)
    with pytest.raises(ModelFileError, match=f"{REFUSED}.*it is damaged or something else"):
        load_model(folder)


def test_networks_that_need_code_are_refused(tmp_path, saved):
    folder = shutil.copytree(saved / "ncpd", tmp_path / "model")
    own = fitted(NCPDClassifier(epochs=2, ramp_epochs=1, network=torch.nn.Linear, device="cpu"))
    own.classifier.save(folder / METHOD)
    sign(folder)
    with pytest.raises(ModelFileError, match=f"{REFUSED}.* holds networks made by your own code"):
        load_model(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scaling": "quantile"}, "scaling"),
        ({"gaps": ["weight", "weight"]}, "not numbers of the plan"),
        ({"gaps": 5}, "gaps"),
        ({"gaps": []}, "needs .* features, and gets"),
        ({"categories": {}}, "are not those of its plan"),
        ({"categories": {"color": {"frequent": ["red"], "rare": []}}}, "are not those|features"),
        ({"categories": {"color": {"frequent": [1], "rare": []}}}, "categories"),
        ({"more": 1}, "more"),
    ],
    ids=str,
)
def test_features_that_do_not_fit_are_refused(folder, change, message):
    arrays, description = contents_of(folder / FEATURES)
    description["state"] |= change
    rewrite(folder, FEATURES, arrays, description)
    with pytest.raises(ModelFileError, match=REFUSED) as refusal:
        load_model(folder)
    assert re.search(message, str(refusal.value))


@pytest.mark.parametrize("name", ["medians", "low", "high", "scaler.center_", "scaler.scale_"])
def test_every_array_of_the_features_is_needed_finite_and_of_its_shape(folder, name):
    arrays, description = contents_of(folder / FEATURES)
    array = arrays.pop(name)
    for wrong in (None, array[1:], array[:, np.newaxis], array * np.nan, np.append(array, 1)):
        changed = arrays if wrong is None else {**arrays, name: wrong}
        rewrite(folder, FEATURES, changed, description)
        with pytest.raises(ModelFileError, match=REFUSED):
            load_model(folder)


def test_claims_of_a_billion_features_are_refused_before_memory_is_taken(folder):
    arrays, description = contents_of(folder / METHOD)
    for entry in ({"n_features": 10**12}, {"n_features": 10**9}):
        rewrite(folder, METHOD, arrays, description | entry)
        with pytest.raises(ModelFileError, match=REFUSED):
            load_model(folder)


def test_another_version_of_scikit_learn_is_said_once(folder):
    describe(folder, scikit_learn="0.1.5")
    with pytest.warns(UserWarning, match="made with scikit-learn 0.1.5, and this is") as caught:
        load_model(folder)
    assert len(caught) == 1


# Damaged at random --------------------------------------------------------------------------------


def works_or_is_refused(folder):
    for only_predict in (False, True):
        try:
            found = load_model(folder, only_predict=only_predict)
        except ModelFileError:
            continue
        probabilities = found.predict_proba(TABLE)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-4)


QUICK = settings(
    max_examples=60, deadline=None, derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip


@st.composite
def damages(draw):
    """Draw a model, one of its files, and what becomes of the file's bytes."""
    name = draw(st.sampled_from(METHODS))
    file = draw(st.sampled_from(FILES))
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


@QUICK
@given(damage=damages(), signed=st.booleans())
def test_damaged_bytes_give_a_model_that_works_or_a_refusal(saved, tmp_path, signed, damage):
    name, file, *how = damage
    folder = tmp_path / "model"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(saved / name, folder)
    (folder / file).write_bytes(damaged((folder / file).read_bytes(), *how))
    if signed and file != "model.json":
        sign(folder)
    works_or_is_refused(folder)


VALUES_OF_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | st.floats(0, 1) | st.text("abx_"),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text("abx_"), inner, max_size=2),
    max_leaves=3,
)


def places_in(value):
    """Yield every dictionary and list of a description, with a key of it."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        yield value, key
        if isinstance(inner, dict | list):
            yield from places_in(inner)


@QUICK
@given(data=st.data(), name=st.sampled_from(METHODS), file=st.sampled_from([FEATURES, METHOD]))
def test_another_description_gives_a_model_that_works_or_a_refusal(
    saved, tmp_path, data, name, file
):
    folder = tmp_path / "model"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(saved / name, folder)
    arrays, description = contents_of(folder / file)
    places = list(places_in(description))
    owner, key = places[data.draw(st.integers(0, len(places) - 1))]
    owner[key] = data.draw(VALUES_OF_JSON)
    rewrite(folder, file, arrays, description)
    works_or_is_refused(folder)


@QUICK
@given(data=st.data(), name=st.sampled_from(METHODS), file=st.sampled_from([FEATURES, METHOD]))
def test_other_arrays_give_a_model_that_works_or_a_refusal(saved, tmp_path, data, name, file):
    folder = tmp_path / "model"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(saved / name, folder)
    arrays, description = contents_of(folder / file)
    of, other = (data.draw(st.sampled_from(sorted(arrays))) for _ in range(2))
    array = arrays[of]
    arrays[of] = {
        "another": lambda: arrays[other],
        "large": lambda: (array * 1e9).astype(array.dtype),
        "negative": lambda: -array if array.dtype != bool else array,
        "nothing": lambda: array[:0] if array.ndim else array,
        "longer": lambda: np.concatenate([array, array]) if array.ndim else array,
    }[data.draw(st.sampled_from(["another", "large", "negative", "nothing", "longer"]))]()
    rewrite(folder, file, arrays, description)
    works_or_is_refused(folder)
