"""The pictures in the docs: pages of the example, as a browser shows them.

``make screenshots`` keeps them; otherwise they are made and thrown away.
"""

import os
from pathlib import Path

import pytest
from PIL import Image

from cli.command_runs import accepted
from web.review_process import ReviewProcess
from web.test_report_in_a_browser import press_label

pytestmark = pytest.mark.browser

KEPT_IN = os.environ.get("DISAMBIG_SCREENSHOTS")
SETTINGS = ("--method", "ncpd_plus", "--set", f"epochs={40 if KEPT_IN else 4}", "--folds", "2")


@pytest.fixture(scope="module")
def vehicles(tmp_path_factory):
    folder = tmp_path_factory.mktemp("vehicles")
    accepted("example", folder)
    cleaned = folder / "vehicles-clean.csv"
    known = ("--labels", "label", "--truth", "checked", "--id", "vehicle")
    accepted("clean", folder / "vehicles.csv", *known, *SETTINGS, "--out", cleaned)
    return cleaned


@pytest.fixture
def pictures(tmp_path):
    return Path(KEPT_IN or tmp_path)


def has_content(path):
    """Tell whether a picture shows more than one colour over most of its height."""
    with Image.open(path) as picture:
        grey = picture.convert("L")
        strips = [grey.crop((0, y, grey.width, y + 60)) for y in range(0, grey.height - 60, 60)]
        return sum(low != high for low, high in (s.getextrema() for s in strips)) > len(strips) / 2


def test_the_report(visit, vehicles, pictures):
    page = vehicles.with_name("report.html")
    accepted("report", vehicles, "--out", page)
    opened = visit(page.as_uri())
    opened.set_viewport_size({"width": 1100, "height": 900})
    end = opened.locator("#classes").bounding_box()["y"]
    shown = {"x": 0, "y": 0, "width": 1100, "height": end}
    opened.screenshot(path=pictures / "report.png", full_page=True, clip=shown)
    assert has_content(pictures / "report.png")


def test_the_review(visit, vehicles, pictures):
    review = ReviewProcess(vehicles)
    try:
        opened = visit(review.address)
        opened.set_viewport_size({"width": 1100, "height": 1180})
        for place in (1, 2):
            opened.keyboard.press("s")
            press_label(opened, place)
            opened.wait_for_selector("#status:has-text('Saved')")
        opened.wait_for_selector("#ranges svg")
        opened.screenshot(path=pictures / "review.png")
    finally:
        review.end()
    assert has_content(pictures / "review.png")
