from dataclasses import replace

import pytest

from bench.small_reports import result_of, small
from bench.small_studies import diligent
from disambig.bench import StudyResult
from disambig.bench.run_details import failure_table, run_details, seconds_table
from disambig.bench.run_table import study_scores


def changed(result, number, **changes):
    key = result.plan.jobs[number].job.key
    return StudyResult(result.plan, result.records | {key: replace(result.records[key], **changes)})


def test_details_are_those_of_the_records(plain):
    record = plain.result.jobs()[0][1]
    details = dict(run_details(plain.result))
    assert details["Protocol"] == "2 folds, seed 0"
    assert details["Python"] == record.environment["python"]
    assert details["scikit-learn"] == record.environment["packages"]["scikit-learn"]
    assert details["disambig"] == record.version
    assert details["Cores"] == str(record.environment["cores"])


def test_the_first_and_the_last_record_are_named(plain):
    result = changed(plain.result, 0, finished="2001-01-01T00:00:00+00:00")
    result = changed(result, 3, finished="2999-01-01T00:00:00+00:00")
    details = dict(run_details(result))
    assert details["First record"].startswith("2001")
    assert details["Last record"].startswith("2999")


def test_where_records_differ_all_values_are_there_with_their_number(plain):
    record = plain.result.jobs()[2][1]
    environment = record.environment | {"python": "9.9", "cuda": "a card"}
    details = dict(run_details(changed(plain.result, 2, environment=environment)))
    assert details["Python"] == f"{record.environment['python']} (7 jobs); 9.9 (1 job)"
    assert "a card (1 job)" in details["Graphics card"]


def test_seconds_are_means_over_jobs_and_a_sum():
    result = result_of(small("plknn"))
    for number, seconds in enumerate(({"fit": 1.0, "predict": 0.5}, {"fit": 3.0, "predict": 0.5})):
        result = changed(result, number, seconds=seconds)
    rows = seconds_table(study_scores(result)).rows
    assert rows[0] == ("PLKNN", "2", "-", "2.000", "0.500", "5.000")
    assert [row[0] for row in rows] == ["PLKNN", "LR on a random candidate", "LR on true labels"]


def test_failures_have_a_row_each_with_their_message_on_one_line(data):
    result = result_of(small("plknn", diligent(fails_without=7), datasets=[data]))
    ((planned, record),) = result.failed
    records = result.records | {
        record.key: replace(record, error={"type": "E", "message": "a\n b"})
    }
    table = failure_table(StudyResult(result.plan, records))
    assert table.rows == ((planned.title, "E", "a b"),)


@pytest.mark.parametrize("name", ["System", "Processor"])
def test_the_machine_is_named(plain, name):
    assert dict(run_details(plain.result))[name]
