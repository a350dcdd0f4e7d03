import pickle

import numpy as np
import pandas as pd
import pytest

from disambig import CandidateLabels
from disambig._core.errors import ParameterError, TableError
from disambig.tabular.labels.label_columns import LabelColumns


def frame_of(*cells):
    return pd.DataFrame({"label": pd.Series(cells, dtype=object)})


def weights_of(candidates):
    return candidates.weights.toarray().tolist()


def test_a_column_of_sets_is_read():
    read = LabelColumns().read(frame_of("cat|dog", ["dog"], "bird"))
    assert read == CandidateLabels.from_strings(["cat|dog", "dog", "bird"])


def test_labels_are_texts_whatever_the_column_holds():
    assert LabelColumns().read(pd.DataFrame({"label": [3, 1, 3]})).to_strings() == ["3", "1", "3"]
    labels = LabelColumns(empty="all").read(pd.DataFrame({"label": [3, 1, None]}))
    assert labels.to_strings() == ["3", "1", "1|3"]


def test_another_separator_can_be_given():
    read = LabelColumns(separator=";").read(frame_of("a|b;c", "c"))
    assert read.to_sets() == [{"a|b", "c"}, {"c"}]


def test_negative_labels_mean_all_other_classes():
    parsed = LabelColumns().parse(frame_of("!cat", "cat|dog|!dog", "bird", "!cat|!dog"))
    assert parsed.candidates.to_strings() == ["bird|dog", "cat", "bird", "bird"]
    assert parsed.negative
    assert parsed.candidates.weights is None


def test_a_label_that_is_only_ruled_out_is_a_class():
    assert LabelColumns().read(frame_of("cat", "!dog", "bird|!cow")).classes.tolist() == [
        "bird",
        "cat",
        "cow",
        "dog",
    ]


def test_plain_rows_have_weights_of_one_where_others_are_weighted():
    parsed = LabelColumns().parse(frame_of("cat:0.7|dog:0.3", "dog|cat", "!cat", "cat:2|!dog"))
    assert weights_of(parsed.candidates) == [[0.7, 0.3], [1, 1], [0, 1], [2, 0]]
    assert parsed.candidates.to_strings() == ["cat|dog", "cat|dog", "dog", "cat"]


def test_a_label_of_weight_zero_stays_a_candidate():
    read = LabelColumns().read(frame_of("cat:0|dog:1", "cat:1"))
    assert read.to_strings() == ["cat|dog", "cat"]
    assert weights_of(read) == [[0, 1], [1, 0]]


def test_several_columns_are_united_and_their_weights_add_up():
    frame = pd.DataFrame({"a": ["cat", None, "!dog"], "b": ["dog", "cat", "cat|dog"]})
    assert LabelColumns(columns=("a", "b")).read(frame).to_strings() == ["cat|dog", "cat", "cat"]
    frame = pd.DataFrame({"a": ["cat:1|dog:2", "cat"], "b": ["dog:4", "cat"]})
    assert weights_of(LabelColumns(columns=("a", "b")).read(frame)) == [[1, 6], [1, 0]]


def test_a_label_that_is_repeated_in_a_cell_adds_up_its_weights():
    assert weights_of(LabelColumns().read(frame_of("cat:1|cat:2", "dog:1"))) == [[3, 0], [0, 1]]


def test_a_bare_cell_among_json_changes_nothing_for_the_others():
    frame = frame_of('["cat", "dog"]', "dog|bird", '{"cat": 2}', "[rare] bird", "")
    read = LabelColumns(empty="all").parse(frame).candidates
    assert read.to_sets()[:4] == [{"cat", "dog"}, {"dog", "bird"}, {"cat"}, {"[rare] bird"}]
    assert weights_of(read)[2] == [0, 0, 2, 0]
    assert LabelColumns(literal=True).read(frame[:3]).to_sets()[2] == {'{"cat": 2}'}


def test_every_column_is_judged_for_json_by_itself():
    frame = pd.DataFrame({"a": ['["cat"]', ""], "b": ["", "dog|[x]"]})
    read = LabelColumns(columns=("a", "b")).read(frame)
    assert read.to_sets() == [{"cat"}, {"[x]", "dog"}]


def test_votes_are_counted():
    frame = pd.DataFrame(
        {
            "ann": ["cat", "cat|dog", None, "!cat"],
            "ben": ["cat", "dog", "dog|dog", "!cat"],
            "eve": ["dog", "bird", " ", "cat|bird|!bird"],
        }
    )
    parsed = LabelColumns(columns=("ann", "ben", "eve"), votes=True).parse(frame)
    assert parsed.candidates.classes.tolist() == ["bird", "cat", "dog"]
    assert weights_of(parsed.candidates) == [[0, 2, 1], [1, 1, 2], [0, 0, 1], [2, 1, 2]]


def test_classes_that_are_given_keep_their_order():
    columns = LabelColumns(classes=["dog", 3, "cat"])
    read = columns.read(frame_of("!dog", 3.0))
    assert columns.classes == ("dog", "3", "cat")
    assert read.classes.tolist() == ["dog", "3", "cat"]
    assert read.to_strings() == ["3|cat", "3"]


def test_rows_without_a_label_are_set_apart():
    parsed = LabelColumns().parse(frame_of("cat", None, "|", "dog", "[]"))
    assert parsed.empty.tolist() == [False, True, True, False, True]
    assert parsed.candidates.to_strings() == ["cat", "dog"]


def test_rows_without_a_label_may_have_any():
    parsed = LabelColumns(empty="all").parse(frame_of("cat:2", None, "dog:1"))
    assert parsed.empty.tolist() == [False, True, False]
    assert weights_of(parsed.candidates) == [[2, 0], [1, 1], [0, 1]]


def test_rows_without_a_label_are_refused_by_read():
    with pytest.raises(TableError, match=r"column 'label'\. There is none in 2 rows, .* row 2\. "):
        LabelColumns().read(frame_of("cat", "", np.nan, "dog"))


@pytest.mark.parametrize(
    "word", ["NA", " NaN", "nan", "N/A", "null", "NULL", "None", "#N/A", "<NA>"]
)
def test_a_word_for_nothing_alone_in_a_cell_is_no_label(word):
    frame = frame_of("cat", word, f"{word}|dog")
    assert LabelColumns(empty="all").read(frame).to_sets()[1] == {"cat", "dog", word.strip()}
    message = (
        rf"none in row 2\. .* The cell '{word}' counts as empty; if it is a label, use --liter"
    )
    with pytest.raises(TableError, match=message):
        LabelColumns().read(frame)
    assert LabelColumns(literal=True).read(frame).to_sets()[1] == {word.strip()}


def test_a_column_of_words_for_nothing_is_refused_with_what_they_were_taken_for():
    with pytest.raises(TableError, match=r"all 2 are empty\. .* 'NA' counts as empty"):
        LabelColumns().parse(frame_of("NA", "NA"))


def test_an_annotator_who_wrote_a_word_for_nothing_has_not_voted():
    frame = pd.DataFrame({"ann": ["cat", "NA"], "ben": ["n/a", "dog"]})
    parsed = LabelColumns(columns=("ann", "ben"), votes=True).parse(frame)
    assert weights_of(parsed.candidates) == [[1, 0], [0, 1]]


def test_a_weight_that_was_meant_for_a_part_of_the_label_is_pointed_out():
    message = (
        r"as in 'grade:1', was read as a weight: use --literal-labels \(in Python literal=True"
    )
    with pytest.raises(TableError, match=message):
        LabelColumns().read(frame_of("grade:1|grade:2", "grade:2"))
    with pytest.raises(TableError, match=r"other labels\.$"):
        LabelColumns(columns=("a", "b"), votes=True).read(pd.DataFrame({"a": ["x"], "b": ["x"]}))


def test_labels_that_are_all_alike_can_be_parsed_but_not_read():
    columns = LabelColumns(classes=("cat", "dog"))
    assert len(columns.parse(frame_of("cat", "cat")).candidates) == 2
    for refuses in (columns, LabelColumns()):
        with pytest.raises(TableError, match="two labels. 'cat' is the only one, in 2 rows"):
            refuses.read(frame_of("cat", "cat"))


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (
            ("cat", "cat:0.7|dog"),
            "in row 2: column 'label' holds 'cat:0.7|dog'. 'cat' has a weight",
        ),
        (("cat", "!", "!"), "in 2 rows, the first is row 2: column 'label' holds '!'."),
        (("cat", "cat:0|dog:0"), "row 2.*All of its weights are 0"),
        (("cat", "dog:3|cat:0|!dog"), "row 2.*All of its weights are 0"),
        (("cat", "cat:1e308|cat:1e308"), "row 2.*add up to more"),
        (("cat", "dog|!dog"), "row 2.*All of its labels are ruled out"),
        (("cat", "dog:1|!dog"), "row 2.*All of its labels are ruled out"),
        (("cat", "!dog|!cat"), r"row 2.*rules out every label there is \(cat, dog\)"),
        (('["cat"]', "[dog]"), "row 2: column 'label' holds '.dog.'.*This one is neither"),
        (("cat", ["x" * 99, []]), r"holds \['x{55}\.\.\.\. A list of labels"),
        (("", None), "No row has a label in column 'label': all 2 are empty"),
        ((), "no rows"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_row(cells, message):
    with pytest.raises(TableError, match=message.replace("|", r"\|")):
        LabelColumns().parse(frame_of(*cells))


def test_a_mixture_of_weights_and_none_is_refused_over_several_columns():
    frame = pd.DataFrame({"a": ["cat", "cat:0.7"], "b": ["dog", "dog"], "c": ["", None]})
    message = "in row 2: column 'a' holds 'cat:0.7', column 'b' holds 'dog'. 'cat' has a weight"
    with pytest.raises(TableError, match=message):
        LabelColumns(columns=("a", "b", "c")).parse(frame)


def test_weights_of_an_annotator_who_votes_are_refused():
    frame = pd.DataFrame({"a": ["cat", "cat:0.7"], "b": ["dog", "dog"]})
    with pytest.raises(TableError, match="row 2.*one vote for each label, and no weights"):
        LabelColumns(columns=("a", "b"), votes=True).parse(frame)


@pytest.mark.parametrize("cell", ["cta", "cat|!cta"])
def test_a_label_outside_the_classes_is_refused(cell):
    columns = LabelColumns(classes=("cat", "dog"))
    with pytest.raises(TableError, match="row 2.*'cta' is not one of the 2 .* Did you mean 'cat'"):
        columns.parse(frame_of("cat", cell))


def test_a_column_that_is_missing_is_refused():
    with pytest.raises(TableError, match="no column 'label'.*Did you mean 'Label'.*--labels"):
        LabelColumns().parse(pd.DataFrame({"Label": ["cat"]}))


def test_names_of_columns_become_label_columns():
    given = LabelColumns(votes=True)
    assert LabelColumns.of(given) is given
    assert LabelColumns.of("a") == LabelColumns(columns=("a",))
    assert LabelColumns.of(["a", "b"]) == LabelColumns(columns=("a", "b"))
    for wrong in (3, ["a", 3], None):
        with pytest.raises(ParameterError, match="the name of a column, several names"):
            LabelColumns.of(wrong)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"columns": ()}, "at least one column"),
        ({"columns": ("a", "a")}, "every column once. Got 'a' twice"),
        ({"classes": ("a", " a")}, "every class once. Got 'a' twice"),
        ({"classes": ("a", None)}, "none of them blank"),
        ({"separator": ""}, "'separator' must be a string"),
        ({"literal": 1}, "'literal' must be True or False"),
        ({"votes": "yes"}, "'votes' must be True or False"),
        ({"empty": "drop"}, "'empty' must be one of 'refuse', 'all'"),
    ],
)
def test_wrong_parameters_are_refused(wrong, message):
    with pytest.raises(ParameterError, match=message):
        LabelColumns(**wrong)


def test_label_columns_can_be_compared_hashed_and_pickled():
    columns = LabelColumns(columns=["a", "b"], classes=["x", "y"])
    assert pickle.loads(pickle.dumps(columns)) == columns
    assert hash(columns) == hash(LabelColumns(columns=("a", "b"), classes=("x", "y")))


def test_a_row_of_nearly_all_classes_does_not_make_the_others_large():
    names = [f"class {number}" for number in range(1000)]
    frame = frame_of(*names, "!class 0", *["class 1"] * 50_000)
    candidates = LabelColumns().read(frame)
    assert candidates.sizes[[0, 1000, 1001]].tolist() == [1, 999, 1]
    assert candidates.nbytes < 1_000_000


def test_a_million_rows_are_read_by_their_distinct_cells():
    cells = np.array(["cat|dog", "!cat", "bird"], dtype=object)
    codes = np.random.default_rng(0).integers(0, 3, 1_000_000)
    candidates = LabelColumns().read(pd.DataFrame({"label": cells[codes]}))
    assert candidates.to_mask().sum(axis=0).tolist() == [
        np.isin(codes, [1, 2]).sum(),
        (codes == 0).sum(),
        np.isin(codes, [0, 1]).sum(),
    ]


def test_rows_that_rule_labels_out_are_refused_where_they_would_take_too_much():
    table = pd.DataFrame({"label": [f"!l{number}" for number in range(1_000)]})
    with pytest.raises(TableError, match="The candidate sets of the table would take 25MB"):
        LabelColumns(max_memory="10MB").read(table)
    assert LabelColumns(max_memory="30MB").read(table).sizes.tolist() == [999] * 1_000
