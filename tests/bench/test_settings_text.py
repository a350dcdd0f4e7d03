import json
import tomllib

import pytest

from disambig.bench import Study
from disambig.bench.paper import PAPER_STUDIES, paper_study
from disambig.bench.settings import can_be_toml, given_settings, settings_text


def text_of(study):
    return settings_text(given_settings(study, lambda path: path))


@pytest.mark.parametrize("quick", [True, False])
@pytest.mark.parametrize("name", PAPER_STUDIES)
def test_the_settings_of_the_paper_can_be_read_back(name, quick):
    study = paper_study(name, quick=quick)
    assert Study(**tomllib.loads(text_of(study))) == study


def test_any_text_and_number_can_be_read_back():
    study = Study(
        name="odd",
        about='"quoted" \\ back\nline\ttab \x7f \x01 ü 漢',
        datasets=[{"path": "a b.csv", "title": "x = [1]"}, "glass"],
        methods=[
            {"name": "plknn", "parameters": {"n_neighbors": 3}},
            {"name": "sure", "grid": {"tol": [1e-9, 2.5]}},
        ],
        protocol={"kind": "holdout", "test_share": 0.25},
    )
    assert Study(**tomllib.loads(text_of(study))) == study


def test_what_was_not_set_is_not_written():
    settings = given_settings(Study(name="a", datasets=["glass"], methods=["sure"]), str)
    assert settings == {"name": "a", "datasets": [{"name": "glass"}], "methods": [{"name": "sure"}]}


def test_paths_are_written_as_asked_for():
    study = Study(name="a", datasets=["glass", {"path": "/home/me/t.csv"}], methods=["sure"])
    settings = given_settings(study, lambda path: f"<{path}>")
    assert settings["datasets"] == [{"name": "glass"}, {"path": "</home/me/t.csv>"}]
    assert study.datasets[1].path == "/home/me/t.csv"


def test_what_toml_cannot_say_is_json():
    settings = {"name": "a", "methods": [{"name": "b", "parameters": {"c": None}}]}
    assert json.loads(settings_text(settings)) == settings


def test_only_what_toml_can_say_is_called_toml():
    assert can_be_toml({"a": [1, {"b": ""}]})
    assert not can_be_toml({"a": [1, {"b": None}]})
