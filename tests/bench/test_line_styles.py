import itertools
from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_rgb

from disambig.bench.figure_style import color_of, figure_style, line_keywords
from disambig.bench.line_styles import method_styles, role_styles

LABELS = ["NCPD", "SURE", "AGGD", "IPAL", "PL-KNN", "CLPL", "M3PL", "PL-SVM", "EM", "LSB-CMM"]


def test_thirteen_methods_differ_in_marker_and_so_in_grey_print():
    styles = method_styles([*LABELS, "one", "two", "three"], "NCPD")
    markers = [style.marker for style in styles.values()]
    assert len(set(markers)) == 13


def test_neighbours_in_the_order_differ_in_colour_dash_and_marker():
    styles = list(method_styles([f"method {i}" for i in range(12)]).values())
    for one, next_one in itertools.pairwise(styles):
        assert one.color != next_one.color
        assert one.dash != next_one.dash
        assert one.marker != next_one.marker


@pytest.mark.parametrize("reference", ["NCPD", "SURE", "mine"])
def test_the_reference_is_the_broadest_line_and_keeps_colour_and_marker(reference):
    labels = [*LABELS, "mine"]
    styles, plain = method_styles(labels, reference), method_styles(labels)
    others = [width(style) for label, style in styles.items() if label != reference]
    assert width(styles[reference]) > 2 * max(others)
    assert styles[reference].color == plain[reference].color
    assert styles[reference].marker == plain[reference].marker


def test_without_a_reference_no_line_is_broader_than_others():
    assert len({width(style) for style in method_styles(LABELS).values()}) == 1


def width(style):
    return line_keywords(style)["linewidth"]


def grey(color):
    return float(np.dot([0.299, 0.587, 0.114], to_rgb(color)))


def test_a_known_method_looks_the_same_in_every_company_and_spelling():
    assert method_styles(["plknn"])["plknn"] == method_styles(LABELS)["PL-KNN"]


def test_unknown_labels_take_the_next_free_style_in_their_order():
    assert method_styles(["x", "SURE", "y"]) == method_styles(["x", "SURE", "y"])
    styles = method_styles(["x", "SURE", "y"])
    assert len(set(styles.values())) == 3
    assert method_styles(["x"])["x"] == method_styles(["NCPD"])["NCPD"]


def test_no_colour_is_too_faint_for_white_paper():
    for style in method_styles([f"method {i}" for i in range(20)]).values():
        assert grey(color_of(style)) < 0.7


def test_the_settings_of_matplotlib_are_left_as_they_were():
    before = dict(mpl.rcParams)
    with figure_style():
        assert mpl.rcParams["svg.hashsalt"] == "disambig"
    assert dict(mpl.rcParams) == before


def test_a_pale_line_keeps_its_shape_and_lies_below_the_reference():
    plain, strong = method_styles(["SURE", "NCPD"], "NCPD").values()
    pale = line_keywords(replace(plain, is_pale=True))
    assert grey(pale["color"]) > grey(color_of(plain)) + 0.2
    assert pale["zorder"] < line_keywords(strong)["zorder"] < line_keywords(plain)["zorder"]
    same = ("marker", "linestyle", "linewidth")
    assert [pale[name] for name in same] == [line_keywords(plain)[name] for name in same]


def test_baselines_come_last_and_differ_by_their_dashes_alone():
    roles = {
        "low": "candidate_baseline",
        "NCPD": "method",
        "top": "true_label_baseline",
        "chance": "candidate_baseline",
    }
    styles = role_styles(roles, "NCPD")
    assert list(styles) == ["NCPD", "low", "chance", "top"]
    bounds = list(styles.values())[1:]
    assert all(style.is_bound and style.marker is None for style in bounds)
    assert len({style.dash for style in bounds}) == 3
    assert len({color_of(style) for style in bounds}) == 1
