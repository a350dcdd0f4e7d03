"""What torch was told before a fit, and what is left of a fit when it is over."""

import gc
import threading
import weakref
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from torch import nn

from disambig import NCPDClassifier
from methods.ncpd.examples import NEW_X, X, Y, assert_same_bits, quick


def perceptron(n_features, n_classes):
    return nn.Sequential(nn.Linear(n_features, 8), nn.Dropout(0.5), nn.Linear(8, n_classes))


@contextmanager
def default_type(dtype):
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    yield
    torch.set_default_dtype(before)


SURROUNDINGS = {
    "no gradients": torch.no_grad,
    "inference mode": torch.inference_mode,
    "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    "half precision": lambda: default_type(torch.float16),
    "another device": lambda: torch.device("meta"),
}


@pytest.mark.parametrize("surroundings", SURROUNDINGS.values(), ids=SURROUNDINGS)
def test_a_fit_does_not_depend_on_what_torch_was_told(surroundings, fitted):
    with surroundings():
        found = quick().fit(X, Y)
        found.predict(NEW_X)
    assert_same_bits(found, fitted)


@pytest.mark.parametrize("surroundings", SURROUNDINGS.values(), ids=SURROUNDINGS)
def test_a_file_is_read_whatever_torch_was_told(surroundings, fitted, tmp_path):
    fitted.save(tmp_path / "model")
    with surroundings():
        found = NCPDClassifier.load(tmp_path / "model", device="cpu")
    assert_same_bits(found, fitted)


@pytest.mark.parametrize("surroundings", [torch.no_grad, torch.inference_mode])
def test_networks_of_the_user_learn_where_gradients_are_off(surroundings):
    expected = quick(network=perceptron).fit(X, Y)
    with surroundings():
        found = quick(network=perceptron).fit(X, Y)
    assert_same_bits(found, expected)


def test_threads_do_not_disturb_each_other(fitted):
    expected = quick(network=perceptron).fit(X, Y)
    pairs = []

    def fit_both():
        pairs.append((quick().fit(X, Y), quick(network=perceptron).fit(X, Y)))

    threads = [threading.Thread(target=fit_both) for _ in range(4)]
    state = torch.get_rng_state()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert torch.equal(torch.get_rng_state(), state)
    assert len(pairs) == 4
    for usual, own in pairs:
        assert_same_bits(usual, fitted)
        assert_same_bits(own, expected)


def test_a_training_goes_when_it_is_over():
    class Witness:
        def on_fit_end(self, training):
            self.training = weakref.ref(training)

    witness = Witness()
    gc.disable()
    try:
        quick(callbacks=[witness]).fit(X, Y)
        assert witness.training() is None
    finally:
        gc.enable()


def test_data_may_not_be_written_to():
    frozen = X.copy()
    frozen.flags.writeable = False
    assert_same_bits(quick(scaling="none").fit(frozen, Y), quick(scaling="none").fit(X, Y))


def test_rows_far_out_do_not_change_what_is_said_of_the_others(fitted):
    far = np.vstack([NEW_X, np.full((1, 4), 1e300)])
    probabilities = fitted.predict_proba(far)
    assert np.isfinite(probabilities).all()
    np.testing.assert_array_equal(probabilities[:-1], fitted.predict_proba(NEW_X))
