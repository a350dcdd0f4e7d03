"""How a cleaned table came about, in a file beside it."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from disambig._core.errors import TableError
from disambig.tabular import clean_details
from disambig.tabular.accuracy import Accuracy, accuracy_of
from disambig.tabular.clean_details import (
    CleanDetails,
    Cleaning,
    check_details_are_ours,
    describe_cleaning,
    details_path,
    fingerprint_of_cells,
    read_details,
    write_details,
)
from disambig.tabular.evidence import Evidence, measure_reliability
from disambig.tabular.task import TableTask, prepare_task
from tabular.small_tables import quick_network

CHECKED = np.array([True, False, True])
EVIDENCE = Evidence(
    rows=3,
    blind_guess=0.4,
    weighted=False,
    expected=0.55,
    checked=accuracy_of(CHECKED),
    reliability=measure_reliability(np.array([0.6, 0.55, 0.5]), CHECKED),
)
SETTINGS = {
    "evidence": EVIDENCE,
    "folds": 2,
    "seed": 3,
    "errors_to_find": 0.9,
    "prefix": "",
    "labels": ["label"],
    "id": None,
}
ACCURACY = Accuracy(share=0.5, low=0.2, high=0.8, n_rows=4)
# In the order of the classes: 10 before 9, as texts.
CELLS = ["10:0.6|9:0.4", "9:1", "10:0.45|9:0.55", "10:0.5|9:0.25|x:0.25"]


def four_rows() -> TableTask:
    frame = pd.DataFrame(
        {
            "size": ["1.5", "2.5", "0.5", "4.0"],
            "colour": ["red", "blue", "red", "blue"],
            "label": ["9|10", "9", "9|10", "x|9|10"],
        }
    )
    return prepare_task(frame, ignore=(), decisions={1: "9"})


def cleaning(per_network, histories=(), second_look=(True, False, True, True)) -> Cleaning:
    columns = pd.DataFrame(
        {
            "chosen_label": ["10", "9", "9", "10"],
            "confidence": [0.6, 1.0, 0.55, 0.5],
            "margin": [0.2, 1.0, 0.1, 0.25],
            "second_look": list(second_look),
            "candidate_confidences": CELLS,
        }
    )
    of_networks = np.array(per_network, dtype=np.float32)
    choice, confidence = columns["chosen_label"].to_numpy(), columns["confidence"].to_numpy()
    return Cleaning(columns, of_networks, tuple(histories), choice, confidence)


NOTHING = np.empty((0, 8))
TWO_NETWORKS = [
    [0.7, 0.3, 1.0, 0.25, 0.75, 0.1, 0.2, 0.7],
    [0.5, 0.5, 1.0, 0.65, 0.35, 0.9, 0.05, 0.05],
]


def described(what: Cleaning, **settings: object) -> CleanDetails:
    return describe_cleaning(
        four_rows(), quick_network(), what, accuracy=ACCURACY, **(SETTINGS | settings)
    )


def test_details_come_back_from_their_file(tmp_path):
    history = {"T": [0.1, 0.25], "covering_rate": [0.5, 1.0]}
    details = described(cleaning(TWO_NETWORKS, [history, history]), id="x")
    path = write_details(details, tmp_path / "clean.csv")
    assert path == details_path(tmp_path / "clean.csv") == tmp_path / "clean.csv.details.json"
    assert [file.name for file in tmp_path.iterdir()] == ["clean.csv.details.json"]
    assert read_details(path).model_dump() == details.model_dump()


def test_details_that_say_nothing_of_the_evidence_are_still_read(tmp_path):
    path = write_details(described(cleaning(NOTHING)), tmp_path / "clean.csv")
    said = json.loads(path.read_text())
    for name in ("evidence", "true_labels", "use_truth"):
        del said[name]
    path.write_text(json.dumps(said))
    details = read_details(path)
    assert (details.evidence, details.true_labels, details.use_truth) == (None, 0, False)


def test_the_file_says_what_was_done(tmp_path):
    details = described(cleaning(NOTHING), prefix="x ", errors_to_find=0.5)
    said = json.loads(write_details(details, tmp_path / "clean.csv").read_text())
    assert said["kind"] == "disambig cleaning"
    assert said["method"] == "ncpd"
    assert (said["folds"], said["seed"], said["decisions"]) == (2, 3, 1)
    assert (said["errors_to_find"], said["prefix"]) == (0.5, "x ")
    assert said["features"] == {"number": ["size"], "category": ["colour"]}
    assert said["accuracy"] == {"share": 0.5, "low": 0.2, "high": 0.8, "n_rows": 4}


def test_parameters_are_texts_and_those_that_change_nothing_are_left_out():
    method = quick_network(callbacks=[print], verbose=1, device=None, checkpoint="somewhere")
    details = describe_cleaning(four_rows(), method, cleaning(NOTHING), accuracy=None, **SETTINGS)
    assert details.parameters["epochs"] == "6"
    assert details.parameters["hidden"] == "16"
    assert not {"callbacks", "verbose", "checkpoint", "device"} & details.parameters.keys()


def test_networks_are_kept_by_row_in_the_order_of_its_candidates():
    details = described(cleaning(TWO_NETWORKS))
    assert details.per_network == {
        1: [[0.7, 0.3], [0.5, 0.5]],
        3: [[0.25, 0.75], [0.65, 0.35]],
        4: [[0.1, 0.2, 0.7], [0.9, 0.05, 0.05]],
    }


def test_networks_are_left_out_of_rows_that_nobody_looks_at():
    marked = (False, False, True, False)
    assert list(described(cleaning(TWO_NETWORKS, (), marked)).per_network) == [3]


def test_networks_are_kept_of_rows_with_known_labels_that_a_review_shows_as_if_unknown():
    frame = pd.DataFrame(
        {
            "size": ["1.5", "2.5", "0.5", "4.0"],
            "label": ["9|10", "9", "9|10", "x|9|10"],
            "true": ["9", "", "x", ""],
        }
    )
    task = prepare_task(frame, ignore=(), truth="true")
    found = replace(cleaning(TWO_NETWORKS, (), [False] * 4), unaided={0: CELLS[0], 2: CELLS[2]})
    details = describe_cleaning(task, quick_network(), found, accuracy=None, **SETTINGS)
    # The set of the third row has got its true label, of which networks said nothing.
    assert list(details.per_network) == [1]


def test_of_too_many_rows_the_most_doubtful_ones_have_networks(monkeypatch):
    monkeypatch.setattr(clean_details, "_MOST_ROWS_WITH_NETWORKS", 2)
    assert list(described(cleaning(TWO_NETWORKS)).per_network) == [4, 3]


def test_a_network_that_a_fold_did_not_have_is_left_out_in_its_rows():
    first, second = map(list, TWO_NETWORKS)
    second[3:5] = [np.nan, np.nan]
    details = described(cleaning([first, second]))
    assert details.per_network[3] == [[0.25, 0.75]]
    assert len(details.per_network[4]) == 2


def test_confidences_that_rounding_pushed_out_of_range_are_put_back():
    first, second = map(list, TWO_NETWORKS)
    first[:2] = [1.0000001, -1e-9]
    assert described(cleaning([first, second])).per_network[1][0] == [1.0, 0.0]


def test_measures_that_were_not_taken_are_gaps(tmp_path):
    history = {"covering_rate": [np.nan, 0.123456, np.inf]}
    details = described(cleaning(NOTHING, [history]))
    assert details.histories == [{"covering_rate": [None, 0.1235, None]}]
    again = read_details(write_details(details, tmp_path / "clean.csv"))
    assert again is not None
    assert again.histories == details.histories


def test_details_belong_to_the_table_with_their_confidences():
    details = described(cleaning(NOTHING))
    assert details.fingerprint == fingerprint_of_cells(CELLS)
    assert details.fingerprint != fingerprint_of_cells(CELLS[:-1])
    assert details.fingerprint != fingerprint_of_cells([CELLS[1], CELLS[0], *CELLS[2:]])
    assert details.fingerprint != fingerprint_of_cells(["10:0.61|9:0.39", *CELLS[1:]])


def test_odd_labels_survive(tmp_path):
    odd = ["<script>alert(1)</script>", "a|b", 'say "x"\n', "猫"]
    cells = [json.dumps({name: 1.0}) for name in odd]
    what = cleaning(NOTHING)
    what.columns["candidate_confidences"] = cells
    details = described(what, labels=odd, id=odd[0], prefix=odd[1])
    again = read_details(write_details(details, tmp_path / "clean.csv"))
    assert again.model_dump() == details.model_dump()
    assert details.fingerprint == fingerprint_of_cells(cells)


# What is not what it should be --------------------------------------------------------------------


def test_a_path_that_is_not_text_is_spelled_out_in_the_command(tmp_path):
    words = ["clean", "M\udcfcller.csv", "--out", "Müller.csv"]
    path = write_details(described(cleaning(NOTHING), command=words), tmp_path / "clean.csv")
    details = read_details(path)
    assert details is not None
    assert details.command == ["clean", r"M\udcfcller.csv", "--out", "Müller.csv"]


def test_without_a_file_there_are_no_details(tmp_path):
    assert read_details(tmp_path / "clean.csv.details.json") is None


def changed(**values: object) -> str:
    whole = json.loads(described(cleaning(TWO_NETWORKS)).model_dump_json(by_alias=True))
    return json.dumps(whole | values)


@pytest.mark.parametrize(
    ("content", "where"),
    [
        ("", "its beginning"),
        ("[]", "its beginning"),
        ('{"kind": "disambig cleaning"', "its beginning"),
        ('{"some": "settings of another program"}', "method"),
        (changed(kind="disambig model"), "kind"),
        (changed(version=2), "version"),
        (changed(more=1), "more"),
        (changed(seed="3"), "seed"),
        (changed(errors_to_find=1.5), "errors_to_find"),
        (changed(opinions={"1": [[0.5, 2]]}), "opinions.1.0.1"),
        (changed(opinions={"first": [[0.5, 0.5]]}), "opinions.first"),
        (changed(histories=[{"T": ["x"]}]), "histories.0.T.0"),
        (changed(accuracy={"share": 0.9, "low": 0.1, "high": 0.2, "n_rows": 3}), "accuracy"),
        (changed().replace("0.25", "NaN", 1), ""),
    ],
)
def test_another_file_is_refused_with_where_it_differs_and_what_to_do(tmp_path, content, where):
    path = tmp_path / "clean.csv.details.json"
    path.write_text(content)
    with pytest.raises(TableError, match="is not what disambig clean wrote") as refusal:
        read_details(path)
    assert f"at {where}" in str(refusal.value)
    assert str(refusal.value).endswith("Move it away, or clean again.")
    assert str(path) in str(refusal.value)


def test_a_file_that_cannot_be_read_is_refused(tmp_path):
    path = tmp_path / "clean.csv.details.json"
    path.write_bytes(b"\xff\xfe{}")
    with pytest.raises(TableError, match=r"details.json.* Move it away, or clean again"):
        read_details(path)
    path.unlink()
    path.mkdir()
    with pytest.raises(TableError, match="it is not a file, but a folder"):
        read_details(path)


@pytest.mark.parametrize("content", ["mine", "", "{}", '{"kind": "thesis"}', '["kind"]'])
def test_details_of_somebodys_own_are_refused(tmp_path, content):
    details_path(tmp_path / "t.csv").write_text(content)
    with pytest.raises(TableError, match=r"t\.csv\.details\.json, but something else is there"):
        check_details_are_ours(tmp_path / "t.csv")
    assert details_path(tmp_path / "t.csv").read_text() == content


def test_a_folder_where_details_would_go_is_refused(tmp_path):
    details_path(tmp_path / "t.csv").mkdir()
    with pytest.raises(TableError, match="something else is there"):
        check_details_are_ours(tmp_path / "t.csv")


def test_details_that_we_wrote_are_replaced_even_those_of_another_version(tmp_path):
    check_details_are_ours(tmp_path / "t.csv")
    details = describe_cleaning(
        four_rows(), quick_network(), cleaning([]), accuracy=None, **SETTINGS
    )
    path = write_details(details, tmp_path / "t.csv")
    check_details_are_ours(tmp_path / "t.csv")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"version": 0}, indent=2))
    check_details_are_ours(tmp_path / "t.csv")
