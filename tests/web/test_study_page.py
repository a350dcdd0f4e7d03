"""The page of a study. Jobs run in this process."""

import re
from dataclasses import replace

import pytest

from bench.small_reports import CORRUPTION, NETWORK, result_of, small
from bench.small_studies import diligent, write_table
from disambig.bench import StudyResult, make_report
from disambig.web.study_report import study_page
from web.page_parts import HOSTILE, Elements, assert_safe


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    table = write_table(tmp_path_factory.mktemp("data") / "small.csv")
    return {"path": str(table), "truth": "truth"}


@pytest.fixture(scope="module")
def rich(data):
    """Return a report with everything: own sets and corruption, two r, three methods, a failure."""
    entry = data | {"corruption": CORRUPTION | {"r": [1, 2]}}
    study = small(
        "plknn",
        "sure",
        diligent(fails_without=7),
        datasets=[data, entry],
        metrics=["accuracy", "covering_rate"],
        about="About it.\n",
    )
    published = {"small": {"PLKNN": (0.5, 0.01)}}
    return make_report(
        result_of(study), published=published, missing=("Missing: a. Get it by 'fetch a'.",)
    )


@pytest.fixture(scope="module")
def page(rich):
    return study_page(rich, command="disambig study s.toml")


def test_it_says_what_was_studied_how_and_what_was_found(rich, page):
    elements = Elements(page)
    assert elements.texts("h1") == ["small"]
    (lead,) = elements.texts("p", class_="lead")
    failed = len(rich.result.failed)
    assert failed > 0
    assert lead == (
        f"About it. Protocol: 2 folds, seed 0. {len(rich.result.jobs())} jobs, {failed} failed."
    )
    items = elements.texts("li")
    for sentence in (*rich.findings, *rich.caveats):
        assert sentence in items


def test_every_table_is_there_in_the_order_of_the_report(rich, page):
    elements = Elements(page)
    shown = [one.get("id") for one in elements.named("div", class_="data-table")]
    assert shown[: len(rich.tables)] == list(rich.tables_in_order())
    assert set(rich.tables) < set(shown)
    assert shown[-2:] == ["seconds", "failures"]
    names = elements.texts("th", scope="row")
    for table in rich.tables.values():
        for row in table.rows:
            assert row[0] in names
    assert len(shown) == len(set(shown))


def test_every_kind_of_chart_is_there(page):
    elements = Elements(page)
    sections = [one.get("id") for one in elements.named("section")]
    assert sections == [
        "found",
        "main",
        "accuracy-curves",
        "accuracy-dots",
        "covering_rate-curves",
        "covering_rate-dots",
        "tables",
        "run",
        "failed",
    ]
    titles = elements.texts("h3")
    for title in ("small, r = 1", "small, r = 2", "small"):
        assert titles.count(title) == 2  # once for every metric
    assert len(elements.named("svg", tabindex="0")) == 2 * (2 + 1)
    links = [one.get("href") for one in elements.named("a")]
    assert [f"#{section}" for section in sections] == links[1:]


def test_baselines_are_in_tables_charts_and_in_words(page):
    assert page.count("are there for scale and are not bounds") == 1
    legend = Elements(page).texts("ul", class_="legend")
    for text in legend:
        assert "LR on a random candidate" in text
        assert "LR on true labels" in text
    assert any(re.search(r"LR on true labels: [01]", tip) for tip in Elements(page).tips())


def test_curves_have_the_means_of_the_table(rich, page):
    header = rich.tables["accuracy"].header
    row = next(row for row in rich.tables["accuracy"].rows if row[0] == "small, p=0.2, r=1")
    expected = dict(zip(header[1:], row[1:], strict=True))
    start = "p, share of corrupted rows: 0.2\n"
    tip = next(tip for tip in Elements(page).tips() if tip.startswith(start))
    values = dict(line.split(": ") for line in tip.split("\n")[1:])
    assert list(values) == list(header[1:])
    for name, value in values.items():
        assert f"{float(value.split(' ')[0]):.3f}" == expected[name].split(" ")[0]


def test_it_says_how_to_run_it_again_and_how_long_it_took(rich, page, data):
    elements = Elements(page)
    names = elements.texts("dt")
    values = dict(zip(names, elements.texts("dd"), strict=True))
    assert values["Command"] == "disambig study s.toml"
    finished = sorted(record.finished for _, record in rich.result.jobs())
    assert (values["First record"], values["Last record"]) == (finished[0], finished[-1])
    assert values["Seeds"] == "0"
    assert values["numpy"]
    (settings,) = elements.texts("pre")
    assert 'name = "plknn"' in settings
    assert 'path = "small.csv"' in settings
    assert data["path"] not in page, "where a file was is nobody's business"
    rows = elements.texts("th", scope="row")
    assert rich.result.failed[0][0].title in rows
    assert "Command" not in study_page(rich)


def test_a_page_is_safe_and_asks_for_nothing(page):
    assert_safe(page)
    assert not re.search(r"https?://", page)
    assert not re.search(r"@import|url\(", page)


def test_names_and_messages_are_text_whatever_they_are(data):
    study = small(
        {"name": "plknn", "title": HOSTILE},
        diligent(fails_without=7),
        datasets=[
            data | {"title": HOSTILE},
            data | {"title": f"{HOSTILE}2", "corruption": CORRUPTION},
        ],
        about=HOSTILE,
        reference=HOSTILE,
    )
    result = result_of(study)
    error = {"type": HOSTILE, "message": HOSTILE}
    failed = {record.key: replace(record, error=error) for _, record in result.failed}
    assert failed
    records = result.records | failed
    report = make_report(StudyResult(result.plan, records), missing=(HOSTILE,))
    page = study_page(report, command=HOSTILE)
    assert_safe(page)
    assert "<script>alert" not in page
    assert len(Elements(page).named("script")) == 2
    assert any(HOSTILE in tip for tip in Elements(page).tips())


def test_accuracy_by_epoch_has_a_chart_where_it_was_followed(data):
    study = small(
        {"name": "ncpd", "parameters": NETWORK},
        datasets=[data],
        protocol={"folds": 2, "by_epoch": True},
    )
    elements = Elements(study_page(make_report(result_of(study))))
    assert "epochs" in [one.get("id") for one in elements.named("section")]
    tips = [tip for tip in elements.tips() if tip.startswith("epoch: ")]
    assert [tip.split("\n")[0] for tip in tips] == ["epoch: 1", "epoch: 2", "epoch: 3"]
    assert "Accuracy by epoch" in elements.texts("h2")


def test_what_is_not_there_has_no_section(data):
    page = study_page(make_report(result_of(small("plknn", datasets=[data]))))
    sections = [one.get("id") for one in Elements(page).named("section")]
    assert sections == ["found", "main", "accuracy-dots", "tables", "run"]
