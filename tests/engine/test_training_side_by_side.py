import numpy as np
import pytest
import torch

from disambig.engine.module_stack import ModuleStack
from engine.small_problems import (
    MEASURES,
    BelieveOthers,
    dropping_module,
    make_problem,
    networks_of,
    trained,
)


@pytest.mark.parametrize(
    ("make", "dtype", "tolerance"),
    [
        (networks_of, torch.float64, 1e-9),
        (networks_of, torch.float32, 1e-5),
        (
            lambda *seeds, dtype: ModuleStack(dropping_module, 4, 5, seeds=seeds).to(dtype),
            torch.float64,
            1e-9,
        ),
    ],
    ids=["double", "single", "modules"],
)
def test_problems_side_by_side_are_trained_like_each_alone(make, dtype, tolerance):
    # 5 batches an epoch each, of 8 to 10 rows: batches are filled up.
    problems = [make_problem(count, seed=count) for count in (45, 41, 50)]
    seeds = [(1, 2), (3, 4), (5, 6)]
    usual = {"epochs": 5, "batch_size": 10, "learning_rate": 0.001}
    networks = make(*(seed for pair in seeds for seed in pair), dtype=dtype)
    together = trained(networks, problems, BelieveOthers(4), **usual)
    for number, (problem, pair) in enumerate(zip(problems, seeds, strict=True)):
        alone_networks = make(*pair, dtype=dtype)
        alone = trained(alone_networks, [problem], BelieveOthers(4), **usual)
        for name in MEASURES:
            np.testing.assert_allclose(
                together.histories[number][name], alone.histories[0][name], atol=tolerance
            )
        found = networks.part(2 * number, 2).state_dict()
        for name, value in alone_networks.state_dict().items():
            torch.testing.assert_close(found[name], value, rtol=tolerance, atol=tolerance)


def test_problems_with_different_numbers_of_batches_cannot_be_trained_side_by_side():
    with pytest.raises(ValueError, match="All problems need the same number of batches"):
        trained(networks_of(1, 2, 3, 4), [make_problem(20), make_problem(40)])
