import pytest
import torch

from disambig.engine.fast.step import Clock, RowsInBatch

REAL = torch.tensor([[True, True, True], [True, True, False], [True, False, False]])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_what_layers_need_follows_from_which_rows_are_real(dtype):
    rows = RowsInBatch.from_real(REAL, dtype)
    expected = {
        "real": [[[1], [1], [1]], [[1], [1], [0]], [[1], [0], [0]]],
        "averaging": [[[1 / 3, 1 / 3, 1 / 3]], [[0.5, 0.5, 0]], [[1, 0, 0]]],
        "counts": [[[3]], [[2]], [[1]]],
        "unbiased": [[[3 / 2]], [[2]], [[1]]],  # n / (n - 1), and one for a single row
    }
    for name, values in expected.items():
        assert torch.equal(getattr(rows, name), torch.tensor(values, dtype=dtype))


def test_steps_on_the_first_axis_can_be_had_one_by_one():
    steps = torch.stack([REAL, REAL.flip(0)])
    table = RowsInBatch.from_real(steps, torch.float64)
    clock = Clock()
    for step in range(2):
        alone = RowsInBatch.from_real(steps[step], torch.float64)
        for found, expected in zip(table.at(clock), alone, strict=True):
            assert torch.equal(found, expected)
        clock.advance()
