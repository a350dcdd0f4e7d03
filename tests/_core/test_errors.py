import pickle

import numpy as np
import pytest

from disambig._core import errors


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (errors.CandidateError, ValueError),
        (errors.ParameterError, ValueError),
        (errors.DatasetFormatError, ValueError),
        (errors.HashMismatchError, ValueError),
        (errors.UnknownNameError, ValueError),
        (errors.DatasetNotFoundError, FileNotFoundError),
        (errors.DownloadError, OSError),
    ],
)
def test_errors_are_ours_and_a_builtin(error, builtin):
    assert issubclass(error, errors.DisambigError)
    assert issubclass(error, builtin)


def test_unknown_name_suggests_a_close_one_and_lists_all():
    error = errors.UnknownNameError("dataset", "glas", ["vehicle", "glass"])
    assert str(error) == (
        "There is no dataset called 'glas'. Did you mean 'glass'? Known: glass, vehicle."
    )


def test_unknown_name_suggests_nothing_when_nothing_is_close():
    assert "Did you mean" not in str(errors.UnknownNameError("dataset", "qqq", ["glass"]))


def test_unknown_name_survives_pickling():
    error = errors.UnknownNameError("method", "plkn", ["plknn"])
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_describe_rows_names_the_first_of_several():
    marked = np.array([False, False, True, True])
    assert errors.describe_rows(marked) == "2 samples, first at row 2"


def test_describe_rows_names_the_only_one():
    assert errors.describe_rows(np.array([False, True])) == "1 sample, at row 1"
