import json
import shutil

import pytest

from bench.small_reports import result_of, small
from disambig import DisambigError
from disambig.bench import Study, make_report, write_report
from disambig.bench.plan import make_plan
from disambig.bench.reported_study import ReportedStudy, read_study_file, study_file_text


def written_into(folder, **settings):
    folder.mkdir(parents=True)
    defaults = {"name": "a", "datasets": ["glass"], "methods": ["sure"]}
    reported = ReportedStudy(Study(**(defaults | settings)), "disambig study a.toml", ("b.",), True)
    (folder / "study.json").write_text(study_file_text(reported, folder), encoding="utf-8")
    return reported


def test_what_was_reported_is_read_back(tmp_path):
    reported = written_into(tmp_path / "out", protocol={"folds": 3, "seed": 5})
    assert read_study_file(tmp_path / "out") == reported


def test_write_report_leaves_what_it_takes_to_make_the_report_again(plain, tmp_path):
    published = {"glass": {"PLKNN": (0.5, 0.01)}}
    report = make_report(plain.result, published=published, missing=("Missing.",))
    write_report(report, tmp_path, command="disambig x")
    reported = read_study_file(tmp_path)
    assert reported == ReportedStudy(plain.result.plan.study, "disambig x", ("Missing.",), True)
    write_report(plain, tmp_path)
    assert read_study_file(tmp_path) == ReportedStudy(plain.result.plan.study, None, (), False)


def test_paths_of_data_follow_the_folder_and_none_is_absolute(data, tmp_path):
    report = make_report(result_of(small("plknn", datasets=[data])))
    write_report(report, tmp_path / "work" / "out")
    text = (tmp_path / "work" / "out" / "study.json").read_text("utf-8")
    assert str(tmp_path) not in text
    assert json.loads(text)["study"]["datasets"][0]["path"] == "../../small.csv"
    # Moved with its surroundings, it still finds them.
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    shutil.move(tmp_path / "work", moved / "work")
    shutil.move(tmp_path / "small.csv", moved / "small.csv")
    study = read_study_file(moved / "work" / "out").study
    keys = [planned.job.key for planned in make_plan(study).jobs]
    assert keys == [planned.job.key for planned in report.result.plan.jobs]


NOTHING = {"study": {}, "command": None, "missing": [], "published": False}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "does not describe a study"),
        (b"[]", "does not describe a study"),
        (b"\xff\xfe", "is not text"),
        (NOTHING, "name: is missing"),
        (NOTHING | {"command": 3}, "command"),
        (NOTHING | {"more": 3}, "more"),
        (NOTHING | {"study": {"datasets": 3}}, "datasets"),
        (
            NOTHING | {"study": {"name": "a", "datasets": ["glass"], "methods": ["nothing"]}},
            "nothing",
        ),
    ],
)
def test_a_file_that_is_no_study_is_refused_by_name(content, message, tmp_path):
    (tmp_path / "study.json").write_bytes(
        content if isinstance(content, bytes) else json.dumps(content).encode()
    )
    with pytest.raises(DisambigError, match=message) as caught:
        read_study_file(tmp_path)
    assert "study.json" in str(caught.value)


@pytest.mark.parametrize("method", ["harmful:Method", {"name": "harmful:Method"}])
def test_a_folder_of_results_makes_nobody_import_code(method, tmp_path, monkeypatch):
    (tmp_path / "harmful.py").write_text("import pathlib\npathlib.Path('ran').touch()\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    study = {"name": "a", "datasets": ["glass"], "methods": [method]}
    (tmp_path / "study.json").write_text(json.dumps(NOTHING | {"study": study}))
    with pytest.raises(DisambigError, match=r"code outside disambig.*TOML file"):
        read_study_file(tmp_path)
    assert not (tmp_path / "ran").exists()


def test_a_folder_without_the_file_is_refused(tmp_path):
    with pytest.raises(DisambigError, match="There is no .*study.json. Name a folder"):
        read_study_file(tmp_path)


def test_the_page_for_browsers_is_written_where_there_is_one(plain, tmp_path):
    write_report(plain, tmp_path / "with", html="<p>x</p>")
    assert (tmp_path / "with" / "report.html").read_text("utf-8") == "<p>x</p>\n"
    write_report(plain, tmp_path / "without")
    assert not (tmp_path / "without" / "report.html").exists()
