"""From a table to a model with an estimate."""

import re
from pathlib import Path

import numpy as np
import pytest

from disambig._core.errors import ParameterError, TableError
from disambig.bench.trial import shuffled_folds
from disambig.methods.base import MethodCard, PartialLabelClassifier
from disambig.metrics import approximated_accuracy, covering_rate
from disambig.tabular.fitting import fit_table
from disambig.tabular.listener import FitListener
from disambig.tabular.table_model import TableModel, load_model
from disambig.tabular.task import chosen_method, prepare_task
from tabular.small_tables import fit_model, neighbours, quick_network, three_clouds

FRAME = three_clouds()


class Diary(FitListener):
    """Write down what is told; break off where asked."""

    def __init__(self, break_off_at: str | None = None) -> None:
        self.entries: list[str] = []
        self._break_off_at = break_off_at

    def on_fits_start(self, n_fits: int) -> None:
        self.entries.append(f"{n_fits} fits")

    def on_fit_start(self, title: str) -> None:
        self.entries.append(title)

    def on_epoch_end(self, title: str, epoch: int, n_epochs: int) -> None:
        self.entries.append(f"epoch {epoch} of {n_epochs}")
        if f"{self.entries[-1]}" == self._break_off_at:
            raise KeyboardInterrupt

    def on_fit_end(self, title: str) -> None:
        self.entries.append("end")
        if self.entries.count("end") == 2 and self._break_off_at == "second end":
            raise KeyboardInterrupt


def test_the_estimate_is_the_one_of_folds_done_by_hand():
    model = fit_table(FRAME, method=neighbours(), ignore=["truth"], n_folds=4)
    task = prepare_task(FRAME, ignore=["truth"])
    probabilities = np.empty(task.candidates.shape)
    for train, test in shuffled_folds(len(FRAME), 4, 0):
        part = fit_model(task.values.iloc[train], task.candidates[train], task.plan, neighbours())
        probabilities[test] = part.probabilities_of(task.values.iloc[test])
    predicted = task.candidates.classes[probabilities.argmax(axis=1)]
    assert model.estimate.covering_rate == covering_rate(task.candidates, predicted)
    assert model.estimate.approximated_accuracy == approximated_accuracy(
        task.candidates, model.calibration.apply(probabilities)
    )


def test_the_model_is_trained_on_all_rows():
    model = fit_table(FRAME, method=neighbours(), ignore=["truth"])
    assert model.classifier.candidate_confidence_.shape[0] == len(FRAME)


def test_true_labels_are_used_for_the_accuracy_and_nothing_else():
    wrong = FRAME.assign(truth="fox")
    honest = fit_table(FRAME, method=neighbours(), truth="truth", n_folds=4)
    misled = fit_table(wrong, method=neighbours(), truth="truth", n_folds=4)
    assert honest.estimate.accuracy.share > 0.8
    assert misled.estimate.accuracy.share < 0.6
    np.testing.assert_array_equal(honest.predict_proba(FRAME), misled.predict_proba(FRAME))
    assert [column.name for column in honest.plan.columns] == ["length", "width", "colour"]


def test_true_labels_may_be_mostly_empty():
    few = FRAME.assign(truth=["cat", "", "fox", *[""] * 57])
    estimate = fit_table(few, method=neighbours(), truth="truth").estimate
    assert estimate.accuracy.n_rows == 2


def test_true_labels_none_of_which_is_a_label_are_refused():
    few = FRAME.assign(truth=[*[""] * 58, "cta", "dgo"])
    with pytest.raises(
        TableError, match=r"row: 'cta' in 1 row, 'dgo' in 1 row. The first is row 59"
    ):
        fit_table(few, method=neighbours(), truth="truth")


def test_without_folds_there_is_no_estimate():
    assert fit_table(FRAME, method=neighbours(), ignore=["truth"], n_folds=0).estimate is None


def test_the_listener_hears_of_every_fit_and_epoch():
    diary = Diary()
    method = quick_network(epochs=2, ramp_epochs=1)
    fit_table(FRAME, ignore=["truth"], method=method, n_folds=2, listener=diary)
    one = ["epoch 1 of 2", "epoch 2 of 2", "end"]
    assert diary.entries == [
        "3 fits", "all rows", *one, "fold 1 of 2", *one, "fold 2 of 2", *one
    ]  # fmt: skip


def test_a_model_with_a_folder_is_saved_there_and_keeps_nobody_who_followed_its_fit(tmp_path):
    model = fit_table(
        FRAME, ignore=["truth"], method=quick_network(), n_folds=2, out=tmp_path / "model"
    )
    assert model.classifier.callbacks is None
    assert model.classifier.checkpoint is None
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    loaded = load_model(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(FRAME), model.predict_proba(FRAME))
    assert loaded.estimate == model.estimate


def test_a_place_that_is_taken_is_refused_before_anything_is_trained(tmp_path):
    (tmp_path / "mine").write_text("mine")
    diary = Diary()
    with pytest.raises(ParameterError, match="already something else"):
        fit_table(FRAME, method=neighbours(), out=tmp_path / "mine", listener=diary)
    assert diary.entries == []


def test_work_is_kept_until_the_model_is_saved(tmp_path, monkeypatch):
    def full_disk(*_: object) -> None:
        raise OSError("No space left on device")

    out = tmp_path / "model"
    monkeypatch.setattr("disambig.tabular.model_folder.write_arrays", full_disk)
    with pytest.raises(OSError, match="No space"):
        fit_table(FRAME, ignore=["truth"], method=quick_network(), n_folds=2, out=out)
    monkeypatch.undo()
    diary = Diary()
    fit_table(FRAME, ignore=["truth"], method=quick_network(), n_folds=2, out=out, listener=diary)
    # The two folds are done; of the last training its last checkpoint is.
    assert diary.entries.count("epoch 6 of 6") <= 1
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


@pytest.mark.parametrize("break_off_at", ["epoch 12 of 20", "second end"])
def test_an_interrupted_fit_goes_on_where_it_was(tmp_path, break_off_at, monkeypatch):
    monkeypatch.setattr("disambig.tabular.out_of_fold._ROWS_BETWEEN_CHECKPOINTS", 600)

    def fit(listener: FitListener, out: Path | None = None) -> TableModel:
        method = quick_network(epochs=20, ramp_epochs=10)
        return fit_table(
            FRAME, ignore=["truth"], method=method, n_folds=3, listener=listener, out=out
        )

    whole = fit(FitListener())
    with pytest.raises(KeyboardInterrupt):
        fit(Diary(break_off_at), tmp_path / "model")
    diary = Diary()
    resumed = fit(diary, tmp_path / "model")
    assert "epoch 1 of 20" not in diary.entries[: diary.entries.index("end")]
    assert resumed.estimate == whole.estimate
    np.testing.assert_array_equal(resumed.predict_proba(FRAME), whole.predict_proba(FRAME))


def test_methods_come_by_name_with_parameters():
    method = chosen_method("plknn", {"n_neighbors": 3})
    assert method.n_neighbors == 3


def test_a_parameter_that_a_method_has_not_is_named():
    with pytest.raises(ParameterError, match="plknn has no parameter 'epochs'. It has"):
        chosen_method("plknn", {"epochs": 3})


def test_a_method_that_reads_true_labels_is_refused():
    with pytest.raises(ParameterError, match="oracle is trained on true labels"):
        fit_table(FRAME, method="oracle", ignore=["truth"])


def test_what_was_left_out_is_a_warning_in_python():
    frame = FRAME.assign(number=[f"no {row}" for row in range(len(FRAME))])
    with pytest.warns(UserWarning, match="number"):
        fit_table(frame, method=neighbours(), ignore=["truth"], n_folds=0)


def test_sets_made_elsewhere_are_taken_as_they_are():
    task = prepare_task(FRAME, ignore=["truth"])
    model = fit_table(
        FRAME, labels=task.candidates, ignore=["truth", "label"], method=neighbours(), n_folds=0
    )
    assert model.classes.tolist() == ["cat", "dog", "fox"]
    with pytest.raises(TableError, match="same number of rows. Got 60 rows and 3 sets"):
        fit_table(FRAME, labels=task.candidates[:3], ignore=["truth", "label"])


def test_one_fold_is_refused():
    with pytest.raises(ParameterError, match="One fold leaves no rows to train on"):
        fit_table(FRAME, ignore=["truth"], n_folds=1)


def test_a_true_label_that_is_nowhere_a_candidate_counts_as_an_error():
    few = FRAME.assign(truth=["cat", *[""] * 58, "cta"])
    message = "count as errors: 'cta' in 1 row. The first is row 60. Did you mean 'cat'?"
    with pytest.warns(UserWarning, match=re.escape(message)):
        model = fit_table(few, truth="truth", method=neighbours(), n_folds=2)
    accuracy = model.estimate.accuracy
    assert accuracy.n_rows == 2
    assert accuracy.share <= 0.5


# Features are scaled once ------------------------------------------------------------------------


def features_of(model: TableModel) -> np.ndarray:
    """Return what the networks or the search of neighbours see of the numbers."""
    X = model.transformer.transform(prepare_task(FRAME, ignore=["truth"]).values)
    return model.classifier._scaler.transform(X)


def test_numbers_are_standardised_by_the_table_and_not_again_by_the_method():
    model = fit_table(FRAME, ignore=["truth"], method=neighbours(), n_folds=0)
    assert model.classifier.scaling == "none"
    X = features_of(model)
    np.testing.assert_allclose(X[:, :2].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(X[:, :2].std(axis=0), 1)
    assert set(np.unique(X[:, 2:])) == {0, 1}


def test_a_scaling_that_somebody_chose_is_the_only_one():
    method = neighbours().set_params(scaling="quantile")
    model = fit_table(FRAME, ignore=["truth"], method=method, n_folds=0)
    assert model.classifier.scaling == "quantile"
    X = model.transformer.transform(prepare_task(FRAME, ignore=["truth"]).values)
    np.testing.assert_array_equal(X[:, 0], FRAME["length"].astype(float))


def test_units_of_columns_change_nothing():
    metres = fit_table(FRAME, ignore=["truth"], method=neighbours(), n_folds=0)
    small = FRAME.assign(length=[str(float(x) / 1024) for x in FRAME["length"]])
    kilometres = fit_table(small, ignore=["truth"], method=neighbours(), n_folds=0)
    np.testing.assert_allclose(
        metres.predict_proba(FRAME), kilometres.predict_proba(small), atol=1e-12
    )


class Centroids(PartialLabelClassifier):
    """A method from elsewhere, which scales nothing."""

    card = MethodCard(name="centroids", title="Mine")

    def _fit(self, X, candidates):
        self.seen_ = X
        return candidates.prior()

    def _predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), 1 / len(self.classes_))


def test_a_method_that_does_not_scale_gets_scaled_numbers():
    model = fit_table(FRAME, ignore=["truth"], method=Centroids(), n_folds=0)
    np.testing.assert_allclose(model.classifier.seen_[:, :2].std(axis=0), 1)
