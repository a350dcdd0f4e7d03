"""A fitted method in a file: the same bits again, and nothing from a file that does not fit."""

import json
import random

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save
from scipy import sparse
from sklearn.base import clone
from sklearn.preprocessing import RobustScaler
from sklearn.tree import DecisionTreeClassifier

from disambig._core.array_file import read_arrays, write_arrays
from disambig._core.errors import DisambigError, ModelFileError, ParameterError
from disambig.candidates import CandidateLabels
from disambig.methods import (
    CLPL,
    PLKNN,
    AverageClassifier,
    EMClassifier,
    NCPDClassifier,
    NetworkClassifier,
    PartialLabelClassifier,
)
from disambig.methods.base import MethodCard
from disambig.methods.scaling import FeatureScaler
from methods.classical.problems import random_problem
from methods.instances import INSTANCES

X, SETS, GENERATOR = random_problem(0)
NEW = GENERATOR.normal(size=(30, X.shape[1]))
CERTAIN = CandidateLabels.from_labels(SETS.choose(SETS.prior()).tolist(), classes=SETS.classes)
ON_ARRAYS = [name for name, of in INSTANCES.items() if not isinstance(of, NetworkClassifier)]
VERSION = 2


def target_of(name):
    return CERTAIN if name == "oracle" else SETS


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Every method on arrays, fitted, and the file that it was saved to."""
    folder = tmp_path_factory.mktemp("methods")
    made = {}
    for name in ON_ARRAYS:
        method = clone(INSTANCES[name]).fit(X, target_of(name))
        method.save(folder / name)
        made[name] = method, folder / name
    return made


def contents(path):
    with safe_open(path, framework="numpy") as file:
        description = json.loads(file.metadata()["disambig"])
        return {name: file.get_tensor(name) for name in file.keys()}, description  # noqa: SIM118


def rewritten(path, folder, arrays=None, **entries):
    """Return a file that differs in some arrays and entries; None takes one out."""
    old, description = contents(path)
    changed = old | (arrays or {})
    description = {name: value for name, value in (description | entries).items() if value != ...}
    other = folder / "changed"
    kept = {name: array for name, array in changed.items() if array is not None}
    other.write_bytes(save(kept, metadata={"disambig": json.dumps(description)}))
    return other


def assert_refused(cls, path, message=None):
    with pytest.raises(ModelFileError, match=message):
        cls.load(path)


@pytest.mark.parametrize("name", ON_ARRAYS)
def test_a_loaded_method_gives_the_same_bits(name, files):
    method, path = files[name]
    loaded = type(method).load(path)
    np.testing.assert_array_equal(loaded.predict_proba(NEW), method.predict_proba(NEW))
    np.testing.assert_array_equal(
        loaded.candidate_confidence_.toarray(), method.candidate_confidence_.toarray()
    )
    parameters = method.get_params()
    if parameters.get("scaling", "") is None:  # chosen by the fit, and known by then
        parameters["scaling"] = method._scaler.kind
    assert loaded.get_params() == parameters
    assert loaded.disambiguate().tolist() == method.disambiguate().tolist()
    # What is said of held-out rows is for those who have just fitted.
    learned = [name for name in vars(method) if name.endswith("_") and name != "held_out_proba_"]
    assert {name for name in vars(loaded) if name.endswith("_")} == set(learned)
    for attribute in learned:
        value = getattr(method, attribute)
        if isinstance(value, dict):  # methods by name, which say what the whole says
            assert list(getattr(loaded, attribute)) == list(value)
        elif attribute != "candidate_confidence_":
            np.testing.assert_array_equal(getattr(loaded, attribute), value)


@pytest.mark.parametrize(
    "name", [name for name in ON_ARRAYS if INSTANCES[name].accepts_sparse and name != "oracle"]
)
def test_a_method_of_sparse_features_gives_the_same_bits(name, tmp_path):
    X_sparse = sparse.csr_array(np.where(np.abs(X) > 0.3, X, 0))
    method = clone(INSTANCES[name]).fit(X_sparse, SETS)
    method.save(tmp_path / "file")
    loaded = type(method).load(tmp_path / "file")
    for rows in (NEW, sparse.csr_array(NEW)):
        np.testing.assert_array_equal(loaded.predict_proba(rows), method.predict_proba(rows))


@pytest.mark.parametrize("classes", [["b", "a", "ü"], [3, 1, 2], [0.5, 1.5, 2.5], [True, False, 2]])
def test_classes_are_what_they_were(classes, tmp_path):
    mask = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1], [1, 0, 0]], dtype=bool)
    method = PLKNN(n_neighbors=2).fit([[0.0], [1.0], [2.0], [3.0]], CandidateLabels(mask, classes))
    method.save(tmp_path / "file")
    loaded = PLKNN.load(tmp_path / "file")
    assert loaded.classes_.tolist() == method.classes_.tolist()
    assert loaded.classes_.dtype == method.classes_.dtype


def test_names_of_features_are_kept(tmp_path):
    import pandas as pd

    frame = pd.DataFrame(X, columns=[f"f{number}" for number in range(X.shape[1])])
    CLPL().fit(frame, SETS).save(tmp_path / "file")
    loaded = CLPL.load(tmp_path / "file")
    assert loaded.feature_names_in_.tolist() == frame.columns.tolist()
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame.rename(columns={"f0": "g0"}))


def test_a_scaler_of_ours_is_kept_by_its_kind_and_a_generator_is_not_kept(tmp_path):
    method = INSTANCES["plsvm"].__class__(
        scaling=FeatureScaler(kind="quantile"), random_state=np.random.default_rng(0), max_iter=20
    )
    method.fit(X, SETS).save(tmp_path / "file")
    loaded = type(method).load(tmp_path / "file")
    assert loaded.scaling == "quantile"
    assert loaded.random_state is None
    np.testing.assert_array_equal(loaded.predict_proba(NEW), method.predict_proba(NEW))


def test_one_label_is_learned_saved_and_predicted(tmp_path):
    method = AverageClassifier().fit(X, CandidateLabels.from_labels(["cat"] * len(X)))
    method.save(tmp_path / "file")
    assert (AverageClassifier.load(tmp_path / "file").predict_proba(NEW) == 1).all()


def test_a_method_that_is_not_fitted_is_not_saved(tmp_path):
    with pytest.raises(Exception, match="not fitted"):
        PLKNN().save(tmp_path / "file")
    assert not (tmp_path / "file").exists()


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (PLKNN(scaling=RobustScaler()), "Got RobustScaler, which is code"),
        (AverageClassifier(estimator=DecisionTreeClassifier()), "DecisionTreeClassifier, which is"),
    ],
)
def test_code_is_not_saved(method, message, tmp_path):
    with pytest.raises(ParameterError, match=message):
        method.fit(X, SETS).save(tmp_path / "file")
    assert not (tmp_path / "file").exists()


def test_a_method_that_does_not_say_what_it_learned_is_not_saved(tmp_path):
    class Own(PartialLabelClassifier):
        card = MethodCard(name="own", title="Mine")

        def _fit(self, X, candidates):
            return candidates.prior()

        def _predict_proba(self, X):
            return np.ones((len(X), 1))

    with pytest.raises(ParameterError, match="does not declare what it has learned"):
        Own().fit(X, SETS).save(tmp_path / "file")


@pytest.mark.parametrize("name", ON_ARRAYS)
def test_another_method_refuses_the_file(name, files):
    _, path = files[name]
    other = CLPL if name != "clpl" else PLKNN
    assert_refused(other, path, f"holds a model of the method '{name}'")


def test_networks_refuse_the_file_of_another_method(files):
    assert_refused(NCPDClassifier, files["plknn"][1])


@pytest.mark.parametrize("name", ON_ARRAYS)
def test_every_array_must_be_there_finite_and_of_its_type_and_shape(name, files, tmp_path):
    method, path = files[name]
    for of, array in contents(path)[0].items():
        for changed in _spoilt(of, array):
            assert_refused(type(method), rewritten(path, tmp_path, {of: changed}))


def _spoilt(name, array):
    yield None
    yield array.reshape(*array.shape, 1)
    yield np.full(array.shape, np.nan)
    if "_scaler." not in name:  # whose numbers may be whole
        yield array.astype(np.int64 if array.dtype.kind == "f" else np.float64)
    as_long_as_the_fit = ("objective_", "lower_bounds_", "covering_rates_")
    if not name.endswith(as_long_as_the_fit):
        yield np.concatenate([array.ravel(), array.ravel(), array.ravel()[:1]])


@pytest.mark.parametrize("name", ON_ARRAYS)
def test_arrays_that_do_not_belong_are_refused(name, files, tmp_path):
    method, path = files[name]
    other = rewritten(path, tmp_path, {"more": np.ones(3)})
    assert_refused(type(method), other, "it has more besides")


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"parameters": {"colour": 1}}, "colour"),
        ({"parameters": {"n_neighbors": 0}}, "n_neighbors"),
        ({"parameters": {"scaling": "quantile"}}, "quantiles_"),
        ({"parameters": {"scaling": {"make": "me"}}}, None),
        ({"parameters": [1]}, None),
        ({"classes": ...}, "'classes'"),
        ({"classes": {"type": "<U3", "names": ["a", "a", "b", "c"]}}, "different names"),
        ({"classes": {"type": "<U3", "names": ["a"]}}, None),
        ({"classes": {"type": "O", "names": [[1], [2], [3], [4]]}}, None),
        ({"classes": {"type": "V1000000000", "names": ["a", "b", "c", "d"]}}, "of the type"),
        ({"n_features": 10**12}, None),
        ({"n_features": -1}, None),
        ({"n_features": "3"}, None),
        ({"feature_names": ["a"]}, "need as many names"),
        ({"transposed": ["confidence.data", "_rows"]}, None),
        ({"transposed": None}, None),
        ({"version": 1}, "it has the version 1, and this disambig reads 2"),
        ({"kind": "lamp"}, "lamp"),
        ({"method": "../../plknn"}, "holds a model of the method"),
        ({"method": ...}, "it does not say method"),
    ],
)
def test_a_description_that_does_not_fit_is_refused(entries, message, files, tmp_path):
    assert_refused(PLKNN, rewritten(files["plknn"][1], tmp_path, **entries), message)


def test_indices_that_lead_out_of_the_memory_are_refused(files, tmp_path):
    _, path = files["plknn"]
    arrays, _ = contents(path)
    for name in ("_votes.indices", "_votes.indptr", "confidence.indices"):
        for far in (10**9, -1):
            wrong = arrays[name].copy()
            wrong[-1] = far
            assert_refused(PLKNN, rewritten(path, tmp_path, {name: wrong}))


@pytest.mark.parametrize(
    ("name", "of", "factor"),
    [
        ("plknn", "_votes.data", -1),
        ("plknn", "confidence.data", -1),
        ("plknn", "_scaler.scale_", 0),
        ("sure", "_model.width", 0),
        ("ipal", "_votes.data", 2),
        ("m3pl", "_machine.n_classes", 1000),
        ("m3pl", "_machine.present", 1000),
        ("lsbcmm", "label_counts_", -1),
        ("average", "_model.classes_", 1000),
        ("disambiguating", "_model.classes_", 1000),
        ("forest", "_trees.left", -1),
        ("forest", "_trees.right", 1000),
        ("forest", "_trees.feature", 1000),
        ("forest", "_trees.roots", 1000),
        ("forest", "_trees.values.data", -1),
        ("forest", "_trees.values.data", 0),
        ("boosting", "_trees.left", 1000),
        ("boosting", "_trees.right", -1),
        ("boosting", "_trees.feature", -1),
        ("boosting", "_trees.roots", 0),
    ],
)
def test_numbers_that_no_fit_gives_are_refused(name, of, factor, files, tmp_path):
    method, path = files[name]
    array = contents(path)[0][of]
    changed = np.asarray(array * factor, dtype=array.dtype)
    assert_refused(type(method), rewritten(path, tmp_path, {of: changed}))


def test_a_file_with_any_byte_changed_is_read_or_refused(files, tmp_path):
    """Whatever happens to a file, loading gives a method that predicts or a ModelFileError."""
    method, path = files["clpl"]
    content = path.read_bytes()
    other = tmp_path / "changed"
    chance = random.Random(0)
    refused = 0
    for position in [*range(0, 600, 7), *chance.sample(range(len(content)), 60)]:
        changed = bytearray(content)
        changed[position] ^= 1 << chance.randrange(8)
        other.write_bytes(changed)
        try:
            loaded = type(method).load(other)
        except DisambigError:
            refused += 1
        else:
            assert np.isfinite(loaded.predict_proba(NEW)).all()
    assert refused > 50


def test_what_is_cut_off_or_something_else_is_refused(files, tmp_path):
    content = files["em"][1].read_bytes()
    other = tmp_path / "other"
    for changed in (b"", content[:8], content[:-1], content + b"more", b"\x80\x04K\x01."):
        other.write_bytes(changed)
        assert_refused(EMClassifier, other, "it is damaged or something else")
    assert_refused(EMClassifier, tmp_path / "nothing", "There is no file")


def test_a_file_of_arrays_that_is_not_a_model_is_refused(tmp_path):
    write_arrays(tmp_path / "file", "checkpoint", VERSION, {"a": np.ones(2)}, {})
    assert_refused(PLKNN, tmp_path / "file", "checkpoint")
    assert read_arrays(tmp_path / "file", "checkpoint", VERSION)[0]["a"].tolist() == [1, 1]
