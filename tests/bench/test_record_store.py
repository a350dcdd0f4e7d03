import hashlib
import io
import json
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from disambig import PLKNN
from disambig._core import temporaries
from disambig._core.errors import RecordError
from disambig._core.temporaries import temporary_beside
from disambig.bench import RecordStore
from disambig.bench import store as store_module
from disambig.bench.evaluate import Predictions, outcome_of
from disambig.bench.record import Record
from disambig.bench.trial import Split, make_trial
from disambig.datasets import make_partial_label_dataset

RECORD = Record(
    key="0f" * 16,
    job={"method": "plknn", "parameters": {"n_neighbors": 5}, "split": {"seed": 0, "fold": 1}},
    dataset="glass",
    status="done",
    environment={"python": "3.11", "cuda": None},
    finished="2025-01-01T00:00:00+00:00",
    metrics={"accuracy": 0.1 + 0.2, "brier_score": 1 / 3},
    by_epoch=[0.5, 2 / 3],
    chosen={"C": 0.01},
    choices=[[{"C": 0.01}, 0.7], [{"C": 1.0}, 0.6]],
    seconds={"fit": 0.25, "predict": 1e-5},
    side_by_side=3,
    peak_memory_mb=123.4,
)
FAILED = replace(
    RECORD, status="failed", metrics={}, error={"type": "E", "message": "ä", "traceback": "…"}
)
PROBABILITIES = np.array([[0.2, 0.5, 0.3], [0.9, 0.05, 0.05]])


def predictions(*classes, rows=(7, 3)):
    return Predictions(
        rows=np.array(rows),
        probabilities=PROBABILITIES.astype(np.float32),
        predicted=PROBABILITIES.argmax(axis=1),
        disambiguated=np.array([0, 2, 2]),
        classes=np.array(classes),
    )


PREDICTIONS = predictions("a", "b", "ß")
OTHER_PREDICTIONS = predictions("a", "b", "c", rows=(0, 1))


@pytest.fixture
def written(store):
    records = RecordStore(store)
    records.write(RECORD, PREDICTIONS)
    return records


def files_of(store):
    return store.path(RECORD.key), store.path(RECORD.key).with_suffix(".npz")


# There and back ----------------------------------------------------------------------------------


def test_a_record_is_read_as_it_was_written(written):
    found = written.read(RECORD.key)
    assert replace(found, predictions=None) == RECORD
    assert found.is_done


def test_the_record_that_is_returned_is_the_one_that_is_kept(store):
    records = RecordStore(store)
    assert records.write(RECORD, PREDICTIONS) == records.read(RECORD.key)


def test_a_record_of_a_failure_has_no_predictions(store):
    records = RecordStore(store)
    records.write(FAILED)
    found = records.read(RECORD.key)
    assert found == FAILED
    assert not found.is_done
    with pytest.raises(RecordError, match=r"0f0f.json has no predictions: the job failed."):
        records.read_predictions(found)


def test_predictions_are_read_as_they_were_written(written):
    found = written.read_predictions(written.read(RECORD.key))
    assert found.rows.tolist() == [7, 3]
    assert found.predicted.tolist() == [1, 0]
    assert found.disambiguated.tolist() == [0, 2, 2]
    np.testing.assert_allclose(found.probabilities, PROBABILITIES, rtol=1e-7)
    assert found.classes.tolist() == ["a", "b", "ß"]


def test_predictions_are_the_same_bytes_whenever_they_are_written():
    assert PREDICTIONS.to_bytes() == PREDICTIONS.to_bytes()


def test_classes_that_are_numbers_are_kept_as_strings():
    data = make_partial_label_dataset(20, 2, 3, average_candidates=2, random_state=0)
    trial = make_trial(data, Split(seed=0, n_folds=2))
    classifier = PLKNN().fit(trial.train.X, trial.train.candidates)
    found = Predictions.from_classifier(classifier, trial, classifier.predict_proba(trial.test.X))
    assert found.classes.tolist() == ["0", "1", "2"]
    assert outcome_of(Predictions.from_bytes(found.to_bytes()), trial).classes.tolist() == [0, 1, 2]


def test_a_job_without_a_record_is_none(store):
    assert RecordStore(store).read(RECORD.key) is None


def test_a_folder_is_made_by_the_first_record_and_holds_no_more_than_it(written, store):
    assert sorted(path.name for path in store.iterdir()) == sorted(
        path.name for path in files_of(written)
    )


def test_a_record_takes_the_place_of_an_older_one(store):
    records = RecordStore(store)
    records.write(FAILED)
    records.write(RECORD, PREDICTIONS)
    assert records.read(RECORD.key).is_done


# Damaged -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0, 0.1, 0.5, 0.99])
def test_a_record_that_was_cut_is_reported(written, share):
    path, _ = files_of(written)
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(RecordError, match=f"{path} is damaged. It is not JSON: "):
        written.read(RECORD.key)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"accuracy": 0.3', '"accuracy": 0.9'),
        ('"status": "done"', '"status": "failed"'),
        ('"dataset": "glass"', '"dataset": "ecoli"'),
        ('"n_neighbors": 5', '"n_neighbors": 6'),
        ('"seal": "', '"seal": "0'),
    ],
)
def test_a_record_that_was_edited_is_reported(written, before, after):
    path, _ = files_of(written)
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after), encoding="utf-8")
    with pytest.raises(RecordError, match=f"{path} is damaged. Its content does not fit its seal."):
        written.read(RECORD.key)


@pytest.mark.parametrize("text", ["[]", "null", "3", "{}", '{"seal": null}'])
def test_json_that_is_no_record_is_reported(written, text):
    path, _ = files_of(written)
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RecordError, match=f"{path} is damaged. Its content does not fit its seal."):
        written.read(RECORD.key)


def test_a_sealed_record_of_another_make_is_reported():
    content = {"key": "a", "weather": "fine"}
    seal = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    with pytest.raises(
        RecordError, match="It has other content than a record(?s:.*)weather: there is"
    ):
        Record.from_json(json.dumps(content | {"seal": seal}))


def sealed(content):
    """Return a record as whoever wants to deceive would write it."""
    seal = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    return json.dumps(content | {"seal": seal})


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"metrics": None}, "metrics"),
        ({"metrics": {"accuracy": "0.5"}}, "metrics.accuracy"),
        ({"metrics": {"accuracy": float("inf")}}, "metrics"),
        ({"metrics": {"accuracy": 1e308}}, "metrics"),
        ({"by_epoch": [{}]}, r"by_epoch\[0\]"),
        ({"by_epoch": []}, "by_epoch"),
        ({"by_epoch": [2.0]}, r"by_epoch\[0\]"),
        ({"seconds": {"fit": -1}}, "seconds.fit"),
        ({"seconds": {"fit": 1e300}}, "seconds.fit"),
        ({"status": "fine"}, "status"),
        ({"error": {"message": 3}}, "error.message"),
        ({"environment": []}, "environment"),
        ({"job": None}, "job"),
        ({"choices": {}}, "choices"),
        ({"code": {"a": 1}}, "code.a"),
        ({"side_by_side": True}, "side_by_side"),
        ({"peak_memory_mb": "x"}, "peak_memory_mb"),
        ({"predictions": 3}, "predictions"),
        ({"finished": None}, "finished"),
    ],
)
def test_a_sealed_record_of_other_types_is_reported_by_the_field(written, changes, place):
    path, _ = files_of(written)
    content = json.loads(path.read_text("utf-8")) | changes
    del content["seal"]
    path.write_text(sealed(content), encoding="utf-8")
    what = f"{path} is damaged. It has other content than a record. {place}"
    with pytest.raises(RecordError, match=what):
        written.read(RECORD.key)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a":' * 100_000, "9" * 10_000, '{"key": 1, "key": 2}', "NaN"]
)
def test_a_record_that_is_hard_to_read_is_reported(written, text):
    path, _ = files_of(written)
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RecordError, match=f"{path} is damaged"):
        written.read(RECORD.key)


def test_a_job_with_numbers_that_json_has_not_is_reported(written):
    path, _ = files_of(written)
    content = json.loads(path.read_text("utf-8")) | {"job": {"parameters": {"a": float("nan")}}}
    del content["seal"]
    path.write_text(sealed(content), encoding="utf-8")
    with pytest.raises(RecordError, match="is the record of something that is not a job"):
        written.read(RECORD.key)


def test_a_folder_in_the_place_of_a_record_is_reported(written):
    path, _ = files_of(written)
    path.unlink()
    path.mkdir()
    with pytest.raises(RecordError, match=f"{path} is damaged: it is not a file, but a folder"):
        written.read(RECORD.key)


def test_a_record_under_the_name_of_another_job_is_reported(written):
    path, predictions = files_of(written)
    other = "ab" * 16
    path.rename(written.path(other))
    predictions.rename(written.path(other).with_suffix(".npz"))
    with pytest.raises(RecordError, match=f"{written.path(other)} is damaged. It is the record of"):
        written.read(other)


@pytest.mark.parametrize("content", [b"\xff\xfe{}", b"\x80", bytes(range(256))])
def test_a_record_that_is_no_text_is_reported(written, content):
    path, _ = files_of(written)
    path.write_bytes(content)
    with pytest.raises(RecordError, match=f"{path} is damaged. It is not JSON: byte"):
        written.read(RECORD.key)


def test_missing_predictions_are_reported(written):
    _, predictions = files_of(written)
    predictions.unlink()
    with pytest.raises(RecordError, match=f"{predictions} is missing, the predictions of a record"):
        written.read(RECORD.key)


def test_predictions_of_another_job_are_reported(written):
    _, predictions = files_of(written)
    predictions.write_bytes(OTHER_PREDICTIONS.to_bytes())
    with pytest.raises(RecordError, match=f"{predictions} is damaged. It is not what its record"):
        written.read(RECORD.key)


def test_predictions_that_were_cut_are_reported(written):
    _, predictions = files_of(written)
    predictions.write_bytes(predictions.read_bytes()[:-1])
    with pytest.raises(RecordError, match=f"{predictions} is damaged. It is not what its record"):
        written.read(RECORD.key)


def archive(**changes):
    """Return predictions with other arrays, as bytes."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **{**vars(PREDICTIONS), **changes})
    return buffer.getvalue()


def in_archive(**members):
    """Return predictions of which some are bytes, not arrays."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as target, zipfile.ZipFile(io.BytesIO(archive())) as source:
        for name in source.namelist():
            target.writestr(name, members.get(name.removesuffix(".npy"), source.read(name)))
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (archive(rows=np.array([[7, 3]])), r"its rows are of the shape \(1, 2\)"),
        (archive(rows=np.array([7.0, 3.0])), "its rows are of .* the type float64"),
        (archive(rows=np.array([7])), "its probabilities are of the shape"),
        (archive(probabilities=PROBABILITIES.T), "its probabilities are of the shape"),
        (archive(probabilities=PROBABILITIES > 0.5), "its probabilities are of .* the type bool"),
        (archive(probabilities=PROBABILITIES * np.nan), "its probabilities do not sum to one"),
        (archive(probabilities=PROBABILITIES * 2), "its probabilities do not sum to one"),
        (archive(predicted=np.array([1, 3])), "its predicted are not among 3 classes"),
        (archive(predicted=np.array([-1, 0])), "its predicted are not among 3 classes"),
        (archive(disambiguated=np.array(0)), r"its disambiguated are of the shape \(\)"),
        (archive(disambiguated=np.array([2**40])), "its disambiguated are not among 3 classes"),
        (archive(classes=np.array([b"a", b"b", b"c"])), "its classes are of .* the type"),
        (archive(classes=np.array([["a", "b", "c"]])), "its classes are of the shape"),
        (archive(classes=np.array([{}, {}, {}])), "it does not hold arrays .*allow_pickle"),
        (in_archive(rows=b"NUMPX"), "it holds something that is not an array"),
        (b"not an archive", "it does not hold arrays"),
        (archive()[:-30], "it does not hold arrays"),
    ],
)
def test_predictions_that_their_record_vouches_for_are_checked_too(written, content, reason):
    _, path = files_of(written)
    path.write_bytes(content)
    record = replace(RECORD, predictions=hashlib.sha256(content).hexdigest())
    with pytest.raises(RecordError, match=f"{path} is damaged: {reason}"):
        written.read_predictions(record)


def test_predictions_are_not_expanded_beyond_the_limit(written, monkeypatch):
    monkeypatch.setattr(store_module, "_LARGEST_PREDICTIONS", 1_000_000)
    content = archive(extra=np.zeros(1_000_000))
    _, path = files_of(written)
    path.write_bytes(content)
    record = replace(RECORD, predictions=hashlib.sha256(content).hexdigest())
    with pytest.raises(RecordError, match="it expands to 8,.* bytes, and the limit is 1,000,000"):
        written.read_predictions(record)


class Trap:
    """Leaves a trace where it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


def test_nothing_is_unpickled(store, tmp_path):
    trace = tmp_path / "trace"
    buffer = io.BytesIO()
    arrays = {**vars(PREDICTIONS), "classes": np.array([Trap(trace)], dtype=object)}
    np.savez_compressed(buffer, **arrays)
    with pytest.raises(ValueError, match="allow_pickle=False"):
        Predictions.from_bytes(buffer.getvalue())
    assert not trace.exists()


# Written under other names first -----------------------------------------------------------------


def test_what_a_killed_writer_left_is_no_record(written, store):
    path, predictions = files_of(written)
    (store / f".{path.stem}-123.json").write_bytes(path.read_bytes()[:50])
    (store / f".{path.stem}-123.npz").write_bytes(b"")
    assert written.read(RECORD.key).is_done
    path.unlink()  # killed between predictions and record
    assert written.read(RECORD.key) is None
    assert predictions.exists()


def test_a_record_appears_after_its_predictions_and_only_when_it_is_whole(store, monkeypatch):
    moments = []
    path, predictions = files_of(RecordStore(store))
    rename = Path.replace

    def watched(self, target):
        moments.append((path.exists(), predictions.exists(), Path(target).suffix))
        assert self.name.startswith(".")
        assert self.stat().st_size > 100
        return rename(self, target)

    monkeypatch.setattr(Path, "replace", watched)
    RecordStore(store).write(RECORD, PREDICTIONS)
    assert moments == [(False, False, ".npz"), (False, True, ".json")]


def test_a_write_that_fails_leaves_the_old_record(written, monkeypatch):
    before = written.read(RECORD.key)
    endless = replace(RECORD, metrics={"accuracy": object()})
    with pytest.raises(TypeError):
        written.write(endless)
    assert written.read(RECORD.key) == before


def test_what_killed_runners_left_is_swept_and_nothing_else(tmp_path):
    key = f"{'0f' * 12}-{'ab' * 6}"
    machine = temporaries._MACHINE
    left = [f".{key}-{machine}{'1' * 24}{suffix}" for suffix in (".json", ".npz")]
    kept = [f"{key}.json", f".notes-{machine}{'1' * 24}.json"]
    for name in (*left, *kept):
        (tmp_path / name).write_text("x")
    with temporary_beside(tmp_path / f"{key}.npz", sweep_first=False) as written_now:
        RecordStore(tmp_path).sweep()
        assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*kept, written_now.name])
