"""Where errors are expected, compared with loops over rows and their candidates."""

import numpy as np
import pytest

from disambig.tabular.doubt import errors_left, find_doubt, review_order
from web.hand_made_rows import five_rows, made_rows


def random_rows(n_rows, n_labels, seed, *, miss=0.0):
    """Return rows with random sets, whose confidences sum to what the sets do not miss."""
    generator = np.random.default_rng(seed)
    shares = []
    for _ in range(n_rows):
        labels = generator.choice(n_labels, generator.integers(1, n_labels + 1), replace=False)
        powers = generator.exponential(size=len(labels)) ** 3
        powers *= (1 - miss * generator.random()) / powers.sum()
        shares.append(
            {f"label {label}": power for label, power in zip(labels, powers, strict=True)}
        )
    return shares


@pytest.mark.parametrize("miss", [0.0, 0.4])
def test_expected_errors_are_those_of_a_loop_over_candidates(miss):
    shares = random_rows(60, 4, seed=1, miss=miss)
    doubt = find_doubt(made_rows(shares))
    by_pair, counts, total, outside = {}, {}, 0.0, 0.0
    for share in shares:
        chosen = max(share, key=share.__getitem__)
        total += 1 - share[chosen]
        outside += 1 - sum(share.values())
        for other, value in share.items():
            if other != chosen:
                pair = tuple(sorted((chosen, other)))
                by_pair[pair] = by_pair.get(pair, 0) + value
                counts[pair] = counts.get(pair, 0) + 1
    assert doubt.errors == pytest.approx(total)
    assert doubt.outside == pytest.approx(outside, abs=1e-9)
    assert doubt.n_pairs == len(by_pair)
    assert {pair.labels: pair.errors for pair in doubt.pairs} == pytest.approx(by_pair)
    assert {pair.labels: pair.n_rows for pair in doubt.pairs} == counts
    errors = [pair.errors for pair in doubt.pairs]
    assert errors == sorted(errors, reverse=True)


def test_errors_are_told_apart_by_which_label_was_chosen():
    # cat was chosen once and dog may be right; fox was chosen twice.
    table = find_doubt(five_rows()).by_label.toarray()
    np.testing.assert_allclose(table, [[0, 0.3, 0], [0, 0, 0], [0.2, 0.3 + 0.45, 0]])


def test_a_candidate_that_is_ruled_out_is_no_doubt():
    doubt = find_doubt(made_rows([{"cat": 1.0, "dog": 0.0}, {"cat": 1.0}]))
    assert (doubt.errors, doubt.pairs, doubt.n_pairs, doubt.outside) == (0, (), 0, 0)


def test_only_the_most_doubtful_of_very_many_pairs_are_named():
    n_labels = 40
    doubt = find_doubt(made_rows([{f"l{i}": 1 / n_labels for i in range(n_labels)}] * 50))
    assert doubt.n_pairs == n_labels - 1  # the first is chosen everywhere
    shares = [{f"l{i}": 0.6, f"l{j}": 0.4} for i in range(n_labels) for j in range(i + 1, n_labels)]
    doubt = find_doubt(made_rows(shares))
    assert doubt.n_pairs == len(shares) == 780
    assert len(doubt.pairs) == 100


def test_errors_left_are_counted_down_row_by_row():
    confidence = np.array([0.9, 0.5, 1.0, 0.7])
    order = np.array([1, 3, 0, 2])
    np.testing.assert_allclose(errors_left(confidence, order), [0.9, 0.4, 0.1, 0, 0], atol=1e-12)
    assert errors_left(np.array([1 + 1e-9]), np.array([0])).tolist() == [0, 0]


def test_marked_rows_are_reviewed_first_and_the_least_sure_of_them_at_the_beginning():
    # The least sure row was answered before, and is not marked again.
    shares = [{"a": c, "b": 1 - c} for c in (0.55, 0.9, 0.6, 0.99, 0.7)]
    rows = made_rows(shares, marked=[False, True, True, False, True])
    assert review_order(rows).tolist() == [2, 4, 1, 0, 3]
    doubt = find_doubt(rows)
    assert doubt.n_marked == 3
    np.testing.assert_allclose(doubt.left, [1.26, 0.86, 0.56, 0.46, 0.01, 0], atol=1e-12)
    assert doubt.left_at_end == pytest.approx(0.46)
