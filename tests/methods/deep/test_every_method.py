"""What the base class gives every network of the literature: files, checkpoints, stacks."""

import numpy as np
import pytest
from sklearn.base import clone

from disambig import CandidateLabels, NetworkClassifier
from disambig.datasets import make_partial_label_dataset
from disambig.engine.history import History
from disambig.methods import fit_many
from methods.deep.plain_loops import DATA, MASK
from methods.instances import INSTANCES

NAMES = [
    name
    for name, instance in INSTANCES.items()
    if type(instance).__module__.startswith("disambig.methods.deep.")
]
each_method = pytest.mark.parametrize("name", NAMES)


def quick(name, **parameters):
    small = {"hidden": 8, "epochs": 6, "batch_size": 16, "device": "cpu"}
    return clone(INSTANCES[name]).set_params(**{**small, **parameters})


@each_method
def test_what_every_network_has_they_have_too(name, tmp_path):
    assert isinstance(INSTANCES[name], NetworkClassifier)
    fitted = quick(name, validation=0.2, early_stopping=3, checkpoint=tmp_path / "checkpoint")
    fitted.fit(DATA.X, DATA.candidates)
    assert isinstance(fitted.history_, History)
    assert set(fitted.history_) >= {
        "agreement", "loss", "covering_rate", "changed", "validation_covering_rate"
    }  # fmt: skip
    fitted.save(tmp_path / "model")
    again = type(fitted).load(tmp_path / "model", device="cpu")
    np.testing.assert_array_equal(again.predict_proba(DATA.X), fitted.predict_proba(DATA.X))


@each_method
def test_an_interrupted_training_is_taken_up_with_all_that_it_depends_on(name, tmp_path):
    class Interruption:
        def on_epoch_end(self, training):
            if training.epoch == 3:
                raise KeyboardInterrupt

    path = tmp_path / "checkpoint"
    whole = quick(name).fit(DATA.X, DATA.candidates)
    parameters = {"checkpoint": path, "checkpoint_every": 1}
    with pytest.raises(KeyboardInterrupt):
        quick(name, callbacks=[Interruption()], **parameters).fit(DATA.X, DATA.candidates)
    resumed = quick(name, **parameters).fit(DATA.X, DATA.candidates)
    np.testing.assert_array_equal(resumed.predict_proba(DATA.X), whole.predict_proba(DATA.X))
    assert resumed.history_.to_dict() == whole.history_.to_dict()


@each_method
def test_problems_in_a_stack_learn_what_each_learns_alone(name):
    # Batches of the second problem end with filler rows.
    sizes = [60, 51]
    tasks = []
    for seed, n_rows in enumerate(sizes):
        data = make_partial_label_dataset(
            n_rows, 4, 3, average_candidates=1.5 + 0.3 * seed, random_state=seed
        )
        tasks.append((data.X, data.candidates, seed))
    found = list(fit_many(quick(name), tasks, at_once=2))
    for fitted, (X, y, seed) in zip(found, tasks, strict=True):
        alone = quick(name, random_state=seed).fit(X, y)
        np.testing.assert_allclose(fitted.predict_proba(X), alone.predict_proba(X), atol=1e-4)
        np.testing.assert_allclose(fitted.history_["loss"], alone.history_["loss"], rtol=1e-3)


@each_method
def test_they_stay_finite_where_probabilities_are_zero_and_a_label_is_nobodys_candidate(name):
    mask = np.column_stack([MASK, np.zeros(len(MASK), dtype=bool)])
    # A linear model on huge features: layers that normalise would make them small again.
    fitted = quick(name, hidden=(), scaling="none", learning_rate=1.0, epochs=20)
    fitted.fit(DATA.X * 100, CandidateLabels.from_mask(mask))
    probabilities = fitted.predict_proba(DATA.X * 100)
    # Too small for a number in single precision.
    assert (probabilities < 1e-45).any()
    for values in (
        probabilities, fitted.history_["loss"], fitted.candidate_confidence_.data
    ):  # fmt: skip
        assert np.isfinite(values).all()
