import os
import pickle
import time
from pathlib import Path

import numpy as np
import pytest

from disambig import NCPDClassifier, read_table
from disambig._core.cache_folder import made_of_tables
from disambig._core.errors import TableError
from disambig.tabular import FitListener, TableOnDisk
from disambig.tabular.feature_cache import features_on_disk
from disambig.tabular.table_model import TableModel, untrained_model
from disambig.tabular.task import TableTask, prepare_task
from tabular.on_disk_tables import many_kinds, write_parts

pytest.importorskip("pyarrow.parquet")
pytestmark = pytest.mark.filterwarnings("ignore:Left out 'id'")


class Rows(FitListener):
    """Keep how far the features are."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, int]] = []

    def on_rows_done(self, title: str, n_done: int, n_rows: int) -> None:
        """Keep it."""
        self.seen.append((n_done, n_rows))


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    """Write a table as three files."""
    return write_parts(many_kinds(), tmp_path / "parts")


def learned(task: TableTask, listener: FitListener | None = None) -> tuple[TableModel, np.ndarray]:
    """Return what is learned before any training."""
    return untrained_model(task.plan, task.values, NCPDClassifier(), listener)


def test_features_on_disk_are_those_in_memory(parts: Path) -> None:
    in_memory, on_disk = prepare_task(read_table(parts)), prepare_task(TableOnDisk(parts))
    assert in_memory.plan == on_disk.plan
    model, X = learned(in_memory)
    mapped_model, mapped = learned(on_disk)
    assert isinstance(mapped, np.memmap)
    assert mapped_model.transformer.state == model.transformer.state
    state = model.transformer.state
    assert all((state.tails, state.spikes, state.gaps))  # or little would have been compared
    np.testing.assert_allclose(mapped, X, rtol=0, atol=1e-5)
    arrays, others = model.transformer.to_arrays(), mapped_model.transformer.to_arrays()
    for name, array in arrays.items():
        np.testing.assert_allclose(others[name], array, rtol=1e-12)


def test_features_are_made_once_and_again_if_anything_changes(parts: Path) -> None:
    rows = Rows()
    _, first = learned(prepare_task(TableOnDisk(parts)), rows)
    assert rows.seen[-1] == (600, 600)
    again = Rows()
    _, second = learned(prepare_task(TableOnDisk(parts)), again)
    assert not again.seen
    assert second.filename == first.filename
    learned(prepare_task(TableOnDisk(parts), ignore="tail"), again)
    assert again.seen
    write_parts(many_kinds().iloc[::-1], parts)
    _, other = learned(prepare_task(TableOnDisk(parts)))
    assert other.filename != first.filename
    assert not np.array_equal(other, first)


def test_some_rows_are_features_of_their_own(parts: Path) -> None:
    values = prepare_task(TableOnDisk(parts)).values
    few = np.array([0, 3, 4, 199, 200, 480, 599])
    part = values.take(np.arange(0, 600, 2)).take(np.array([0, 2, 100, 240]))
    taken = many_kinds()["mean"].to_numpy()
    np.testing.assert_array_equal(values.take(few).frame()["mean"], taken[few])
    np.testing.assert_array_equal(part.frame()["mean"], taken[[0, 4, 200, 480]])
    in_blocks = np.concatenate([block["mean"] for _, block in part.blocks()])
    np.testing.assert_array_equal(in_blocks, taken[[0, 4, 200, 480]])


def test_parts_of_a_file_of_embeddings_are_told_apart_and_stay_parts(
    parts: Path, tmp_path: Path
) -> None:
    path = tmp_path / "embeddings.npy"
    np.save(path, np.arange(3600.0).reshape(1200, 3))
    mapped = np.load(path, mmap_mode="r")
    first, second = (
        prepare_task(TableOnDisk(parts), embeddings=mapped[place::2]).values for place in (0, 1)
    )
    assert first.fingerprint != second.fingerprint
    elsewhere = pickle.loads(pickle.dumps(second))
    np.testing.assert_array_equal(elsewhere.embeddings, mapped[1::2])


def test_a_file_of_another_shape_under_the_name_is_made_again(parts: Path) -> None:
    task = prepare_task(TableOnDisk(parts))
    model, X = learned(task)
    expected, path = np.array(X), Path(X.filename)
    for content in (b"", b"no array", path.read_bytes()[:-40]):
        path.write_bytes(content)
        np.testing.assert_array_equal(features_on_disk(model.transformer, task.values), expected)


def test_files_that_nobody_has_used_for_a_week_are_removed(parts: Path) -> None:
    _, X = learned(prepare_task(TableOnDisk(parts)))
    old, own = Path(X.filename), made_of_tables() / "notes.npy"
    own.write_bytes(b"mine")
    week = 8 * 24 * 60 * 60
    for path in (old, own):
        os.utime(path, (time.time() - week, time.time() - week))
    learned(prepare_task(TableOnDisk(parts), ignore="tail"))
    assert not old.exists()
    assert own.exists()


def test_a_full_disk_is_told_before_anything_is_written(
    parts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = prepare_task(TableOnDisk(parts))
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 1000}))
    with pytest.raises(TableError, match=r"600 rows take .* has 1KB left.*XDG_CACHE_HOME"):
        learned(task)
    assert not any(made_of_tables().iterdir())
