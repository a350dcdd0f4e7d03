"""Rows of pictures are alike where their pictures look alike."""

import numpy as np
import pandas as pd
import pytest

from disambig.tabular.reasons import picture_columns
from disambig.tabular.reasons.picture_columns import picture_column
from disambig.tabular.reasons.reasons import Reasons
from tabular.described.image_tables import write_signs
from tabular.reasons.hand_made_tables import table_of

FEATURES = {"image": ["photo"]}


@pytest.fixture
def frame(tmp_path) -> pd.DataFrame:
    return write_signs(tmp_path, 45)


def table_with_doubts(frame, doubted):
    """Return a table in which the labels of all rows but some are known."""
    signs = sorted(set(frame["truth"]))
    unknown = {sign: 1 / len(signs) for sign in signs}
    shares = [unknown if row in doubted else {sign: 1.0} for row, sign in enumerate(frame["truth"])]
    return table_of(shares, {"photo": frame["photo"].tolist()}, features=FEATURES)


def test_the_most_similar_picture_mostly_has_the_right_label(frame, tmp_path):
    doubted = range(0, 45, 4)
    table = table_with_doubts(frame, doubted)
    reasons = Reasons(table, tmp_path)
    names = table.candidates.classes
    first = [names[reasons.similar(row)[0].label] for row in doubted]
    assert np.mean(np.array(first) == frame["truth"].to_numpy()[list(doubted)]) > 0.8


def test_without_a_folder_pictures_are_not_compared(frame):
    assert Reasons(table_with_doubts(frame, [0])).similar(0) == []


def test_a_picture_is_as_far_from_a_gap_as_from_any_and_gaps_are_alike(frame, tmp_path):
    (tmp_path / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    cells = [*frame["photo"], "broken.png", "gone.png", None]
    column = picture_column(pd.Series(cells, dtype=object, name="photo"), tmp_path)
    assert column.apart(slice(45, 48), 46).tolist() == [0, 0, 0]
    assert column.apart(slice(0, 3), 47).tolist() == [2, 2, 2]
    every = column.apart(*(places.ravel() for places in np.indices((45, 45))))
    assert every.mean() == pytest.approx(2, rel=1e-4)


def test_very_many_pictures_and_unreadable_ones_are_left_out(frame, tmp_path, monkeypatch):
    column = pd.Series(frame["photo"].tolist(), dtype=object, name="photo")
    assert picture_column(column, tmp_path / "elsewhere") is None
    monkeypatch.setattr(picture_columns, "_MOST_FILES", 44)
    assert picture_column(column, tmp_path) is None


def test_equal_pictures_are_not_apart(frame, tmp_path):
    column = picture_column(pd.Series(frame["photo"].tolist()[:1] * 3, name="photo"), tmp_path)
    assert column.apart(slice(0, 3), 1).tolist() == [0, 0, 0]
