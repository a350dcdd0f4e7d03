from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import sparse

from disambig.engine.row_tables import FeaturesInMemory, FeaturesOnDisk, FeatureTable, RowMemory
from disambig.engine.rule import RowsOnDisk, TrainingData

CPU = torch.device("cpu")
# What files are mapped into memory, where the system says so.
MAPS = Path("/proc/self/maps")
NUMBERS = np.random.default_rng(0).normal(size=(9, 3))


class Rows:
    """Rows that are read from somewhere."""

    shape = NUMBERS.shape

    def __init__(self, folder=None):
        self.folder = folder
        self.most = 0

    def __len__(self):
        return len(NUMBERS)

    def read(self, rows):
        found = NUMBERS[rows]
        self.most = max(self.most, len(found))
        return found


def problem(features):
    return TrainingData(features, sparse.csr_array(np.full((9, 2), 0.5)), order_seed=0)


def tables(dtype=torch.float32):
    rows = Rows()
    assert isinstance(rows, RowsOnDisk)
    return (
        FeatureTable.of([problem(NUMBERS)], dtype, CPU),
        FeatureTable.of([problem(rows)], dtype, CPU),
        rows,
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_rows_are_read_alike_from_memory_and_disk_and_the_last_one_is_zero(dtype):
    in_memory, on_disk, rows = tables(dtype)
    assert isinstance(in_memory, FeaturesInMemory)
    assert isinstance(on_disk, FeaturesOnDisk)
    numbers = torch.tensor([3, 9, 0, 3, 8])
    expected = torch.as_tensor(np.vstack([NUMBERS, np.zeros(3)])[numbers], dtype=dtype)
    for table in (in_memory, on_disk):
        assert table.shape == (10, 3)
        assert table.dtype == dtype
        assert torch.equal(table.read(numbers), expected)
    assert rows.most == 5


def test_rows_on_disk_are_trained_on_alone():
    with pytest.raises(ValueError, match="Got 2 problems"):
        FeatureTable.of([problem(Rows()), problem(Rows())], torch.float32, CPU)


def test_tables_beside_rows_on_disk_lie_in_files_that_have_no_name(tmp_path):
    memory = RowMemory.of([problem(Rows(tmp_path))], CPU)
    table = memory.new(4, 2, dtype=torch.float32)
    assert not table.any()
    table += 1
    assert list(tmp_path.iterdir()) == []
    if MAPS.exists():
        assert str(tmp_path) in MAPS.read_text()
    assert table.sum() == 8
    assert memory.index_type == torch.int32


def test_tables_beside_rows_in_memory_lie_there_too():
    memory = RowMemory.of([problem(NUMBERS)], CPU)
    assert not memory.new(4, dtype=torch.bool).any()
    assert memory.index_type == torch.int64
