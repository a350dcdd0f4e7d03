"""Rows mixed with others: by shares of a beta distribution, and never with filler."""

import numpy as np
import pytest
import torch
from scipy import stats

from disambig.engine.mixing import Mixing
from disambig.engine.views import streams_of_problems
from engine.small_problems import make_problem

CPU = torch.device("cpu")


def draw(order_seeds, counts, n_rows, concentration=4.0, step=3, n_networks=2):
    problems = [make_problem(order_seed=seed) for seed in order_seeds]
    streams = (streams_of_problems(problems, CPU, 1), streams_of_problems(problems, CPU, 2))
    is_real = (torch.arange(n_rows) < torch.tensor(counts).unsqueeze(1)).unsqueeze(1)
    steps, dtype = torch.tensor([0, step]), torch.float64
    mixing = Mixing.drawn(concentration, is_real, streams, n_networks, steps, dtype=dtype)
    return Mixing(*(part[1] for part in mixing))


@pytest.mark.parametrize("concentration", [0.75, 4.0])
def test_shares_are_the_larger_part_of_a_beta_distribution(concentration):
    mixing = draw(range(2000), [4] * 2000, 4, concentration)
    beta = stats.beta(concentration, concentration)
    shares = mixing.shares.flatten().numpy()
    assert stats.kstest(shares, lambda x: beta.cdf(x) - beta.cdf(1 - x)).pvalue > 0.01
    assert mixing.shares.shape == (2000, 2, 1, 1)
    assert abs(np.corrcoef(shares[::2], shares[1::2])[0, 1]) < 0.1


def test_rows_are_mixed_as_their_partners_and_shares_say():
    mixing = draw([5, 6], [5, 3], 5)
    values = torch.randn(2, 2, 5, 3, generator=torch.Generator().manual_seed(0)).double()
    others = values + 10
    for mixed, second in ((mixing.of(values), values), (mixing.of(values, others), others)):
        for problem in range(2):
            for network in range(2):
                partners = mixing.partners[problem, network]
                share = mixing.shares[problem, network].item()
                expected = share * values[problem, network]
                expected = expected + (1 - share) * second[problem, network][partners]
                torch.testing.assert_close(mixed[problem, network], expected)
    assert set(mixing.partners[1, 0, :3].tolist()) == {0, 1, 2}


def test_a_problem_draws_what_it_draws_alone():
    together, alone = draw([5, 6], [5, 3], 5), draw([6], [3], 3)
    assert torch.equal(together.partners[1:, :, :3], alone.partners)
    assert torch.equal(together.shares[1:], alone.shares)
