"""Charts, parsed; places are compared with those worked out by hand."""

import math
import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from disambig.bench.charts import Dot, DotPanel, LineChart, RanksChart, Series
from disambig.bench.line_styles import N_MARKERS, LineStyle, method_styles, nth_style
from disambig.tabular.evidence import measure_reliability
from disambig.web.charts.comparisons import dot_chart, rank_diagram
from disambig.web.charts.grids import bar_chart, heat_map
from disambig.web.charts.lines import line_chart
from disambig.web.charts.marks import marker, path_through
from disambig.web.charts.reliability import reliability_diagram
from web.page_parts import HOSTILE, Elements, as_tree, assert_safe, numbers, of_class

AXES = {"x_title": "size", "y_title": "rows"}
BASELINE = LineStyle(None, None, (1, 2))


def bars(labels, values, **more):
    return bar_chart("Sizes", labels, values, **AXES, **more)


def line(name, x, y, style=None, **more):
    return Series(name, x, y, style or nth_style(0), **more)


def lines(*series, **more):
    return line_chart(LineChart("Lines", series, **(AXES | more)))


def hostile_charts():
    style = nth_style(0)
    return {
        "bars": bar_chart(HOSTILE, [HOSTILE], [1], x_title=HOSTILE, y_title=HOSTILE),
        "lines": line_chart(
            LineChart(
                HOSTILE,
                [line(HOSTILE, [1, 2], [0, 1], remarks={0: HOSTILE})],
                x_title=HOSTILE,
                y_title=HOSTILE,
                caption=HOSTILE,
            )
        ),
        "heat map": heat_map(
            HOSTILE, [HOSTILE, "b"], [[1, 2], [3, 4]], texts=[["1", "2"], ["3", "4"]]
        ),
        "dots": dot_chart(DotPanel(HOSTILE, HOSTILE, [Dot(HOSTILE, 0.5, 0.1, style, HOSTILE)])),
        "ranks": rank_diagram(
            RanksChart(HOSTILE, {HOSTILE: 1.2, "b": 1.8}, 0.3, reference=HOSTILE)
        ),
    }


@pytest.mark.parametrize("kind", ["bars", "lines", "heat map", "dots", "ranks"])
def test_names_are_text_whatever_they_are(kind):
    chart = hostile_charts()[kind]
    tree = as_tree(chart)  # markup from a name would be an element
    assert_safe(chart)
    assert not list(tree.iter("script"))
    assert HOSTILE in tree.find("h3").text
    assert any(HOSTILE in one.get("data-tip", "") for one in tree.iter())


@pytest.mark.parametrize("kind", ["bars", "lines", "heat map", "dots", "ranks"])
def test_every_chart_has_a_title_a_name_for_readers_a_table_and_marks(kind):
    tree = as_tree(hostile_charts()[kind])
    assert tree.tag == "figure"
    assert "chart" in tree.get("class").split()
    svg = next(one for one in tree.iter("svg") if one.get("tabindex") == "0")
    assert svg.get("aria-label") == HOSTILE
    assert svg.get("role") == "group"
    assert [float(size) for size in svg.get("viewbox").split()][:2] == [0, 0]
    assert of_class(svg, "mark")
    assert tree.find("details/summary").text == "The numbers"
    assert tree.find("details").findall(".//tbody/tr")


def test_bars_are_as_high_as_their_values_and_as_far_apart_as_there_is_room():
    tree = as_tree(bars(["1", "2", "3", "4"], [20, 10, 0, 5]))
    boxes = [numbers(bar, "x", "y", "width", "height") for bar in of_class(tree, "bar")]
    heights = [height for *_, height in boxes]
    full = heights[0]
    assert heights == pytest.approx([full, full / 2, 0, full / 4], abs=0.01)
    bottoms = [y + height for _, y, _, height in boxes]
    assert bottoms == pytest.approx([bottoms[0]] * 4, abs=0.01)
    steps = np.diff([x for x, *_ in boxes])
    assert steps == pytest.approx([steps[0]] * 3, abs=0.01)
    assert all(width == pytest.approx(0.84 * steps[0], abs=0.01) for *_, width, _ in boxes)
    # The highest ends at the top of the plot, 30 below the edge; its foot is 44 above the other.
    assert boxes[0][1] == pytest.approx(30)
    assert bottoms[0] == pytest.approx(240 - 44)


def test_bars_have_tips_for_small_ones_too_and_numbers_as_a_table():
    tree = as_tree(bars(["1", "2"], [1200, 0]))
    assert [one.get("data-tip") for one in of_class(tree, "mark")] == ["1: 1,200", "2: 0"]
    for one in of_class(tree, "mark"):
        assert numbers(one, "height") == (240 - 44 - 30,)
    cells = [[cell.text for cell in row] for row in tree.findall(".//tbody/tr")]
    assert cells == [["1", "1,200"], ["2", "0"]]


def test_bars_of_nothing_are_drawn_on_the_axis():
    tree = as_tree(bars(["1", "2"], [0, 0]))
    assert [numbers(bar, "height") for bar in of_class(tree, "bar")] == [(0,), (0,)]


def test_labels_of_bars_do_not_overlap_and_stay_inside():
    labels = [f"{i / 40:.3f} to {(i + 1) / 40:.3f}" for i in range(40)]
    tree = as_tree(bars(labels, range(40)))
    shown = [one for one in tree.iter("text") if one.get("text-anchor") == "middle"][:-1]
    places = [float(one.get("x")) for one in shown]
    widths = [6.2 * len(one.text) for one in shown]
    assert 2 <= len(shown) < 40
    for a, b, one, other in zip(places, places[1:], widths, widths[1:], strict=False):
        assert b - a > (one + other) / 2
    assert places[-1] + widths[-1] / 2 <= 400


def test_lines_go_through_their_points():
    tree = as_tree(lines(line("one", [0, 5, 10], [0.0, 0.25, 1.0]), y_range=(0, 1)))
    (path,) = [one for one in of_class(tree, "line") if one.tag == "path"]
    points = [
        tuple(map(float, pair)) for pair in re.findall(r"[ML]([\d.]+) ([\d.]+)", path.get("d"))
    ]
    (x0, y0), (x1, y1), (x2, y2) = points
    assert (y0, y1, y2) == pytest.approx((260 - 44, 216 - 186 / 4, 30))
    assert x1 == pytest.approx((x0 + x2) / 2, abs=0.01)
    assert x2 == 400 - 14


def test_a_missing_value_interrupts_its_line():
    tree = as_tree(lines(line("one", [1, 2, 3, 4, 5], [0.1, 0.2, math.nan, 0.4, 0.5])))
    (path,) = [one for one in of_class(tree, "line") if one.tag == "path"]
    assert re.sub("[^ML]", "", path.get("d")) == "MLML"
    assert len(of_class(tree.find("svg"), "point")) == 4
    assert of_class(tree, "mark")[2].get("data-tip") == "size: 3\none: -"


def test_a_line_is_cut_at_the_lower_edge():
    # Heights grow downwards; the edge at 10 is crossed a quarter of the way, and back at the half.
    path = path_through([(0, 8), (4, 16), (8, 4)], lowest=10)
    assert path == "M0.00 8.00 L1.00 10.00 M6.00 10.00 L8.00 4.00"
    assert path_through([(0, 20), (1, 20)], lowest=10) == "M0.00 10.00"
    assert path_through([(0, math.nan)], lowest=10) == ""


def test_what_is_below_the_range_is_an_arrow_and_the_legend_says_so():
    series = (line("one", [1, 2], [0.1, 0.9]), line("two", [1, 2], [0.2, 0.8]))
    tree = as_tree(lines(*series, y_range=(0.5, 1)))
    arrows = of_class(tree.find("svg"), "arrow")
    assert len(arrows) == 2
    assert len(of_class(tree.find("svg"), "point")) == 2
    heights = {re.match(r"M[\d.]+ ([\d.]+)", one.get("d")).group(1) for one in arrows}
    assert len(heights) == 2, "arrows of two lines have rows of their own"
    assert "arrow: below the axis" in "".join(tree.find("ul").itertext())
    assert "arrow" not in "".join(as_tree(lines(*series)).find("ul").itertext())


def test_a_point_with_a_remark_is_hollow_and_the_tip_says_why():
    tree = as_tree(lines(line("one", [1, 2], [0.1, 0.2], remarks={1: "3 of 10 runs"})))
    full, hollow = of_class(tree.find("svg"), "point")
    assert "hollow" in hollow.get("class")
    assert "hollow" not in full.get("class")
    assert of_class(tree, "mark")[1].get("data-tip") == "size: 2\none: 0.200 (3 of 10 runs)"


def test_tips_have_all_lines_of_a_place_and_lines_may_have_other_places():
    tree = as_tree(lines(line("one", [1, 2], [0.5, 0.6]), line("two", [2, 3], [1, 2])))
    assert [one.get("data-tip") for one in of_class(tree, "mark")] == [
        "size: 1\none: 0.500",
        "size: 2\none: 0.600\ntwo: 1",
        "size: 3\ntwo: 2",
    ]
    widths = [numbers(one, "x", "width") for one in of_class(tree, "mark")]
    for (x, width), (other, _) in pairwise(widths):
        assert x + width == pytest.approx(other, abs=0.01)


def test_many_points_have_few_markers_and_tips_the_last_among_them():
    tree = as_tree(
        lines(
            *(
                line(name, range(1, 501), np.linspace(0, 1, 500), nth_style(i))
                for i, name in enumerate("ab")
            )
        )
    )
    svg = tree.find("svg")
    assert len(of_class(svg, "point")) <= 2 * 13
    marks = of_class(svg, "mark")
    assert len(marks) <= 51
    assert marks[-1].get("data-tip") == "size: 500\na: 1\nb: 1"
    assert len(tree.findall(".//tbody/tr")) == len(marks)
    one, other = of_class(svg, "series-0")[0], of_class(svg, "series-1")[0]
    assert of_class(one, "point")[0].get("cx") != of_class(other, "point")[0].get("x")


def test_lines_differ_without_colour_and_bounds_are_thin_grey_and_unmarked():
    styles = method_styles(["NCPD", "SURE"], "NCPD")
    series = [line(name, [1, 2], [1, 2], style) for name, style in styles.items()]
    tree = as_tree(lines(*series, line("low", [1, 2], [0, 0], BASELINE)))
    svg = tree.find("svg")
    strong, plain, bound = (of_class(svg, name)[0] for name in ("series-0", "series-1", "bound"))
    widths = [
        numbers(of_class(one, "line")[0], "stroke-width")[0] for one in (strong, plain, bound)
    ]
    assert widths == sorted(widths, reverse=True)
    assert of_class(strong, "line")[0].get("stroke-dasharray") is None
    assert of_class(plain, "line")[0].get("stroke-dasharray") is not None
    assert of_class(strong, "point")[0].tag == "circle"
    assert of_class(plain, "point")[0].tag == "polygon"
    assert not of_class(bound, "point")
    assert ["".join(one.itertext()) for one in tree.find("ul")] == ["NCPD", "SURE", "low"]


def test_one_point_and_no_point_at_all():
    tree = as_tree(lines(line("one", [3], [0.5])))
    (point,) = of_class(tree.find("svg"), "point")
    x, y = numbers(point, "cx", "cy")
    assert 0 < x < 400
    assert y == pytest.approx((30 + 216) / 2)
    for series in ((), (line("one", [1, 2], [math.nan, math.nan]),)):
        assert "There is nothing to draw." in "".join(as_tree(lines(*series)).itertext())


def test_thirteen_markers_differ():
    shapes = {str(marker(number, 10, 10, 4)) for number in range(N_MARKERS)}
    assert len(shapes) == N_MARKERS
    for number in range(1, N_MARKERS):
        points = as_tree(marker(number, 10, 10, 4)).get("points").split()
        places = np.array([[float(value) for value in one.split(",")] for one in points])
        assert np.abs(places - 10).max() < 6.5
        assert np.abs(places - 10).max() > 2.5


def together(names, values):
    texts = [[f"{value:,}" for value in row] for row in values]
    return as_tree(heat_map("Together", names, values, texts=texts))


def test_cells_are_darker_where_values_are_higher_and_say_both_names():
    tree = together(["a", "b", "c"], [[40, 8, 4], [2, 50, 0], [1, 1, 60]])
    cells = of_class(tree, "cell")
    assert [one.get("data-tip") for one in cells[:4]] == [
        "a with a: 40",
        "a with b: 8",
        "a with c: 4",
        "b with a: 2",
    ]
    shades = {
        one.get("data-tip"): numbers(one, "fill-opacity")[0]
        for one in cells
        if "self" not in one.get("class").split()
    }
    assert len(shades) == 6
    assert shades["a with b: 8"] == 1
    assert 0 < shades["b with a: 2"] < shades["a with c: 4"] < 1
    assert shades["b with c: 0"] == 0
    ((ax, ay), (bx, by)) = (numbers(one, "x", "y") for one in cells[2:4])
    assert ax - bx == pytest.approx(2 * 48)
    assert by - ay == pytest.approx(48)
    assert [one.text for one in of_class(tree, "on-full")] == ["8"]
    assert [one.text for one in of_class(tree, "on-faint")] == [
        "40",
        "4",
        "2",
        "50",
        "1",
        "1",
        "60",
    ]


def test_the_diagonal_of_a_heat_map_is_grey_and_drowns_nothing():
    few, many = together(["a", "b"], [[1, 8], [4, 1]]), together(["a", "b"], [[900, 8], [4, 900]])
    shades = [[one.get("fill-opacity") for one in of_class(tree, "cell")] for tree in (few, many)]
    assert shades[0] == shades[1]
    for tree in (few, many):
        grey = [one.get("data-tip")[:8] for one in of_class(tree, "self")]
        assert grey == ["a with a", "b with b"]
        assert all(one.get("fill-opacity") is None for one in of_class(tree, "self"))


@pytest.mark.parametrize(
    ("values", "listed"),
    [
        ([[9, 1, 0], [1, 9, 5], [0, 5, 9]], [["b", "c", "5"], ["a", "b", "1"]]),
        ([[9, 1, 0], [2, 9, 5], [0, 5, 9]], [["b", "c", "5"], ["c", "b", "5"], ["b", "a", "2"]]),
    ],
)
def test_the_numbers_of_a_heat_map_are_its_pairs_the_highest_first(values, listed):
    tree = together(["a", "b", "c"], values)
    rows = [[cell.text for cell in row] for row in tree.findall(".//tbody/tr")]
    assert rows[:3] == listed


def test_a_heat_map_may_leave_texts_out_and_say_its_own_tips():
    texts = [["", "0.3"], ["< 0.1", ""]]
    tree = as_tree(
        heat_map(
            "Doubt", ["{a}", "b"], [[0, 0.3], [0.01, 0]], texts=texts, tip="{} chosen, {} right"
        )
    )
    tips = [one.get("data-tip") for one in of_class(tree, "mark")]
    assert tips == ["{a} chosen, b right: 0.3", "b chosen, {a} right: < 0.1"]
    assert len(of_class(tree, "self")) == 2


def test_many_classes_have_no_numbers_in_cells_and_names_that_fit():
    names = [f"a class with a long name, number {i}" for i in range(30)]
    tree = together(names, np.arange(900).reshape(30, 30).tolist())
    assert not of_class(tree, "on-full")
    assert not of_class(tree, "on-faint")
    assert len(of_class(tree, "cell")) == 900
    shown = [one.text for one in tree.iter("text")]
    assert len(shown) == 60
    assert all(text.endswith("…") for text in shown)
    (svg,) = tree.iter("svg")
    # It scrolls in a frame of its own instead of shrinking.
    assert float(svg.get("width")) > 600
    assert "scroll" in tree.find("div").get("class")
    assert len(tree.findall(".//tbody/tr")) == 30


def test_a_heat_map_may_have_no_counts_at_all():
    (cell,) = of_class(together(["a"], [[0]]), "cell")
    assert cell.get("fill-opacity") is None
    assert [
        numbers(one, "fill-opacity")
        for one in of_class(together(["a", "b"], [[0, 0]] * 2), "cell")[1:3]
    ] == [(0,)] * 2


def dots(*given):
    return as_tree(dot_chart(DotPanel("glass", "accuracy", given)))


def test_dots_have_their_mean_and_error_on_one_scale_and_are_all_alike():
    tree = dots(
        Dot("NCPD", 0.5, 0.1, nth_style(0)),
        Dot("SURE", 0.7, None, nth_style(3)),
        Dot("low", 0.3, 0.2, BASELINE),
    )
    svg = tree.find("svg")
    circle, second = of_class(svg, "point")
    assert {circle.tag, second.tag} == {"circle"}
    assert not of_class(svg, "series-0")
    (line,) = of_class(svg, "bound")[0]
    path = next(one for one in of_class(svg, "line") if one.tag == "path")
    mean, other = float(circle.get("cx")), float(second.get("cx"))
    start, end = map(float, re.match(r"M([\d.]+) [\d.]+H([\d.]+)", path.get("d")).groups())
    low = float(line.get("x1"))
    assert mean - start == pytest.approx(end - mean, abs=0.02)
    assert other - mean == pytest.approx(2 * (mean - start), abs=0.03)
    assert mean - low == pytest.approx(2 * (mean - start), abs=0.03)
    tips = [one.get("data-tip") for one in of_class(svg, "mark")]
    assert tips == ["NCPD: 0.500 ± 0.100", "SURE: 0.700"]
    rows = [[cell.text for cell in row] for row in tree.findall(".//tbody/tr")]
    assert rows[-1] == ["low", "0.300 ± 0.200"]


def test_a_dot_with_a_remark_is_hollow_and_one_without_a_mean_not_there():
    tree = dots(
        Dot("a", 0.5, 0.1, nth_style(0), "3 of 10 runs"), Dot("b", math.nan, None, nth_style(1))
    )
    (point,) = of_class(tree, "point")
    assert "hollow" in point.get("class")
    tips = [one.get("data-tip") for one in of_class(tree, "mark")]
    assert tips == ["a: 0.500 ± 0.100 (3 of 10 runs)", "b: -"]
    nothing = dots(Dot("b", math.nan, None, nth_style(1)))
    assert "There is nothing to draw." in "".join(nothing.itertext())


def test_the_diagram_of_ranks_has_ticks_bars_and_names_on_both_sides():
    ranks = {"a": 1.5, "b": 3.75, "c": 2.0, "d": 2.75}
    tree = as_tree(rank_diagram(RanksChart("Ranks", ranks, 1.0, reference="c")))
    svg = tree.find("svg")
    ticks = {one.text: float(one.get("x")) for one in svg.iter("text") if one.text.isdigit()}
    assert list(ticks) == ["1", "2", "3", "4"]
    step = ticks["2"] - ticks["1"]
    assert step == pytest.approx(200 / 3, abs=0.01)
    # a and c, c and d, and d and b are at most 1.0 apart; a and d are not.
    bars = [one for one in svg.iter("line") if one.get("class") == "line"]
    ends = [((x - ticks["1"]) / step + 1 for x in numbers(one, "x1", "x2")) for one in bars]
    margin = 4 / step
    expected = [(1.5, 2.0), (2.0, 2.75), (2.75, 3.75)]
    for (start, end), (best, worst) in zip(ends, expected, strict=True):
        assert (start + margin, end - margin) == pytest.approx((best, worst), abs=1e-3)
    names = {one.text: one for one in svg.iter("text") if re.match("[abcd] ", one.text)}
    assert {text[0]: one.get("text-anchor") for text, one in names.items()} == {
        "a": "end",
        "c": "end",
        "b": "start",
        "d": "start",
    }
    assert [one.text for one in of_class(svg, "strong")] == ["c  2.00"]
    heights = {text[0]: float(one.get("y")) for text, one in names.items()}
    assert heights["a"] == heights["b"] < heights["c"] == heights["d"]
    rows = [row[0].text for row in tree.findall(".//tbody/tr")]
    assert rows == ["a", "c", "d", "b"]


def test_a_long_ruler_and_long_names_stay_inside_the_diagram():
    names = [f"a method with a very long name, number {i}" for i in range(3)]
    ranks = dict(zip(names, (1.1, 1.9, 3.0), strict=True))
    tree = as_tree(rank_diagram(RanksChart("Ranks", ranks, 4.7)))
    (svg,) = tree.iter("svg")
    width = float(svg.get("viewbox").split()[2])
    (words,) = [one for one in svg.iter("text") if "critical" in one.text]
    assert float(words.get("x")) + 6 * len(words.text) < width
    assert all("…" in one.text for one in svg.iter("text") if "method" in one.text)
    tips = [one.get("data-tip") for one in of_class(svg, "mark")]
    assert f"{names[0]}: average rank 1.10" in tips


def test_no_chart_has_a_style_of_its_own():
    for chart in hostile_charts().values():
        assert Elements(chart).tips()
        assert not re.search(r"https?:|style=", str(chart))


def test_a_band_lies_around_the_strong_line_alone_and_pale_lines_say_so():
    strong, plain = method_styles(["NCPD", "SURE"], "NCPD").values()
    pale = replace(plain, is_pale=True)
    series = [
        line("NCPD", [1, 2], [0.5, 0.7], strong, errors=[0.1, 0.2]),
        line("SURE", [1, 2], [0.5, 0.6], pale, errors=[0.1, math.nan]),
    ]
    tree = as_tree(lines(*series, y_range=(0, 1)))
    svg = tree.find("svg")
    (band,) = of_class(svg, "error-band")
    corners = [tuple(map(float, corner.split(","))) for corner in band.get("points").split()]
    # From the top left to the bottom left; 1 is at 30 and 0 at 216.
    heights = [216 - 186 * value for value in (0.6, 0.9, 0.5, 0.4)]
    assert [y for _, y in corners] == pytest.approx(heights, abs=0.01)
    assert len(of_class(svg, "pale")) == 1
    legend = ["".join(one.itertext()) for one in tree.find("ul")]
    assert legend == ["NCPD", "SURE", "NCPD ± 1 standard error"]
    tips = [one.get("data-tip") for one in of_class(svg, "mark")]
    assert tips[0] == "size: 1\nNCPD: 0.500 ± 0.100\nSURE: 0.500 ± 0.100"
    assert tips[1] == "size: 2\nNCPD: 0.700 ± 0.200\nSURE: 0.600"


def test_bars_at_the_ends_of_lines_stand_beside_the_plot_and_replace_the_band():
    (strong,) = method_styles(["NCPD"], "NCPD").values()
    one = line("NCPD", [1, 2], [0.5, 0.7], strong, errors=[math.nan, 0.2])
    tree = as_tree(lines(one, y_range=(0, 1), has_end_bars=True))
    assert not of_class(tree, "error-band")
    bar = of_class(tree.find("svg"), "line")[-1]
    low, high = map(float, re.match(r"M[\d.]+ ([\d.]+)V([\d.]+)", bar.get("d")).groups())
    assert (low, high) == (pytest.approx(216 - 186 * 0.5), pytest.approx(216 - 186 * 0.9))
    assert "± 1 standard error" in "".join(tree.find("ul").itertext())


def test_a_point_of_the_reliability_diagram_is_on_the_line_where_confidences_are_right():
    confidence = np.array([0.75] * 4 + [0.55] * 2)
    right = np.array([True, True, True, False, False, False])
    chart = reliability_diagram(measure_reliability(confidence, right))
    assert_safe(chart)
    tree = as_tree(chart)
    (line,) = (one for one in tree.iter("line") if "stroke-dasharray" in one.attrib)
    x1, y1, x2, y2 = numbers(line, "x1", "y1", "x2", "y2")
    wrong, sure = sorted(numbers(one, "cx", "cy") for one in tree.iter("circle"))
    assert sure == pytest.approx((x1 + 0.75 * (x2 - x1), y1 + 0.75 * (y2 - y1)), abs=0.02)
    assert wrong == pytest.approx((x1 + 0.55 * (x2 - x1), y1), abs=0.02)
    tips = [one.get("data-tip") for one in of_class(tree, "mark")]
    assert tips[1].splitlines() == [
        "confidence 0.7 to 0.8, on average 0.750",
        "right: 0.750 (0.301 to 0.954, 95 %)",
        "rows: 4",
    ]
