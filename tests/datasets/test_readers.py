"""Embedded data and labelled tables are read as they are, and their faults are named."""

import csv
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from disambig._core.errors import DatasetFormatError, HashMismatchError, ParameterError
from disambig.candidates.dataset import PartialLabelDataset
from disambig.candidates.labels import CandidateLabels
from disambig.datasets import load_dataset
from disambig.datasets.card import all_cards, find_card
from disambig.datasets.readers import read_embedded, read_labelled_table
from disambig.tabular.files.formats import write_table

ROOT = Path(__file__).resolve().parents[2]
EMBEDDED = [card.name for card in all_cards().values() if card.is_embedded]

# Counted in the original files with awk, sort and uniq; rings 1 to 29, ten a line.
ABALONE_COUNTS = [
    *(1, 1, 15, 57, 115, 259, 391, 568, 689, 634),
    *(487, 267, 203, 126, 103, 67, 58, 42, 32, 26),
    *(14, 6, 9, 2, 1, 1, 2, 0, 1),
]
CLASS_COUNTS = {
    "glass": {1: 70, 2: 76, 3: 17, 5: 13, 6: 9, 7: 29},
    "ecoli": {"cp": 143, "im": 77, "imL": 2, "imS": 2, "imU": 35, "om": 20, "omL": 5, "pp": 52},
    "vehicle": {"bus": 218, "opel": 212, "saab": 217, "van": 199},
    "digits": dict(enumerate((178, 182, 177, 183, 181, 182, 181, 179, 174, 180))),
    "abalone": dict(zip(range(1, 30), ABALONE_COUNTS, strict=True)),
}


@pytest.mark.parametrize("name", EMBEDDED)
def test_the_shape_is_that_of_the_card(name: str) -> None:
    dataset = load_dataset(name)
    card = find_card(name)
    assert dataset.X.shape == (card.n_samples, card.n_features)
    assert len(dataset.candidates.classes) == card.n_classes
    assert len(dataset.feature_names) == card.n_features
    assert dataset.candidates.sizes.mean() == card.average_candidates
    assert (dataset.name, dataset.card) == (name, card)


@pytest.mark.parametrize("name", EMBEDDED)
def test_every_class_has_its_known_number_of_rows(name: str) -> None:
    dataset = load_dataset(name)
    counts = Counter(dataset.true_labels.tolist())
    assert {label: counts[label] for label in dataset.candidates.classes.tolist()} == (
        CLASS_COUNTS[name]
    )


@pytest.mark.parametrize("name", EMBEDDED)
def test_every_candidate_set_is_the_true_label_alone(name: str) -> None:
    dataset = load_dataset(name)
    assert dataset.candidates.to_sets() == [{label} for label in dataset.true_labels.tolist()]


@pytest.mark.parametrize(
    ("name", "features", "label"),
    [
        ("glass", [1.52101, 13.64, 4.49, 1.10, 71.78, 0.06, 8.75, 0.00, 0.0], 1),
        ("ecoli", [0.49, 0.29, 0.48, 0.50, 0.56, 0.24, 0.35], "cp"),
        ("abalone", [0.455, 0.365, 0.095, 0.514, 0.2245, 0.101, 0.15], 15),
        (
            "vehicle",
            [95, 48, 83, 178, 72, 10, 162, 42, 20, 159, 176, 379, 184, 70, 6, 16, 187, 197],
            "van",
        ),
    ],
)
def test_the_first_row_is_that_of_the_original_file(
    name: str, features: list[float], label: int | str
) -> None:
    dataset = load_dataset(name)
    assert dataset.X[0].tolist() == features
    assert dataset.true_labels[0] == label


def test_digits_are_those_of_scikit_learn() -> None:
    dataset = load_dataset("digits")
    # A handwritten zero.
    assert dataset.X[0, :8].tolist() == [0, 0, 5, 13, 9, 1, 0, 0]
    assert dataset.true_labels[0] == 0
    assert dataset.feature_names[:9:8] == ["pixel_0_0", "pixel_1_0"]
    with pytest.raises(HashMismatchError, match="digits of scikit-learn is not the known file"):
        read_embedded(replace(find_card("digits"), hash="sha256:00"))


def test_abalone_has_29_classes_of_which_28_never_occurs() -> None:
    dataset = load_dataset("abalone")
    assert dataset.candidates.classes.tolist() == list(range(1, 30))
    assert set(range(1, 30)) - set(dataset.true_labels.tolist()) == {28}


def test_glass_comes_without_the_column_that_numbers_the_rows() -> None:
    assert load_dataset("glass").feature_names == [
        *("RI", "Na", "Mg", "Al", "Si", "K", "Ca", "Ba", "Fe")
    ]


def test_glass_numbers_its_rows_on_request() -> None:
    dataset = load_dataset("glass", with_id=True)
    assert dataset.feature_names[0] == "id"
    assert dataset.X[:, 0].tolist() == list(range(1, 215))
    np.testing.assert_array_equal(dataset.X[:, 1:], load_dataset("glass").X)


def test_the_number_of_a_row_of_glass_gives_its_class_away() -> None:
    labels = load_dataset("glass", with_id=True).true_labels
    assert labels.tolist() == sorted(labels.tolist())


def test_a_dataset_without_row_numbers_cannot_give_them() -> None:
    with pytest.raises(
        ParameterError, match="Ecoli .* has no column that numbers the rows. Leave with_id=False"
    ):
        load_dataset("ecoli", with_id=True)


def test_a_damaged_package_is_noticed() -> None:
    card = replace(find_card("glass"), hash="sha256:00")
    with pytest.raises(
        HashMismatchError,
        match=r"glass\.csv\.gz is not the known file\. .* Install the package again\.",
    ):
        read_embedded(card)


def test_the_embedded_files_are_what_the_source_gives() -> None:
    check = subprocess.run(
        [sys.executable, "tools/build_embedded.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert check.stderr == ""
    assert check.stdout.splitlines() == [
        f"{name}: sha256:{find_card(name).hash.removeprefix('sha256:')}"
        for name in EMBEDDED
        if find_card(name).package is None
    ]
    assert check.returncode == 0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "toys.csv"


def read(path: Path, text: str, **options: Any) -> PartialLabelDataset:
    path.write_text(text, encoding="utf-8")
    return read_labelled_table(path, **options)


def test_every_column_but_the_labels_is_a_feature(path: Path) -> None:
    dataset = read(path, "height,label,width\n1,cat|dog,0.5\n2,dog,1e-3\n")
    assert dataset.X.tolist() == [[1, 0.5], [2, 0.001]]
    assert dataset.feature_names == ["height", "width"]
    assert dataset.candidates.to_sets() == [{"cat", "dog"}, {"dog"}]
    assert dataset.true_labels is None
    assert (dataset.name, dataset.card) == ("toys", None)


def test_the_column_of_labels_can_be_named(path: Path) -> None:
    dataset = read(path, "a,species\n1,cat\n", labels="species")
    assert dataset.candidates.to_sets() == [{"cat"}]


def test_the_separator_can_be_chosen(path: Path) -> None:
    dataset = read(path, "a,label\n1,cat;dog\n2,a|b\n", separator=";")
    assert dataset.candidates.to_sets() == [{"cat", "dog"}, {"a|b"}]


def test_the_column_of_true_labels_is_no_feature(path: Path) -> None:
    dataset = read(path, "a,label,truth\n1,cat|dog, dog \n2,cat,cat\n", truth="truth")
    assert dataset.true_labels.tolist() == ["dog", "cat"]
    assert dataset.feature_names == ["a"]


@pytest.mark.parametrize("name", ["toys.tsv", "TOYS.TSV"])
def test_a_tsv_is_split_at_tabs(name: str, tmp_path: Path) -> None:
    dataset = read(tmp_path / name, "a\tlabel\n1\tcat, big|dog\n")
    assert dataset.candidates.to_sets() == [{"cat, big", "dog"}]


def test_a_csv_with_tsv_in_its_name_is_split_at_commas(tmp_path: Path) -> None:
    assert read(tmp_path / "from.tsv.csv", "a,label\n1,cat\n").X.tolist() == [[1]]


def test_labels_that_look_like_numbers_stay_as_they_are_written(path: Path) -> None:
    dataset = read(path, "a,label,truth\n1,01|1,01\n2,1.0,1.0\n", truth="truth")
    assert dataset.candidates.to_sets() == [{"01", "1"}, {"1.0"}]
    assert dataset.true_labels.tolist() == ["01", "1.0"]


@pytest.mark.parametrize("label", ["NA", "nan", "null", "None", "N/A"])
def test_a_word_for_nothing_is_a_label_like_any_other(label: str, path: Path) -> None:
    dataset = read(path, f"a,label,truth\n1,{label}|cat,{label}\n2,{label},cat\n", truth="truth")
    assert dataset.candidates.to_sets() == [{label, "cat"}, {label}]
    assert dataset.true_labels.tolist() == [label, "cat"]


def test_quotes_and_a_byte_order_mark_are_understood(path: Path) -> None:
    dataset = read(path, '\ufeff"a","label"\n1,"cat, big|dög"\n')
    assert dataset.feature_names == ["a"]
    assert dataset.candidates.to_sets() == [{"cat, big", "dög"}]


SAME = pd.DataFrame(
    {"a": [1, 2], "b": [0.5, 1.5], "label": ["cat|dog", "1"], "truth": ["dog", "1"]}
)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".xlsx"])
def test_a_table_is_the_same_data_in_every_format(suffix: str, tmp_path: Path) -> None:
    frame = SAME.astype({"label": object})
    if suffix == ".xlsx":
        frame.loc[1, "label"] = 1  # Excel likes numbers
    write_table(frame, tmp_path / f"toys{suffix}")
    dataset = read_labelled_table(tmp_path / f"toys{suffix}", truth="truth")
    assert dataset.X.tolist() == [[1, 0.5], [2, 1.5]]
    assert dataset.candidates.to_sets() == [{"cat", "dog"}, {"1"}]
    assert dataset.true_labels.tolist() == ["dog", "1"]


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_labels_may_be_lists_where_the_format_has_them(suffix: str, tmp_path: Path) -> None:
    frame = SAME.assign(label=[[1, 2], [2]], truth=[1, 2])
    write_table(frame, tmp_path / f"toys{suffix}")
    dataset = read_labelled_table(tmp_path / f"toys{suffix}", truth="truth")
    assert dataset.candidates.to_sets() == [{"1", "2"}, {"2"}]
    assert dataset.true_labels.tolist() == ["1", "2"]


def test_objects_from_label_to_weight_carry_weights(tmp_path: Path) -> None:
    path = tmp_path / "toys.jsonl"
    lines = ['{"a": 1, "label": {"cat": 3, "dog": 1}}', '{"a": 2, "label": {"dog": 1}}']
    path.write_text("\n".join(lines))
    dataset = read_labelled_table(path)
    np.testing.assert_allclose(dataset.candidates.prior().toarray(), [[0.75, 0.25], [0, 1]])


def test_a_row_without_a_list_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "toys.jsonl"
    path.write_text('{"a": 1, "label": ["cat"]}\n{"a": 2, "label": null}\n')
    with pytest.raises(DatasetFormatError, match="'label' of .* Got none for 1 sample, at row 1"):
        read_labelled_table(path)


def test_lists_are_no_true_labels(tmp_path: Path) -> None:
    path = tmp_path / "toys.jsonl"
    path.write_text('{"a": 1, "label": ["cat"], "truth": ["cat"]}\n')
    with pytest.raises(DatasetFormatError, match=r"toys\.jsonl: Column 'truth' holds true labels"):
        read_labelled_table(path, truth="truth")


def test_truth_values_are_numbers_and_times_are_not(tmp_path: Path) -> None:
    path = tmp_path / "toys.parquet"
    write_table(SAME.assign(a=[True, False]), path)
    assert read_labelled_table(path, truth="truth").X.tolist() == [[1, 0.5], [0, 1.5]]
    write_table(SAME.assign(a=pd.to_datetime(["2024-05-01", "2024-05-02"])), path)
    with pytest.raises(DatasetFormatError, match="Column 'a': it holds times, not numbers"):
        read_labelled_table(path, truth="truth")


LABELS = st.text(alphabet="abc019 NA.-'\"#,é", min_size=1).map(str.strip).filter(bool)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**53), 2**53)


@given(
    rows=st.lists(
        st.tuples(NUMBERS, NUMBERS, st.sets(LABELS, min_size=1, max_size=3)), min_size=1, max_size=6
    ),
    suffix=st.sampled_from([".csv", ".tsv"]),
)
def test_whatever_was_written_is_read_back_to_the_last_bit(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[float, float, set[str]]],
    suffix: str,
) -> None:
    path = tmp_path_factory.mktemp("table") / f"any{suffix}"
    expected = CandidateLabels.from_sets([labels for _, _, labels in rows])
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter="\t" if suffix == ".tsv" else ",")
        writer.writerow(["first", "label", "second"])
        for (first, second, _), text in zip(rows, expected.to_strings(), strict=True):
            writer.writerow([repr(first), text, repr(second)])
    dataset = read_labelled_table(path)
    np.testing.assert_array_equal(dataset.X, [[float(a), float(b)] for a, b, _ in rows])
    assert dataset.candidates == expected


def test_a_slip_in_the_column_of_labels_is_met_with_a_suggestion(path: Path) -> None:
    with pytest.raises(
        DatasetFormatError,
        match=r"toys\.csv needs a column 'label'\. Did you mean 'Labels'\? It has a, Labels\.",
    ):
        read(path, "a,Labels\n1,cat\n")


def test_a_column_of_truth_like_no_other_is_met_with_the_list_alone(path: Path) -> None:
    with pytest.raises(DatasetFormatError, match=r"a column 'gold'\. It has a, label\."):
        read(path, "a,label\n1,cat\n", truth="gold")


@pytest.mark.parametrize("value", ["red", "NA", "True"])
def test_a_column_that_is_not_numbers_is_named(value: str, path: Path) -> None:
    with pytest.raises(
        DatasetFormatError,
        match=rf"toys\.csv but the labels needs numbers\. Column 'colour': .*{value}",
    ):
        read(path, f"a,colour,label\n1,2,cat\n2,{value},dog\n")


@pytest.mark.parametrize("value", ["", "inf", "-inf"])
def test_a_missing_or_infinite_feature_is_refused(value: str, path: Path) -> None:
    with pytest.raises(DatasetFormatError, match=r"need to be finite\. .* 1 sample, at row 1\."):
        read(path, f"a,b,label\n1,2,cat\n{value},4,dog\n")


def test_a_row_without_labels_is_refused(path: Path) -> None:
    with pytest.raises(DatasetFormatError, match="'label' of .* Got none for 1 sample, at row 1"):
        read(path, "a,label\n1,cat\n2,\n")


@pytest.mark.parametrize("last", ["2,dog,", "2,dog, "])
def test_a_row_without_a_true_label_is_refused(last: str, path: Path) -> None:
    with pytest.raises(
        DatasetFormatError,
        match=r"Column 'truth' of .*toys\.csv needs a true label in every row\. "
        r"Got none for 1 sample, at row 1\.",
    ):
        read(path, f"a,label,truth\n1,cat,cat\n{last}\n", truth="truth")


def test_an_empty_file_is_refused(path: Path) -> None:
    with pytest.raises(
        DatasetFormatError, match=r"toys\.csv needs a header and rows\. It is empty"
    ):
        read(path, "")


def test_a_header_alone_is_refused(path: Path) -> None:
    with pytest.raises(DatasetFormatError, match="at least one row. It holds a header only"):
        read(path, "a,label\n")


def test_labels_alone_are_refused(path: Path) -> None:
    with pytest.raises(DatasetFormatError, match="at least one row and one column"):
        read(path, "label\ncat\n")


def test_a_row_that_is_too_long_is_refused(path: Path) -> None:
    with pytest.raises(DatasetFormatError, match=r"the header, 2\. Row 2 \(line 3\) has 3"):
        read(path, "a,label\n1,cat\n2,dog,bird\n")


def test_a_header_that_is_too_short_is_refused(path: Path) -> None:
    with pytest.raises(
        DatasetFormatError,
        match=r"as many cells as the header, 2\. Row 1 \(line 2\) has 3\. .*a name missing in the",
    ):
        read(path, "a,label\n1,2,cat\n1,4,dog\n")


@pytest.mark.parametrize("header", [",a,label", "a,label"])
@pytest.mark.filterwarnings("ignore:.*one cell more:UserWarning")
def test_an_index_is_no_feature_of_a_dataset(path: Path, header: str) -> None:
    with pytest.raises(DatasetFormatError, match="first one has no name.*'Unnamed: 0': an index"):
        read(path, f"{header}\n1,2,cat\n3,4,dog\n")


def test_a_row_that_is_too_short_is_refused(path: Path) -> None:
    with pytest.raises(DatasetFormatError, match=r"the header, 3\. Row 2 \(line 3\) has 2"):
        read(path, "label,a,b\ncat,1,2\ndog,3\n")


def test_another_encoding_is_refused(path: Path) -> None:
    path.write_bytes("a,label\n1,dög\n".encode("latin-1"))
    with pytest.raises(DatasetFormatError, match=r"as utf-8\. Byte 12 \(0xf6, in line 2: row 1"):
        read_labelled_table(path)


def test_an_unclosed_quote_is_refused(path: Path) -> None:
    with pytest.raises(DatasetFormatError, match=r"Row 1 \(line 2\) begins a quoted cell that"):
        read(path, 'a,label\n1,"cat\n2,dog\n')
