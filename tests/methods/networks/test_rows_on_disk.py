"""Rows on disk give the bits that the same rows in memory give, and never lie there together."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_validate
from sklearn.preprocessing import StandardScaler

from disambig import (
    CC,
    PRODEN,
    CandidateLabels,
    MappedRows,
    NCPDClassifier,
    NCPDPlusClassifier,
    get_method,
)
from disambig._core import mapped_rows
from disambig._core.errors import ParameterError
from disambig.datasets import make_partial_label_dataset
from disambig.engine import prepared
from disambig.methods.base import top_columns

QUICK = {"hidden": 8, "epochs": 3, "batch_size": 32, "random_state": 0, "device": "cpu"}


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    data = make_partial_label_dataset(150, 6, 4, random_state=0)
    features = (data.X * [1, 5, 0.01, 100, 1, 1]).astype("float32")
    folder = tmp_path_factory.mktemp("table")
    csr = data.candidates.to_sparse()
    for name, array in (("X", features), ("ends", csr.indptr), ("columns", csr.indices)):
        np.save(folder / f"{name}.npy", array)
    on_disk = {
        name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("X", "ends", "columns")
    }
    sets = CandidateLabels.from_csr(on_disk["ends"], on_disk["columns"], data.candidates.classes)
    assert sets == data.candidates
    return features, data.candidates, on_disk["X"], sets


def assert_same(in_memory, on_disk, features, X):
    np.testing.assert_array_equal(in_memory.predict_proba(features), on_disk.predict_proba(X))
    np.testing.assert_array_equal(
        in_memory.candidate_confidence_.toarray(), on_disk.candidate_confidence_.toarray()
    )
    assert list(in_memory.history_) == list(on_disk.history_)
    for name, values in in_memory.history_.items():
        np.testing.assert_array_equal(values, on_disk.history_[name])


@pytest.mark.parametrize(
    "method",
    [
        PRODEN(**QUICK),
        PRODEN(**QUICK, scaling="quantile", validation=0.2, class_weight="balanced"),
        PRODEN(**QUICK, scaling="none"),
        CC(**QUICK, scaling="global"),
        NCPDClassifier(**QUICK, ramp_epochs=2),
        NCPDPlusClassifier(**QUICK),
        *(
            get_method(name)(**QUICK)
            for name in ("records", "rc", "lws", "crdpll", "pico", "solar", "valen")
        ),
    ],
    ids=lambda method: f"{method.card.name}-{method.scaling}",
)
def test_methods_learn_the_same_from_rows_on_disk(table, method):
    features, candidates, X, sets = table
    in_memory = clone(method).fit(features, candidates)
    assert_same(in_memory, clone(method).fit(X, sets), features, X)


def test_top_labels_are_those_of_the_probabilities(table):
    features, candidates, X, sets = table
    model = PRODEN(**QUICK).fit(X, sets)
    labels, probabilities = model.predict_top(X, 3)
    expected = model.predict_proba(features)
    order = np.argsort(-expected, axis=1, kind="stable")[:, :3]
    np.testing.assert_array_equal(labels, model.classes_[order])
    assert probabilities.dtype == np.float32
    np.testing.assert_array_equal(
        probabilities, np.take_along_axis(expected, order, 1).astype(np.float32)
    )
    np.testing.assert_array_equal(model.predict(X), labels[:, 0])
    np.testing.assert_array_equal(
        model.candidate_confidences(X, sets).toarray(),
        model.candidate_confidences(features, candidates).toarray(),
    )


def test_folds_of_rows_on_disk_are_those_of_rows_in_memory(table):
    features, candidates, X, sets = table
    method = PRODEN(**QUICK)
    on_disk = cross_validate(method, MappedRows(X), sets, cv=3, return_estimator=True)
    in_memory = cross_validate(method, features, candidates, cv=3, return_estimator=True)
    np.testing.assert_array_equal(on_disk["test_score"], in_memory["test_score"])
    for one, other in zip(on_disk["estimator"], in_memory["estimator"], strict=True):
        np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(features))


def test_a_checkpoint_is_taken_up_whether_rows_are_in_memory_or_on_disk(table, tmp_path):
    features, candidates, X, sets = table
    whole = PRODEN(**QUICK).fit(features, candidates)
    for name, first, then in (
        ("one", (features, candidates), (X, sets)),
        ("two", (X, sets), (features, candidates)),
    ):
        method = PRODEN(**QUICK, checkpoint=tmp_path / name, checkpoint_every=1)
        with pytest.raises(KeyboardInterrupt):
            clone(method).set_params(callbacks=[Killer()]).fit(*first)
        assert_same(whole, clone(method).fit(*then), features, X)


class Killer:
    def on_epoch_end(self, training):
        if training.epoch == 2:
            raise KeyboardInterrupt


def test_large_features_are_refused_with_their_rows(table, tmp_path):
    _, _, X, sets = table
    for value, message in ((2e12, "of size 1e.12 at most"), (np.nan, "must be finite")):
        bad = np.array(X)
        bad[[7, 90], 2] = value
        np.save(tmp_path / "bad.npy", bad)
        on_disk = np.load(tmp_path / "bad.npy", mmap_mode="r")
        with pytest.raises(ParameterError, match=rf"{message}.*2 samples, first at row 7"):
            PRODEN(**QUICK, scaling="none").fit(on_disk, sets)


def test_a_transformer_of_ones_own_scales_rows_on_disk(table):
    features, candidates, X, sets = table
    method = PRODEN(**QUICK, scaling=StandardScaler())
    assert_same(method.fit(features, candidates), clone(method).fit(X, sets), features, X)


def test_rows_are_never_in_memory_together(table, monkeypatch):
    _, _, X, sets = table
    most = []
    read = MappedRows.read

    def watched(self, rows):
        found = read(self, rows)
        most.append(len(found))
        return found

    monkeypatch.setattr(MappedRows, "read", watched)
    monkeypatch.setattr(mapped_rows, "BLOCK_BYTES", 40 * 8 * 6)
    monkeypatch.setattr(prepared, "_MOST_STEPS", 1)
    model = PRODEN(**QUICK, validation=0.3).fit(X, sets)
    model.predict_top(X, 2)
    model.candidate_confidences(X, sets)
    assert max(most) == 40 < len(X)


@pytest.mark.parametrize("k", [1, 3, 16, 17, 30])
def test_of_equal_values_the_first_column_comes_first(k):
    values = np.random.default_rng(0).integers(4, size=(50, 30)).astype(float)
    before = values.copy()
    expected = [sorted(range(30), key=lambda column: (-row[column], column))[:k] for row in values]
    np.testing.assert_array_equal(top_columns(values, k), expected)
    np.testing.assert_array_equal(values, before)
