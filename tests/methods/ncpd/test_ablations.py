"""What NCPD is without one of its parts, and with more networks, through the classifier."""

import copy

import numpy as np
import pytest
import torch
from ncpd_in_one_file import LiteralNCPD, make_perceptron

from disambig import NCPDClassifier
from disambig._core.errors import ParameterError
from disambig.datasets import make_partial_label_dataset
from methods.ncpd.both_ways import random_data

DATA = make_partial_label_dataset(60, 4, 3, average_candidates=1.8, overlap=0.2, random_state=0)


def quick(**parameters):
    defaults = {"hidden": 16, "epochs": 12, "ramp_epochs": 8, "batch_size": 16, "random_state": 0}
    return NCPDClassifier(device="cpu", **defaults | parameters)


def fit_both_ways(data, *, n_networks=2, **options):
    """Fit the classifier and the literal NCPD from the same first weights.

    Networks are handed in, so that weights are known and precision is double; all rows are in one
    batch, so that their order does not matter. Return the probabilities of every network both ways
    and the history.
    """
    made = []

    def network(n_features, n_classes):
        module = make_perceptron(n_features, (8,), n_classes, False, 0).double()
        made.append(copy.deepcopy(module))
        return module

    n_rows = len(data.sets)
    pace = {"ramp_epochs": 15, "learning_rate": 0.02}
    method = quick(
        network=network,
        n_networks=n_networks,
        scaling="none",
        epochs=20,
        batch_size=n_rows,
        **pace,
        **options,
    )
    method.fit(data.features, data.candidates)
    literal = LiteralNCPD(made, data.without_weightless().multi_birth_groups(), **pace, **options)
    for epoch in range(1, 21):
        literal.run_epoch(epoch, [range(n_rows)])
    with torch.no_grad():
        features = torch.as_tensor(data.features)
        expected = np.stack([module(features).softmax(-1).numpy() for module in made])
    return method.predict_proba_per_network(data.features), expected, method.history_


@pytest.mark.parametrize("progressive", [True, False])
@pytest.mark.parametrize("cooperation", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_each_ablation_is_the_literal_one(cooperation, progressive, weighted):
    data = random_data(0, weighted=weighted)
    found, expected, _ = fit_both_ways(data, cooperation=cooperation, progressive=progressive)
    assert len(found) == len(expected) == (2 if cooperation else 1)
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("without", ["cooperation", "progressive"])
def test_leaving_out_a_part_makes_a_difference(without):
    data = random_data(0)
    full, _, _ = fit_both_ways(data)
    ablated, _, _ = fit_both_ways(data, **{without: False})
    # From the same first weights.
    assert np.abs(full[0] - ablated[0]).max() > 0.01


@pytest.mark.parametrize("n_networks", [3, 4])
def test_with_more_networks_each_learns_from_the_mean_of_the_others(n_networks):
    found, expected, _ = fit_both_ways(random_data(0, weighted=True), n_networks=n_networks)
    assert len(found) == n_networks
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("n_networks", [3, 4])
def test_more_networks_predict_by_their_mean(n_networks):
    method = quick(n_networks=n_networks, epochs=30).fit(DATA.X, DATA.candidates)
    of_each = method.predict_proba_per_network(DATA.X)
    assert of_each.shape == (n_networks, 60, 3)
    assert len(np.unique(of_each[:, 0, 0])) == n_networks
    np.testing.assert_allclose(method.predict_proba(DATA.X), of_each.mean(axis=0), atol=1e-12)
    assert np.mean(method.predict(DATA.X) == DATA.true_labels) > 0.9
    assert np.mean(method.disambiguate() == DATA.true_labels) > 0.9


@pytest.mark.parametrize("n_networks", [1, 2, 5])
def test_without_cooperation_there_is_one_network_whatever_was_asked_for(n_networks):
    method = quick(cooperation=False, n_networks=n_networks).fit(DATA.X, DATA.candidates)
    alone = quick(cooperation=False).fit(DATA.X, DATA.candidates)
    of_each = method.predict_proba_per_network(DATA.X)
    assert of_each.shape == (1, 60, 3)
    np.testing.assert_array_equal(method.predict_proba(DATA.X), of_each[0])
    np.testing.assert_array_equal(method.predict_proba(DATA.X), alone.predict_proba(DATA.X))
    # A network agrees with itself.
    assert (method.history_["agreement"] == 1).all()


def test_one_network_cannot_cooperate():
    message = "one network has no other to cooperate with. Got 1: .* give cooperation=False"
    with pytest.raises(ParameterError, match=message):
        quick(n_networks=1).fit(DATA.X, DATA.candidates)


@pytest.mark.parametrize("cooperation", [True, False])
def test_without_progress_every_row_is_simple_from_the_first_epoch_on(cooperation):
    method = quick(progressive=False, cooperation=cooperation).fit(DATA.X, DATA.candidates)
    assert method.history_["simple"].tolist() == [1] * 12
    assert method.history_["T"].tolist() == [1] * 12


def test_without_progress_the_ramp_means_nothing():
    short = quick(progressive=False, ramp_epochs=1).fit(DATA.X, DATA.candidates)
    long = quick(progressive=False, ramp_epochs=1000).fit(DATA.X, DATA.candidates)
    np.testing.assert_array_equal(short.predict_proba(DATA.X), long.predict_proba(DATA.X))


@pytest.mark.parametrize("cooperation", [True, False])
def test_with_progress_more_and_more_rows_are_simple(cooperation):
    method = quick(cooperation=cooperation, epochs=30, learning_rate=0.01)
    history = method.fit(DATA.X, DATA.candidates).history_
    # T(t) with a ramp of eight: exp(-5 (t / 8 - 1)^2).
    expected = [np.exp(-5 * (epoch / 8 - 1) ** 2) for epoch in range(1, 9)] + [1] * 22
    np.testing.assert_allclose(history["T"], expected, atol=1e-12)
    # Of all candidates the share T has small losses, and each makes one row simple at most. In the
    # first epoch that is less than one of the 27 or so in each batch.
    per_row = DATA.candidates.to_mask().sum() / 60
    assert (history["simple"] <= history["T"] * per_row).all()
    assert history["simple"][0] == 0
    assert 0 < history["simple"][2] < history["simple"][4] < history["simple"][-1]
    assert history["simple"][-1] > 0.9
    # A row is simple only if what is predicted is a candidate of it; with T = 1, exactly then.
    assert (history["simple"] <= history["covering_rate"]).all()
    np.testing.assert_array_equal(history["simple"][7:], history["covering_rate"][7:])


@pytest.mark.parametrize("progressive", [True, False])
def test_singletons_leave_nothing_to_disambiguate(progressive):
    # All confidences are one from the start: networks learn the same with and without parts.
    labels = DATA.true_labels
    full = quick().fit(DATA.X, labels).predict_proba_per_network(DATA.X)
    ablated = quick(progressive=progressive, cooperation=False).fit(DATA.X, labels)
    np.testing.assert_allclose(ablated.predict_proba_per_network(DATA.X)[0], full[0], atol=1e-5)
