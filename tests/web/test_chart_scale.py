import math

import pytest

from disambig.web.charts.canvas import (
    Scale,
    estimated_width,
    nice_ticks,
    range_of,
    shortened,
    thinned,
    tick_texts,
    value_text,
)


def test_a_scale_is_a_straight_line():
    scale = Scale(2, 4, 100, 0)
    assert [scale(value) for value in (2, 2.5, 4, 5)] == [100, 75, 0, -50]


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 1, ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        (0.22, 0.276, ["0.22", "0.23", "0.24", "0.25", "0.26", "0.27"]),
        (-3, 3, ["-2", "0", "2"]),
        (0, 12345, ["0", "2,500", "5,000", "7,500", "10,000"]),
        (0.1, 0.1 + 0.2, ["0.10", "0.15", "0.20", "0.25", "0.30"]),
        (1e-7, 3e-7, ["0.0000001", "0.0000002", "0.0000003"]),
    ],
)
def test_ticks_are_round_and_few(low, high, expected):
    ticks = nice_ticks(low, high)
    assert len(ticks) <= 6
    assert all(low - 1e-9 <= tick <= high + 1e-9 for tick in ticks)
    texts = tick_texts(ticks)
    if expected[0] == "0.0000001":
        assert 2 <= len(texts) <= 6
    else:
        assert texts == expected


def test_ticks_of_counts_are_whole():
    assert nice_ticks(0, 2, whole=True) == [0, 1, 2]
    assert nice_ticks(0, 1, whole=True) == [0, 1]
    assert 0.5 in nice_ticks(0, 2)


@pytest.mark.parametrize("low", [0.0, -7.3, 1e6])
@pytest.mark.parametrize("span", [1e-6, 0.07, 1, 33.3, 9e8])
def test_every_axis_has_a_tick_or_more_whatever_its_span(low, span):
    assert 2 <= len(nice_ticks(low, low + span)) <= 6


def test_a_range_holds_all_values_and_a_single_one_is_in_the_middle():
    low, high = range_of([0.2, math.nan, 0.7])
    assert low == pytest.approx(0.17)
    assert high == pytest.approx(0.73)
    for value in (0.0, 0.5, -3.0):
        low, high = range_of([value])
        assert low < value < high
        assert value - low == pytest.approx(high - value)
    assert range_of([math.nan]) == (0, 1)
    assert range_of([]) == (0, 1)


def test_numbers_are_short_and_missing_ones_a_dash():
    values = [3.0, 12345.0, 0.12345, 0.00012345, math.nan, -2.5]
    assert [value_text(value) for value in values] == [
        "3",
        "12,345",
        "0.123",
        "0.000123",
        "-",
        "-2.500",
    ]


def test_long_texts_are_shortened_to_their_room_and_short_ones_are_not():
    text = "a class with a very long name"
    short = shortened(text, 80)
    assert short.endswith("…")
    assert text.startswith(short[:-1].rstrip())
    assert estimated_width(short) <= 80
    assert shortened("cat", 80) == "cat"
    assert shortened(text, 0) == "…"


def test_texts_are_thinned_until_none_touches_the_next():
    texts = [f"0.{i:02d}" for i in range(20)]
    kept = thinned(texts, [10.0 * i for i in range(20)])
    step = kept[1] - kept[0]
    assert kept == list(range(0, 20, step))
    assert 10 * step >= estimated_width("0.00") + 6
    assert 10 * (step - 1) < estimated_width("0.00") + 6
    assert thinned(texts, [100.0 * i for i in range(20)]) == list(range(20))
    assert thinned([], []) == []
