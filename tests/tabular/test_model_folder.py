import itertools
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import RobustScaler

from bench.study_methods import Diligent
from disambig import CandidateLabels
from disambig._core.errors import ModelFileError, ParameterError
from disambig.methods import PLKNN, PLSVM, AverageClassifier, NCPDClassifier
from disambig.tabular import model_folder
from disambig.tabular.columns.plan import plan_columns
from disambig.tabular.columns.values import column_values
from disambig.tabular.model_folder import check_method_can_be_saved, check_model_folder_is_free
from disambig.tabular.table_model import TableModel, load_model
from methods.instances import INSTANCES
from tabular.model_folders import (
    CANDIDATES,
    ESTIMATE,
    FILES,
    PLAN,
    QUICK_NETWORK,
    TABLE,
    VALUES,
    description_in,
    fitted,
    small_model,
)
from tabular.small_tables import fit_model


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Save a model once; every test has a copy of its own to damage."""
    folder = tmp_path_factory.mktemp("saved") / "plknn"
    small_model("plknn").save(folder)
    return folder


@pytest.fixture
def folder(tmp_path, saved):
    return Path(shutil.copytree(saved, tmp_path / "model"))


def names_in(folder):
    return sorted(entry.name for entry in Path(folder).iterdir())


@pytest.mark.parametrize("name", [name for name in INSTANCES if name != "oracle"])
def test_every_method_predicts_the_same_bits_after_it_was_saved(tmp_path, name):
    model = fitted(name)
    model.save(tmp_path / "model")
    found = load_model(tmp_path / "model")
    np.testing.assert_array_equal(found.predict_proba(TABLE), model.predict_proba(TABLE))
    assert type(found.classifier) is type(model.classifier)
    assert found.classifier.disambiguate().tolist() == model.classifier.disambiguate().tolist()
    assert found.plan == model.plan
    assert found.estimate == ESTIMATE


@pytest.mark.parametrize("name", ["plknn", "ncpd"])
def test_a_folder_has_three_files_and_says_in_plain_text_what_it_is(tmp_path, name):
    small_model(name).save(tmp_path / "model")
    assert names_in(tmp_path / "model") == FILES
    assert names_in(tmp_path) == ["model"]
    description = description_in(tmp_path / "model")
    assert description["kind"] == "disambig table model"
    assert description["version"] == 2
    assert description["method"] == name
    assert description["classes"] == ["cat", "dog", "fox"]
    assert [column["name"] for column in description["plan"]["columns"]] == list(TABLE.columns)
    assert description["estimate"]["covering_rate"] == 0.9


def test_a_model_without_an_estimate_comes_back_without(tmp_path):
    model = small_model("plknn")
    bare = TableModel(model.plan, model.transformer, model.classifier)
    bare.save(tmp_path / "model")
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
    plan, *_ = plan_columns(table)
    candidates = CandidateLabels.from_sets(labels)
    model = fit_model(column_values(table, plan), candidates, plan, PLKNN(n_neighbors=3))
    model.save(tmp_path / "model")
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
        model.save(tmp_path / "model")
        assert load_model(tmp_path / "model").classes.tolist() == model.classes.tolist()


def test_classes_that_json_cannot_write_are_refused(tmp_path):
    days = pd.date_range("2024-01-01", periods=3).date
    candidates = CandidateLabels(np.asarray(CANDIDATES), classes=np.array(days, dtype=object))
    model = fit_model(VALUES, candidates, PLAN, PLKNN())
    with pytest.raises(ParameterError, match="if its classes are strings, numbers or booleans"):
        model.save(tmp_path / "model")


def test_a_model_that_is_there_is_replaced(folder):
    small_model("ncpd").save(folder)
    assert names_in(folder) == FILES
    assert load_model(folder).classifier.card.name == "ncpd"


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
        small_model("plknn").save(taken)
    assert len(names_in(taken)) == 1


@pytest.mark.parametrize("name", ["notes.txt", "method.safetensors"])
def test_a_model_with_something_else_in_its_folder_is_not_replaced(folder, name):
    if name == "notes.txt":
        (folder / name).write_text("mine")
    else:
        (folder / name).unlink()
        (folder / name).mkdir()
    with pytest.raises(ParameterError, match="already something else"):
        check_model_folder_is_free(folder)


def test_a_model_that_cannot_be_saved_leaves_the_old_one(folder):
    model = fitted(PLKNN(scaling=RobustScaler()))
    with pytest.raises(ParameterError, match="Got RobustScaler, which is code"):
        model.save(folder)
    assert names_in(folder.parent) == ["model"]
    assert load_model(folder).classifier.card.name == "plknn"


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
        ("plsvm", spoil_features, "features"),
        ("plsvm", spoil_shape, "classes"),
        ("plsvm", spoil_labels, "different names"),
        ("plknn", spoil_votes, "votes must not be negative"),
    ],
)
def test_a_model_that_cannot_predict_is_not_saved(tmp_path, name, spoil, message):
    model = fitted(name)
    spoil(model.classifier)
    with pytest.raises(ParameterError, match=f"can be loaded again and can predict.*{message}"):
        model.save(tmp_path / "model")
    assert names_in(tmp_path) == []


@pytest.mark.parametrize(
    "change",
    [lambda low: np.stack([low, low]), lambda low: low[:1], lambda low: low + 1e9, np.log],
    ids=["rows", "one", "backwards", "gaps"],
)
@pytest.mark.filterwarnings("ignore:.*log")
def test_a_range_that_no_rows_can_have_is_refused(tmp_path, change):
    model = fitted("plknn")
    spoilt = replace(model.transformer, low=change(model.transformer.low))
    with pytest.raises(ParameterError, match="range|finite"):
        replace(model, transformer=spoilt).save(tmp_path / "other")


class NotOurs(PLKNN):
    """A method that inherits the card of another."""


@pytest.mark.parametrize("method", [NotOurs(), Diligent()], ids=["heir", "stranger"])
def test_methods_from_elsewhere_cannot_be_saved(tmp_path, method):
    message = "if its method is one of disambig's own. Got .*:.*, which is code"
    with pytest.raises(ParameterError, match=message):
        check_method_can_be_saved(method)
    with pytest.raises(ParameterError, match=message):
        fitted(method).save(tmp_path / "model")


@pytest.mark.parametrize(
    "method",
    [
        NCPDClassifier(network=lambda _, __: None),
        AverageClassifier(estimator=GaussianNB()),
        PLKNN(scaling=RobustScaler()),
    ],
)
def test_code_of_ones_own_cannot_be_saved_and_that_is_known_before_training(method):
    with pytest.raises(ParameterError, match="(network'|estimator'|RobustScaler), which is code"):
        check_method_can_be_saved(method)


def test_a_model_of_disambig_0_1_is_replaced(tmp_path):
    old = tmp_path / "model"
    old.mkdir()
    for name in ("features.skops", "method.skops"):
        (old / name).write_bytes(b"PK")
    (old / "model.json").write_text('{"kind": "disambig table model", "version": 1}')
    small_model("plknn").save(old)
    assert names_in(old) == FILES


@pytest.mark.parametrize("method", INSTANCES.values(), ids=INSTANCES)
def test_a_method_can_be_asked_for_before_it_is_fitted(method):
    check_method_can_be_saved(method)


def test_generators_callbacks_and_checkpoints_are_not_stored(tmp_path):
    generator = np.random.default_rng(0)
    model = fitted(PLSVM(max_iter=20, random_state=generator))
    model.classifier.set_params(random_state=generator)
    model.save(tmp_path / "model")
    found = load_model(tmp_path / "model")
    assert found.classifier.random_state is None
    assert model.classifier.random_state is generator
    np.testing.assert_array_equal(found.predict_proba(TABLE), model.predict_proba(TABLE))

    network = fitted(
        NCPDClassifier(
            hidden=8, epochs=2, ramp_epochs=1, device="cpu",
            random_state=np.random.default_rng(0),
            callbacks=[SimpleNamespace(on_fit_end=lambda _: None)],
            checkpoint=tmp_path / "secret",
        )
    )  # fmt: skip
    network.save(tmp_path / "network")
    assert not any(b"secret" in path.read_bytes() for path in (tmp_path / "network").iterdir())
    found = load_model(tmp_path / "network").classifier
    assert found.callbacks is found.checkpoint is found.random_state is None


def test_a_seed_is_stored(tmp_path):
    model = fitted(PLSVM(max_iter=20, random_state=7))
    model.save(tmp_path / "model")
    assert load_model(tmp_path / "model").classifier.random_state == 7


@pytest.mark.parametrize(
    ("name", "unloaded"), [("plknn", {"torch"}), ("ncpd", {"sklearn", "torch"})]
)
def test_a_model_that_only_predicts_is_read_without_slow_libraries(tmp_path, name, unloaded):
    small_model(name).save(tmp_path / "model")
    TABLE.to_pickle(tmp_path / "table")
    code = (
        "import sys, pandas as pd\n"
        "from disambig.tabular.table_model import load_model\n"
        "table = pd.read_pickle(sys.argv[2])\n"
        "print(load_model(sys.argv[1], only_predict=True).predict_proba(table).tobytes().hex())\n"
        f"assert not {unloaded} & set(sys.modules)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "model"), str(tmp_path / "table")]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    expected = small_model(name).predict_proba(TABLE)
    found = np.frombuffer(bytes.fromhex(printed)).reshape(expected.shape)
    np.testing.assert_allclose(found, expected, atol=2e-6)


def test_a_model_that_is_replaced_while_it_is_read_is_one_or_the_other(folder, monkeypatch):
    new = small_model("average")
    read, replaced = model_folder._check_files, []

    def replace_meanwhile(path, description):
        read(path, description)
        if not replaced:
            replaced.append(path)
            new.save(folder)

    monkeypatch.setattr(model_folder, "_check_files", replace_meanwhile)
    found = load_model(folder)
    np.testing.assert_array_equal(found.predict_proba(TABLE), new.predict_proba(TABLE))


def test_a_model_that_is_missing_for_a_moment_is_read_when_it_is_back(folder, monkeypatch):
    read, moved = model_folder._read_description, []

    def move_meanwhile(path):
        if not moved:
            moved.append(folder.rename(folder.with_name("aside")))
            try:
                return read(path)
            finally:
                shutil.copytree(moved[0], folder)
        return read(path)

    monkeypatch.setattr(model_folder, "_read_description", move_meanwhile)
    assert load_model(folder).estimate == ESTIMATE


def test_a_model_that_is_replaced_all_the_time_is_given_up(folder, monkeypatch):
    counter = itertools.count()
    monkeypatch.setattr(model_folder, "_identity", lambda _: next(counter))
    with pytest.raises(ModelFileError, match="replaced again and again"):
        load_model(folder)


def test_an_old_model_that_a_killed_run_moved_aside_is_named(folder):
    aside = folder.with_name(f".model-{'0' * 32}-old")
    folder.rename(aside)
    with pytest.raises(ModelFileError, match=rf"has been killed.*rename the old one.*{aside.name}"):
        load_model(folder)
