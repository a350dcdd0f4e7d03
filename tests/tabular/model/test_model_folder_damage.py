import shutil

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from disambig._core.errors import ModelFileError
from disambig.methods import PLKNN
from disambig.tabular.columns.plan import plan_columns
from disambig.tabular.model.model_folder import load_model, save_model
from disambig.tabular.model.table_model import fit_model
from tabular.model.model_folders import (
    CANDIDATES,
    TABLE,
    VALUES,
    members_of,
    nodes_in,
    sign,
    value_node,
    write_members,
)
from tabular.model.saved_models import FILES, MODELS, REFUSED


@pytest.mark.parametrize("name", ["features.skops", "method.skops"])
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
    save_model(other, tmp_path / "other")
    for name in ("features.skops", "method.skops"):
        mixed = shutil.copytree(folder, tmp_path / f"mixed {name}")
        shutil.copy(tmp_path / "other" / name, mixed / name)
        with pytest.raises(ModelFileError, match=f"its {name} is damaged, or belongs to another"):
            load_model(mixed)
        sign(mixed)
        with pytest.raises(ModelFileError, match=REFUSED):
            load_model(mixed)


def test_damaged_networks_are_refused(tmp_path):
    save_model(MODELS["ncpd"], tmp_path / "model")
    (tmp_path / "model" / "method.safetensors").write_bytes(b"x" * 100)
    sign(tmp_path / "model")
    with pytest.raises(ModelFileError, match="is no NCPD model that can be read"):
        load_model(tmp_path / "model")


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
