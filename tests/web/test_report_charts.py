"""The charts of a report, parsed; places are compared with those worked out by hand."""

import itertools
import re

import numpy as np
import pytest

from disambig.web.charts.histogram import histogram
from disambig.web.charts.named_bars import NamedBar, named_bars
from disambig.web.charts.review_curve import Stop, review_curve
from web.page_parts import HOSTILE, as_tree, assert_safe, numbers, of_class


def rows_of(tree):
    return [["".join(cell.itertext()) for cell in row] for row in tree.findall(".//tbody/tr")]


def texts_of(tree):
    return [one.text for one in tree.iter("text")]


def histogram_of(counts, edges, **more):
    return as_tree(histogram("Confidence", counts, edges, x_title="confidence", **more))


# Errors left --------------------------------------------------------------------------------------


def falling(n_rows, power=0.97):
    """Return what is left where each row has a little less doubt than the one before."""
    doubt = power ** np.arange(n_rows)
    return np.append(np.cumsum(doubt[::-1])[::-1], 0.0)


def test_the_curve_falls_from_all_errors_to_what_is_left():
    left = falling(100)
    tree = as_tree(review_curve(left, [Stop(80, "end")]))
    path = next(one for one in of_class(tree, "line") if one.tag == "path")
    points = [tuple(map(float, p)) for p in re.findall(r"[ML]([\d.]+) ([\d.]+)", path.get("d"))]
    assert len(points) == 101
    top, bottom = 30, 260 - 44
    heights = [bottom - value / left[0] * (bottom - top) for value in left]
    assert [y for _, y in points] == pytest.approx(heights, abs=0.01)
    assert all(a < b for (a, _), (b, _) in itertools.pairwise(points))


def test_the_points_where_one_may_stop_are_on_the_curve_and_named_above_it():
    left = falling(400)
    tree = as_tree(review_curve(left, [Stop(50, "50 rows"), Stop(120, "all, 120 rows")]))
    circles = sorted(numbers(one, "cx", "cy") for one in of_class(tree, "point"))
    path = next(one for one in of_class(tree, "line") if one.tag == "path")
    on_curve = [tuple(map(float, p)) for p in re.findall(r"[ML]([\d.]+) ([\d.]+)", path.get("d"))]
    for x, y in circles:
        near = min(on_curve, key=lambda point: abs(point[0] - x))
        assert (x, y) == pytest.approx(near, abs=1.5)
    named = [one for one in tree.iter("text") if " left" in (one.text or "")]
    assert {one.text for one in named if "rows" in one.text} == {
        f"50 rows: about {left[50]:.0f} left",
        f"all, 120 rows: about {left[120]:.0f} left",
    }
    for one in named:
        if "rows" not in one.text:
            continue
        x, y = numbers(one, "x", "y")
        assert x >= 0
        under = [height for place, height in on_curve if x <= place <= x + 6 * len(one.text)]
        assert y < min(under)


def test_the_curve_ends_where_nothing_is_left_and_not_before_the_last_stop():
    shown = [row[0] for row in rows_of(as_tree(review_curve(falling(4_000), [Stop(60, "end")])))]
    # 1 % of the errors are left after log(.01) / log(.97) = 151.2 rows.
    assert shown == ["0", "10", "25", "50", "60", "100", "152"]
    shown = [row[0] for row in rows_of(as_tree(review_curve(falling(4_000), [Stop(400, "end")])))]
    assert shown[-3:] == ["250", "400", "500"]
    shown = [row[0] for row in rows_of(as_tree(review_curve(falling(90), [Stop(80, "end")])))]
    assert shown[-1] == "90"


def test_errors_left_are_told_without_false_precision():
    left = np.array([4604.5, 31.3, 0.4, 0.0])
    tree = as_tree(review_curve(left, [Stop(2, "end")]))
    assert rows_of(tree) == [["0", "4,600"], ["2", "0.4"], ["3", "0"]]
    assert [one.get("data-tip") for one in of_class(tree, "mark")] == [
        "after 0 rows\nabout 4,600 errors left",
        "after 1 row\nabout 31 errors left",
        "after 2 rows\nfewer than 1 error left",
        "after 3 rows\nno errors left",
    ]


def test_a_large_table_has_a_curve_of_few_points():
    tree = as_tree(review_curve(falling(100_000, 0.99995), [Stop(50, "x"), Stop(50_000, "y")]))
    path = next(one for one in of_class(tree, "line") if one.tag == "path")
    assert path.get("d").count("L") == 100
    assert len(of_class(tree, "mark")) <= 52


def test_without_doubt_or_stops_there_is_still_a_chart():
    tree = as_tree(review_curve(np.zeros(4), []))
    assert "There is nothing to draw." in "".join(tree.itertext())
    assert as_tree(review_curve(falling(3), [])).find("svg") is not None


# Bars with names ----------------------------------------------------------------------------------


def test_lying_bars_have_one_scale_and_their_words_beside_them():
    bars = [
        NamedBar("cat or dog", 12.0, "12", "in 30 rows"),
        NamedBar("cat or fox", 3.0, "3", "in 1 row"),
        NamedBar("all others", 99.0, "99", "", has_bar=False),
    ]
    tree = as_tree(named_bars("Doubt", bars, header=("labels", "errors", "rows")))
    widths = [numbers(one, "width")[0] for one in of_class(tree, "bar")]
    assert widths == pytest.approx([398, 398 / 4])
    assert [one.get("data-tip") for one in of_class(tree, "mark")] == [
        "cat or dog\n12, in 30 rows",
        "cat or fox\n3, in 1 row",
        "all others\n99",
    ]
    assert rows_of(tree)[0] == ["cat or dog", "12", "in 30 rows"]


def test_long_and_hostile_names_of_bars_are_cut_and_text():
    bars = [NamedBar(HOSTILE * 5, 1.0, "1", HOSTILE)]
    chart = named_bars(HOSTILE, bars, header=(HOSTILE, "", ""))
    assert_safe(chart)
    tree = as_tree(chart)
    assert texts_of(tree)[0].endswith("…")
    assert rows_of(tree)[0][0] == HOSTILE * 5


# Confidences --------------------------------------------------------------------------------------


def test_bars_of_a_histogram_stand_between_their_edges():
    tree = histogram_of([4, 0, 8], [0.4, 0.6, 0.8, 1.0])
    boxes = [numbers(one, "x", "width", "height") for one in of_class(tree, "bar")]
    step = boxes[1][0] - boxes[0][0]
    assert [x - boxes[0][0] for x, _, _ in boxes] == pytest.approx([0, step, 2 * step], abs=0.01)
    assert [height / boxes[2][2] for *_, height in boxes] == pytest.approx([0.5, 0, 1])
    assert [one.get("data-tip") for one in of_class(tree, "mark")] == [
        "4 rows\nconfidence 0.4 to 0.6",
        "0 rows\nconfidence 0.6 to 0.8",
        "8 rows\nconfidence 0.8 to 1",
    ]


@pytest.mark.parametrize("low", [0.5, 0.35, 0.05, 0.93])
def test_the_axis_of_a_histogram_begins_at_its_first_edge_and_has_a_tick_at_one(low):
    edges = np.linspace(low, 1, 11).round(4).tolist()
    tree = histogram_of([1] * 10, edges)
    ticks = [one for one in tree.iter("text") if re.fullmatch(r"\d\.\d\d", one.text or "")]
    values = [float(one.text) for one in ticks]
    assert values[-1] == 1
    assert min(values) >= low - 0.005
    places = [float(one.get("x")) for one in ticks]
    assert places == sorted(places)
    assert all(b - a > 30 for a, b in itertools.pairwise(places))


@pytest.mark.parametrize("value", [0.52, 0.9])
def test_the_threshold_of_a_histogram_is_a_line_with_its_name_inside_the_chart(value):
    tree = histogram_of([1] * 5, [0.5, 0.6, 0.7, 0.8, 0.9, 1.0], threshold=(value, "up to here"))
    line = next(one for one in of_class(tree, "axis") if one.get("stroke-dasharray"))
    x, other = numbers(line, "x1", "x2")
    left, right = (numbers(one, "x") for one in of_class(tree, "bar")[:2])
    first, second = left[0] - 0.5, right[0] - 0.5
    assert x == other == pytest.approx(first + (value - 0.5) / 0.1 * (second - first), abs=0.01)
    (name,) = (one for one in tree.iter("text") if one.text == "up to here")
    place = float(name.get("x"))
    assert (place < x) == (value > 0.6)
    assert place - (70 if name.get("text-anchor") == "end" else 0) > 0
