import itertools

import numpy as np
import pytest

from disambig.solvers import annotators as annotators_module
from disambig.solvers.annotator_quality import agreements, judge_annotators
from disambig.solvers.annotators import collect_answers, fit_annotators

SKILLS = (0.95, 0.8, 0.7, 0.6, 1 / 3)
CLASSES = 3


def drawn(seed=0, n_items=300, skills=SKILLS, per_item=None):
    """Return true labels, and answers as items, annotators, labels."""
    random = np.random.default_rng(seed)
    truth = random.choice(CLASSES, n_items, p=[0.5, 0.3, 0.2])
    rows = []
    for item, annotator in itertools.product(range(n_items), range(len(skills))):
        is_right = random.random() < skills[annotator]
        wrong = (truth[item] + random.integers(1, CLASSES)) % CLASSES
        rows.append((item, annotator, truth[item] if is_right else wrong))
    answers = np.array(rows).reshape(n_items, len(skills), 3)
    if per_item is not None:
        answers = np.array([random.permutation(of_item)[:per_item] for of_item in answers])
    return truth, *answers.reshape(-1, 3).T


def collected(items, annotators, labels, n_items=300, n_annotators=5):
    sets = np.eye(CLASSES, dtype=bool)
    return collect_answers(
        items, annotators, labels, sets, n_items=n_items, n_annotators=n_annotators
    )


def collected_sets(items, annotators, sets, **sizes):
    codes = np.arange(len(items))
    return collect_answers(
        np.asarray(items), np.asarray(annotators), codes, np.asarray(sets) > 0, **sizes
    )


def dawid_skene(answers, n_items, n_annotators, steps):
    """Return labels and confusions by the loops of 1979: votes first, then M and E in turn."""
    posterior = np.zeros((n_items, CLASSES))
    for item, _, label in answers:
        posterior[item, label] += 1
    posterior /= posterior.sum(axis=1, keepdims=True)
    for _ in range(steps):
        confusions = np.zeros((n_annotators, CLASSES, CLASSES))
        for item, annotator, label in answers:
            confusions[annotator, :, label] += posterior[item]
        confusions /= confusions.sum(axis=2, keepdims=True)
        shares = posterior.sum(axis=0) + 1 / CLASSES
        joint = np.repeat([shares / shares.sum()], n_items, axis=0)
        for item, annotator, label in answers:
            joint[item] *= confusions[annotator, :, label]
        posterior = joint / joint.sum(axis=1, keepdims=True)
    return posterior, confusions


def test_without_shrinkage_it_is_the_model_of_dawid_and_skene(monkeypatch):
    _, *columns = drawn()
    monkeypatch.setattr(annotators_module, "_STEPS", 7)
    found = fit_annotators(collected(*columns), shrinkage=0)
    posterior, confusions = dawid_skene(list(zip(*columns, strict=True)), 300, len(SKILLS), 7)
    np.testing.assert_allclose(found.confusions, confusions, atol=1e-8)
    np.testing.assert_allclose(found.posterior, posterior, atol=1e-8)


def test_labels_and_skills_are_found():
    truth, *columns = drawn()
    found = fit_annotators(collected(*columns))
    assert (found.posterior.argmax(axis=1) == truth).mean() > 0.95
    skills = np.trace(found.confusions, axis1=1, axis2=2) / CLASSES
    np.testing.assert_allclose(skills, SKILLS, atol=0.07)
    np.testing.assert_allclose(found.confusions.sum(axis=2), 1)
    votes = np.zeros((300, CLASSES))
    np.add.at(votes, (columns[0], columns[2]), 1)
    assert (votes.argmax(axis=1) == truth).mean() < 0.93


def shrunk_by_loops(counts, shrinkage):
    n_annotators = len(counts)
    right = sum(counts[a, k, k] for a in range(n_annotators) for k in range(CLASSES))
    made_up = 2 + 0.2 * counts.sum()
    all_right = (right + made_up * (1 / 2 + 1 / 2 / CLASSES)) / (counts.sum() + made_up)
    expected = np.zeros_like(counts)
    for a, k in itertools.product(range(n_annotators), range(CLASSES)):
        own_right = sum(counts[a, j, j] for j in range(CLASSES))
        drawn_to = 2.5 * shrinkage
        skill = (own_right + drawn_to * all_right) / (counts[a].sum() + drawn_to)
        others = [j for j in range(CLASSES) if j != k]
        of_all = {j: counts[:, k, j].sum() + 1 for j in others}
        total = sum(of_all.values())
        mistakes = {
            j: sum(counts[a, i, j] for i in range(CLASSES) if i != j)
            + shrinkage * of_all[j] / total
            for j in others
        }
        for j in range(CLASSES):
            share = skill if j == k else (1 - skill) * mistakes[j] / sum(mistakes.values())
            expected[a, k, j] = (counts[a, k, j] + shrinkage * share) / (
                counts[a, k].sum() + shrinkage
            )
    return expected


def test_shrinkage_adds_answers_as_the_annotators_others_are():
    counts = np.random.default_rng(0).gamma(1.0, size=(4, CLASSES, CLASSES))
    counts[3] = 0  # of whom nothing is known but how good people are
    found = annotators_module._shrunk(counts, 2.5)
    np.testing.assert_allclose(found, shrunk_by_loops(counts, 2.5))


def test_a_set_is_as_likely_as_its_labels_together():
    _, *columns = drawn()
    known = fit_annotators(collected(*columns))
    items = np.concatenate([columns[0], [300, 301, 302, 303]])
    annotators = np.concatenate([columns[1], [0, 0, 0, 0]])
    either, not_one, unsure, any_of_all = [1, 1, 0], [1, 0, 1], [0, 0, 0], [1, 1, 1]
    sets = np.concatenate([np.eye(CLASSES)[columns[2]], [either, not_one, unsure, any_of_all]])
    answers = collected_sets(items, annotators, sets, n_items=304, n_annotators=5)
    found = fit_annotators(answers)
    # A set is a weak answer, so that little is learned from these few.
    np.testing.assert_allclose(found.confusions, known.confusions, atol=0.01)
    of_annotator = found.confusions[0]
    for item, labels in ((300, [0, 1]), (301, [0, 2])):
        expected = of_annotator[:, labels].sum(axis=1)
        np.testing.assert_allclose(found.likelihood[item], expected / expected.max(), rtol=1e-6)
    np.testing.assert_array_equal(found.likelihood[302:], 1)
    np.testing.assert_allclose(found.posterior[302], found.posterior[303])
    assert answers.counts.tolist() == [302, 300, 300, 300, 300]


def test_what_an_annotator_says_in_several_lines_is_one_answer():
    one, two, all_but = [1, 0, 0], [0, 1, 0], [0, 1, 1]
    answers = collected_sets(
        [0, 0, 1, 1, 2, 2, 0],
        [0, 0, 0, 0, 0, 0, 1],
        [one, two, two, two, one, all_but, one],  # the last of 0 leaves all labels
        n_items=3,
        n_annotators=2,
    )
    said = {
        (int(answers.annotators[kind]), int(item)): answers.sets[kind].astype(int).tolist()
        for kind, item in zip(*answers.given.nonzero(), strict=True)
    }
    assert said == {(0, 0): [1, 1, 0], (0, 1): two, (1, 0): one}


def test_sets_are_shared_out_by_what_the_annotator_is_like():
    """One step of EM for sets, by hand: the label in mind goes by the confusions before."""
    confusion = np.array([[0.7, 0.2, 0.1], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8]])
    answers = collected_sets([0, 1], [0, 0], [[1, 1, 0], [0, 1, 0]], n_items=2, n_annotators=1)
    posterior = np.array([[0.5, 0.25, 0.25], [0.1, 0.8, 0.1]])
    counts = annotators_module._expected_counts(answers, confusion[np.newaxis], posterior)[0]
    expected = np.zeros((3, 3))
    for k in range(3):
        for label in (0, 1):
            share = confusion[k, label] / (confusion[k, 0] + confusion[k, 1])
            expected[k, label] += posterior[0, k] * share
        expected[k, 1] += posterior[1, k]
    np.testing.assert_allclose(counts, expected)


def test_a_single_answer_to_each_item_says_nothing_of_the_annotator():
    _, *columns = drawn(per_item=1)
    found = fit_annotators(collected(*columns))
    np.testing.assert_array_equal(found.posterior.argmax(axis=1), columns[2])
    for confusion in found.confusions[1:]:
        np.testing.assert_allclose(confusion, found.confusions[0])


def test_two_annotators_do_not_tell_who_is_right():
    _, items, annotators, labels = drawn(n_items=200, skills=(0.9, 0.4))
    found = fit_annotators(collected(items, annotators, labels, n_items=200, n_annotators=2))
    np.testing.assert_allclose(found.confusions[0], found.confusions[1])
    first, second = labels[annotators == 0], labels[annotators == 1]
    rows = np.arange(200)
    np.testing.assert_allclose(found.posterior[rows, first], found.posterior[rows, second])


@pytest.mark.parametrize("skills", [(0.5, 0.5, 0.5), (0.9, 0.4, 0.4), (0.6, 0.6, 0.5)])
def test_few_poor_annotators_are_no_worse_off_than_with_a_vote(skills):
    right, by_vote = [], []
    for seed in range(20):
        truth, *columns = drawn(seed=seed, n_items=80, skills=skills)
        found = fit_annotators(collected(*columns, n_items=80, n_annotators=len(skills)))
        right.append((found.posterior.argmax(axis=1) == truth).mean())
        votes = np.random.default_rng(seed).random((80, CLASSES)) / 10  # ties are broken so
        np.add.at(votes, (columns[0], columns[2]), 1)
        by_vote.append((votes.argmax(axis=1) == truth).mean())
    assert np.mean(right) > np.mean(by_vote) - 0.02


def said_by_classifier(truth, power=1.0, seed=1):
    """Return probabilities that hold, raised to a power."""
    random = np.random.default_rng(seed)
    said = random.dirichlet(np.full(CLASSES, 0.3), len(truth))
    # The truth is drawn from them, so that they mean what they say.
    order = np.array([random.choice(CLASSES, p=row) for row in said])
    for row, (drawn_label, label) in enumerate(zip(order, truth, strict=True)):
        said[row, [drawn_label, label]] = said[row, [label, drawn_label]]
    said **= power
    return said / said.sum(axis=1, keepdims=True)


def test_with_a_prior_single_answers_tell_who_is_good():
    truth, *columns = drawn(n_items=1500, per_item=1)
    answers = collected(*columns, n_items=1500)
    prior = said_by_classifier(truth)
    found = fit_annotators(answers, prior)
    skills = np.trace(found.confusions, axis1=1, axis2=2) / CLASSES
    np.testing.assert_allclose(skills, SKILLS, atol=0.1)
    is_right = (found.posterior.argmax(axis=1) == truth).mean()
    alone = fit_annotators(answers).posterior
    assert is_right > (prior.argmax(axis=1) == truth).mean() + 0.03
    assert is_right > (alone.argmax(axis=1) == truth).mean() + 0.1


@pytest.mark.parametrize(("power", "expected"), [(0.5, 1), (1, 1), (2, 0.5), (3, 0.35)])
def test_a_prior_is_believed_as_far_as_answers_bear_it_out(power, expected):
    truth, *columns = drawn(n_items=1500)
    found = fit_annotators(
        collected(*columns, n_items=1500), said_by_classifier(truth, power=power)
    )
    assert found.prior_power == pytest.approx(expected, rel=0.01)


def test_the_posterior_is_the_prior_times_the_likelihood():
    truth, *columns = drawn(n_items=100)
    prior = said_by_classifier(truth)
    found = fit_annotators(collected(*columns, n_items=100), prior)
    joint = prior**found.prior_power
    for item, annotator, label in zip(*columns, strict=True):
        joint[item] *= found.confusions[annotator, :, label]
    np.testing.assert_allclose(found.posterior, joint / joint.sum(axis=1, keepdims=True), rtol=1e-6)


def test_accuracies_have_intervals_that_hold():
    inside = []
    for seed in range(12):
        truth, *columns = drawn(seed=seed, n_items=200)
        answers = collected(*columns, n_items=200)
        judged = judge_annotators(answers, fit_annotators(answers))
        for annotator, quality in enumerate(judged):
            own = columns[1] == annotator
            actual = (columns[2] == truth[columns[0]])[own].mean()
            assert quality.n_answers == 200
            assert quality.accuracy.share == pytest.approx(actual, abs=0.12)
            # Around the skill, which the answers are drawn from.
            inside.append(quality.accuracy.low <= SKILLS[annotator] <= quality.accuracy.high)
    assert np.mean(inside) > 0.85


def test_nothing_is_known_of_somebody_whom_nobody_checks():
    _, *columns = drawn(n_items=200, skills=(0.9,))
    answers = collected(*columns, n_items=200, n_annotators=2)
    alone, silent = judge_annotators(answers, fit_annotators(answers))
    assert alone.accuracy.low < 0.05
    assert alone.accuracy.high > 0.95
    assert (silent.n_answers, silent.accuracy.low, silent.accuracy.high) == (0, 0, 1)
    assert not alone.is_random
    assert not silent.is_random


def test_who_guesses_and_who_always_says_the_same_answers_at_random():
    truth, items, annotators, labels = drawn(n_items=400, skills=(0.9, 0.8, 0.8, 1 / 3, 0.9))
    labels = np.where(annotators == 4, 2, labels)  # always the same
    swapped = np.where(truth[items] == 0, 1, np.where(truth[items] == 1, 0, 2))
    labels = np.where(annotators == 2, swapped, labels)  # always the other of two
    answers = collected(items, annotators, labels, n_items=400)
    judged = judge_annotators(answers, fit_annotators(answers))
    # Who mistakes one label for another tells as much as who does not.
    assert [quality.is_random for quality in judged] == [False, False, False, True, True]
    assert judged[2].accuracy.high < 0.4
    assert judged[2].tells > judged[1].tells
    assert [quality.never for quality in judged] == [(), (), (), (), (0, 1)]


def test_who_agrees_with_whom():
    sets = np.array([[1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 1, 1], [0, 1, 0], [0, 1, 0], [1, 0, 0]])
    items, annotators = np.array([0, 0, 1, 1, 2, 2, 0]), np.array([0, 1, 0, 1, 0, 1, 2])
    answers = collected_sets(items, annotators, sets, n_items=3, n_annotators=3)
    first, second, third = sorted(agreements(answers, fewest=1))
    assert (first.first, first.second, first.n_common) == (0, 1, 3)
    assert first.share == pytest.approx(1 / 3)
    # 0 says 0, 0, 1 and 1 says 1, 1 or 2, 1: only the third of his answers that is 1 overlaps.
    assert first.by_chance == pytest.approx(1 / 3)
    assert (second.first, second.second, second.share) == (0, 2, 1.0)
    assert (third.first, third.second, third.share) == (1, 2, 0.0)
    least_first = [pair.share for pair in agreements(answers, fewest=1)]
    assert least_first == sorted(least_first)
    assert len(agreements(answers, fewest=2)) == 1
    assert agreements(answers) == []
