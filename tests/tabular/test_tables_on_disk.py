from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from disambig import NCPDClassifier, audit_table, clean_table, fit_table, read_table
from disambig._core.errors import ParameterError, TableError
from disambig.tabular import FitListener, TableOnDisk, read_cleaned, read_embeddings
from disambig.tabular.clean_details import details_path, fingerprint_of_cells, read_details
from disambig.web.doubtful_rows import doubtful_data
from disambig.web.table_report import table_page
from tabular.on_disk_tables import many_kinds, write_parts

pytest.importorskip("pyarrow.parquet")
pytestmark = pytest.mark.filterwarnings("ignore:Left out 'id'", "ignore:Training ends after")

QUICK = {"epochs": 2, "hidden": 16, "batch_size": 64}


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a table as three files."""
    return write_parts(many_kinds(), tmp_path_factory.mktemp("tables") / "parts")


def ncpd() -> NCPDClassifier:
    """Return a method that is trained in no time."""
    return NCPDClassifier(**QUICK)


def test_an_audit_on_disk_says_what_it_says_in_memory(parts: Path) -> None:
    given = {"truth": "truth", "id": "id"}
    on_disk = audit_table(TableOnDisk(parts), **given)
    assert on_disk.to_json() == audit_table(read_table(parts), **given).to_json()


def test_an_audit_of_many_rows_looks_at_features_of_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = many_kinds(800)
    frame.loc[2, frame.columns[:9]] = frame.loc[3, frame.columns[:9]]
    frame.loc[[2, 3], "label"] = ["w", "x"]
    frame.loc[790, "label"] = "W"  # looks like a slip, and is in no sampled run
    frame.loc[700, "label"] = None
    table = TableOnDisk(write_parts(frame, tmp_path / "parts"))
    monkeypatch.setattr("disambig.tabular.audit.table_audit._ROWS_LOOKED_AT", 200)
    audit = audit_table(table, truth="truth")
    found = {finding.kind: finding.rows for finding in audit.findings}
    assert found["no_label"] == (701,)
    assert found["spelled_alike"] == (791,)
    assert found["contradictions"] == (3, 4)
    assert any("200 rows, from all parts" in notice for notice in audit.notices)


def test_a_fit_on_disk_predicts_and_estimates_as_in_memory(parts: Path) -> None:
    given = {"truth": "truth", "n_folds": 2, "random_state": 3}
    in_memory = fit_table(read_table(parts), method=ncpd(), **given)
    on_disk = fit_table(TableOnDisk(parts), method=ncpd(), **given)
    assert on_disk.estimate is not None
    frame = many_kinds()
    # Scales differ in the last bits, as columns are added up by themselves.
    np.testing.assert_allclose(
        on_disk.predict_proba(frame), in_memory.predict_proba(frame), rtol=0, atol=1e-4
    )
    chosen, expected = (model.predict(frame)["predicted_label"] for model in (on_disk, in_memory))
    assert chosen.tolist() == expected.tolist()


def test_without_a_method_networks_learn_and_others_are_refused(parts: Path) -> None:
    with pytest.raises(ParameterError, match=r"plknn needs all rows in memory.*ncpd.*--memory"):
        fit_table(TableOnDisk(parts), method="plknn", truth="truth")
    with (
        pytest.warns(UserWarning, match="the method is ncpd"),
        pytest.raises(TableError, match="no column 'laebl'"),
    ):
        fit_table(TableOnDisk(parts), labels="laebl")


def test_texts_are_left_out_with_a_notice_and_refused_where_they_were_named(tmp_path: Path) -> None:
    frame = many_kinds(200)
    frame["said"] = [f"there were {row} of them in the house" for row in range(200)]
    table = TableOnDisk(write_parts(frame, tmp_path / "parts"))
    audit = audit_table(table, truth="truth")
    assert "text" not in audit.features
    assert any("'said' is left out" in notice for notice in audit.notices)
    with pytest.raises(TableError, match=r"'said' is left out.*--memory"):
        fit_table(table, truth="truth", text="said")


def test_a_cell_that_cannot_be_a_feature_is_named_by_its_row_in_the_whole_table(
    tmp_path: Path,
) -> None:
    frame = many_kinds()
    frame.loc[437, "mean"] = np.inf
    table = TableOnDisk(write_parts(frame, tmp_path / "parts"))
    with pytest.raises(TableError, match=r"'mean' holds numbers that are infinite.*row 438"):
        fit_table(table, features=["mean", "tail"], method=ncpd(), n_folds=0)


def test_a_label_that_cannot_be_read_is_named_by_its_row(tmp_path: Path) -> None:
    frame = many_kinds()
    frame.loc[437, "label"] = "w|x|!w|!x"
    table = TableOnDisk(write_parts(frame, tmp_path / "parts"))
    with pytest.raises(TableError, match=r"Labels cannot be read in row 438: column 'label'"):
        fit_table(table, method=ncpd(), truth="truth")


def test_decisions_groups_and_bad_rows_work_on_disk(parts: Path) -> None:
    from disambig.tabular import Answer

    given = {
        "truth": "truth", "group": "many", "decisions": {5: "w", 7: Answer.BAD_ROW}, "n_folds": 0
    }  # fmt: skip
    frame = many_kinds()
    in_memory = fit_table(read_table(parts), method=ncpd(), **given)
    on_disk = fit_table(TableOnDisk(parts), method=ncpd(), **given)
    assert on_disk.bad_rows == 1
    pd.testing.assert_frame_equal(on_disk.predict(frame), in_memory.predict(frame), atol=1e-4)


@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl"])
def test_cleaning_on_disk_writes_what_it_writes_in_memory(
    parts: Path, tmp_path: Path, suffix: str
) -> None:
    given = {"truth": "truth", "in_sample": True, "method": ncpd(), "random_state": 5}
    expected = clean_table(read_table(parts), out=tmp_path / f"memory.{suffix}", **given)
    out = tmp_path / f"disk.{suffix}"
    cleaned = clean_table(TableOnDisk(parts), out=out, **given)
    assert (cleaned is None) == (suffix != "parquet")
    on_disk, in_memory = read_table(out), read_table(tmp_path / f"memory.{suffix}")
    assert list(on_disk.columns) == list(expected.columns)
    assert on_disk["chosen_label"].tolist() == expected["chosen_label"].tolist()
    for name in ("confidence", "margin"):
        np.testing.assert_allclose(
            on_disk[name].astype(float), in_memory[name].astype(float), atol=1e-4
        )
    added = list(expected.columns[-5:])
    pd.testing.assert_frame_equal(on_disk.drop(columns=added), in_memory.drop(columns=added))
    details = read_details(details_path(out))
    assert details is not None
    assert details.fingerprint == fingerprint_of_cells(on_disk["candidate_confidences"])


def test_held_out_cleaning_decisions_and_misses_work_on_disk(parts: Path, tmp_path: Path) -> None:
    given = {
        "truth": "truth", "n_folds": 2, "method": ncpd(), "decisions": {3: "w"}, "relabel": True
    }  # fmt: skip
    expected = clean_table(read_table(parts), **given)
    cleaned = clean_table(TableOnDisk(parts), out=tmp_path / "clean.parquet", **given).to_frame()
    for name in ("chosen_label", "decision", "label_if_missed", "second_look"):
        assert cleaned[name].tolist() == expected[name].tolist()
    np.testing.assert_allclose(cleaned["miss_probability"], expected["miss_probability"], atol=1e-4)


def test_cleaning_on_disk_is_refused_where_it_could_not_be_written(parts: Path) -> None:
    for out, words in ((None, "clean.parquet"), ("clean.xlsx", "csv, tsv, jsonl or parquet")):
        with pytest.raises((ParameterError, TableError), match=words):
            clean_table(TableOnDisk(parts), method=ncpd(), in_sample=True, out=out)


def test_an_interrupted_cleaning_goes_on_with_the_features_that_are_there(
    parts: Path, tmp_path: Path
) -> None:
    class Interrupted(FitListener):
        def on_epoch_end(self, title: str, epoch: int, n_epochs: int) -> None:
            raise KeyboardInterrupt

    out = tmp_path / "clean.parquet"
    given = {"truth": "truth", "n_folds": 2, "out": out, "random_state": 1}
    method = NCPDClassifier(**QUICK, checkpoint_every=1)
    with pytest.raises(KeyboardInterrupt):
        clean_table(TableOnDisk(parts), method=method, listener=Interrupted(), **given)
    assert not out.exists()
    cleaned = clean_table(TableOnDisk(parts), method=method, **given).to_frame()
    again = clean_table(
        TableOnDisk(parts), method=method, **{**given, "out": tmp_path / "b.parquet"}
    )
    pd.testing.assert_frame_equal(cleaned, again.to_frame())
    assert not out.with_name("clean.parquet.partial").exists()


def test_blocks_of_rows_are_predicted_as_all_rows_are(
    parts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame, table = read_table(parts), TableOnDisk(parts)
    model = fit_table(frame.iloc[:300], method="plknn", truth="truth", n_folds=2, coverage=0.9)
    new = frame["many"].isin(set(frame["many"]) - set(frame["many"][:300]))
    assert new.any()
    monkeypatch.setattr("disambig.tabular.files.table_on_disk.ROWS_AT_A_TIME", 128)
    for labels in (None, "label"):
        with pytest.warns(UserWarning, match="'many' has values that") as told:
            expected = model.predict(frame, top=2, labels=labels)
        with pytest.warns(UserWarning, match="'many' has values that") as told_of_blocks:
            blocks = list(model.predict_blocks(table, top=2, labels=labels))
        assert [str(each.message) for each in told] == [str(e.message) for e in told_of_blocks]
        assert len(blocks) == 5
        predicted = pd.concat([said for _, said in blocks], ignore_index=True)
        pd.testing.assert_frame_equal(predicted, expected)
        rows = pd.concat([rows for rows, _ in blocks], ignore_index=True)
        pd.testing.assert_frame_equal(rows, frame)


def test_a_new_cell_that_does_not_fit_is_named_by_its_row_in_the_whole_table(
    parts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = read_table(parts)
    model = fit_table(frame, method="plknn", truth="truth", n_folds=0)
    frame["gap"] = frame["gap"].astype(str)
    frame.loc[500, "gap"] = "none yet"
    frame["whole"] = frame["whole"].astype(str)
    frame.loc[510, "whole"] = "much"
    monkeypatch.setattr("disambig.tabular.files.table_on_disk.ROWS_AT_A_TIME", 128)
    with pytest.raises(TableError) as in_memory:
        model.predict(frame)
    assert "'gap' (got 'none yet' in row 501)" in str(in_memory.value)
    table = TableOnDisk(write_parts(frame, tmp_path / "parts"))
    with pytest.raises(TableError) as on_disk:
        list(model.predict_blocks(table))
    assert str(on_disk.value) == str(in_memory.value)


def test_a_cleaned_table_on_disk_is_read_and_shown_as_in_memory(
    parts: Path, tmp_path: Path
) -> None:
    path = tmp_path / "clean.parquet"
    frame = read_table(parts)
    clean_table(frame, truth="truth", method="plknn", n_folds=2, relabel=True, out=path)
    details = read_details(details_path(path))
    in_memory = read_cleaned(read_table(path), details)
    on_disk = read_cleaned(TableOnDisk(path), details)
    assert isinstance(on_disk.values, TableOnDisk)
    assert on_disk.candidates == in_memory.candidates
    for name in ("confidences", "chosen", "second_look", "miss_probability", "label_if_missed"):
        np.testing.assert_array_equal(getattr(on_disk, name), getattr(in_memory, name))
    assert doubtful_data(on_disk, most=20) == doubtful_data(in_memory, most=20)
    assert table_page(on_disk, title="a", most_rows=20) == table_page(
        in_memory, title="a", most_rows=20
    )


def test_embeddings_beside_a_table_on_disk_are_read_where_they_are(
    parts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame, path = read_table(parts), tmp_path / "embeddings.npy"
    numbers = np.random.default_rng(2).normal(size=(len(frame), 90)).astype(np.float32)
    numbers[:, 0] += frame["label"].str.startswith("w")
    np.save(path, numbers)
    monkeypatch.setattr("disambig.tabular.columns.values_on_disk._NUMBERS_AT_A_TIME", 20_000)
    monkeypatch.setattr("disambig.tabular.files.table_on_disk.ROWS_AT_A_TIME", 128)
    given = {"truth": "truth", "method": ncpd(), "n_folds": 2}
    mapped = read_embeddings(path, frame)
    in_memory = fit_table(frame, embeddings=numbers, **given)
    on_disk = fit_table(TableOnDisk(parts), embeddings=mapped, **given)
    expected = in_memory.predict(frame, embeddings=numbers)
    blocks = on_disk.predict_blocks(TableOnDisk(parts), embeddings=mapped)
    predicted = pd.concat([said for _, said in blocks], ignore_index=True)
    pd.testing.assert_frame_equal(predicted, expected, atol=1e-4)
    alone = fit_table(
        TableOnDisk(parts),
        embeddings=mapped,
        ignore=[name for name in frame if name not in ("label", "truth")],
        **given,
    )
    assert alone.plan.by_kind() == {"embedding": ["90 numbers beside the table"]}
