import datetime

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from disambig._core.errors import TableError
from disambig.tabular.columns.dates import DateFormat, parse_dates
from disambig.tabular.columns.plan import plan_columns
from disambig.tabular.columns.values import ColumnPlan, column_values

JUNE_14 = "2013-06-14T20:00"


def planned(cells, name="when", **options):
    return plan_columns(pd.DataFrame({name: pd.Series(cells, dtype="str")}), **options)


@pytest.mark.parametrize(
    ("text", "moment", "date_format"),
    [
        ("06/14/2013 08:00 PM", JUNE_14, "%m/%d/%Y"),
        ("6/14/2013 8:00:00 pm", JUNE_14, "%m/%d/%Y"),
        ("14/06/2013 20:00", JUNE_14, "%d/%m/%Y"),
        ("14.06.2013 20:00", JUNE_14, "%d.%m.%Y"),
        ("14.6.2013, 20:00:00", JUNE_14, "%d.%m.%Y"),
        ("14 Jun 2013", "2013-06-14", "%d %b %Y"),
        ("14. June 2013", "2013-06-14", "%d %b %Y"),
        ("14-JUN-2013 20:00", JUNE_14, "%d %b %Y"),
        ("Fri, 14 Jun 2013 20:00:00 GMT", JUNE_14, "%d %b %Y"),
        ("14-Jun-13", "2013-06-14", "%d %b %y"),
        ("June 14, 2013", "2013-06-14", "%b %d %Y"),
        ("Friday, June 14th, 2013 8:00 p.m.", JUNE_14, "%b %d %Y"),
        ("Jun 14 2013 20:00", JUNE_14, "%b %d %Y"),
        ("2013-06-14T20:00:00Z", JUNE_14, "ISO8601"),
        ("2013-06-14T22:00:00+02:00", JUNE_14, "ISO8601"),
        ("2013-6-14 20:00", JUNE_14, "%Y-%m-%d"),
        ("2013/06/14 20:00", JUNE_14, "%Y/%m/%d"),
        ("2013.06.14 20:00", JUNE_14, "%Y.%m.%d"),
        ("06-14-2013", "2013-06-14", "%m-%d-%Y"),
        ("14-06-2013", "2013-06-14", "%d-%m-%Y"),
        ("6/14/13 20:00", JUNE_14, "%m/%d/%y"),
        ("14/6/13 20:00", JUNE_14, "%d/%m/%y"),
        ("14.06.13", "2013-06-14", "%d.%m.%y"),
        ("14/06/2013 12:30 AM", "2013-06-14T00:30", "%d/%m/%Y"),
        ("14/06/2013 12:30 PM", "2013-06-14T12:30", "%d/%m/%Y"),
        ("14/06/2013 20:00:00.25", "2013-06-14T20:00:00.250", "%d/%m/%Y"),
    ],
)
def test_dates_are_read_as_people_write_them_and_new_rows_alike(text, moment, date_format):
    other = text.replace("14", "28").replace("Friday", "Monday")
    plan, values, _ = planned([text, other, text])
    (column,) = plan.columns
    assert (column.kind, column.date_format) == ("date", date_format)
    days = (np.datetime64(moment) - np.datetime64("1970-01-01")) / np.timedelta64(1, "D")
    assert values["when (days)"].tolist() == [days, days + 14, days]
    again = ColumnPlan.model_validate_json(plan.model_dump_json())
    read = column_values(pd.DataFrame({"when": [other, None]}), again)["when (days)"]
    np.testing.assert_array_equal(read, [days + 14, np.nan])


@pytest.mark.parametrize(
    "cells",
    [
        ["1.2.13", "1.2.14", "1.2.13"],  # versions
        ["14/06/2013 13:00 PM", "14/06/2013 1:00 PM", "14/06/2013 1:00 PM"],
        ["14/06/2013 0:30 AM", "14/06/2013 1:00 PM", "14/06/2013 1:00 PM"],
        ["14/06/2013 25:00", "14/06/2013 13:00", "14/06/2013 13:00"],
        ["31 Feb 2013", "1 Feb 2013", "1 Feb 2013"],
        ["14 Juni 2013", "14 Juli 2013", "14 Juli 2013"],
        ["may", "june", "may"],
    ],
)
def test_what_is_no_date_is_a_category(cells):
    assert planned(cells)[0].by_kind() == {"category": ["when"]}


@pytest.mark.parametrize(
    ("cells", "date_format"),
    [
        (["01/02/2013 8:00", "03/04/2013 9:00"], "%m/%d/%Y"),
        (["01-02-2013", "03-04-2013"], "%m-%d-%Y"),
        (["01/02/13", "03/04/13"], "%m/%d/%y"),
    ],
)
def test_the_month_is_first_where_nothing_speaks_against_it_and_people_are_told(cells, date_format):
    plan, _, notices = planned(cells)
    assert plan.columns[0].date_format == date_format
    assert "'when' can be read with the month first or the day first: the month" in notices[0]


def test_one_day_above_twelve_decides():
    plan, _, notices = planned(["01/02/2013 8:00", "13/02/2013 9:00"])
    assert (plan.columns[0].date_format, notices) == ("%d/%m/%Y", [])


def test_years_of_two_digits_are_near_and_people_are_told():
    _, values, notices = planned(["14.06.68", "14.06.69"])
    first, second = values["when (days)"]
    assert np.datetime64("1970-01-01") + np.timedelta64(int(first), "D") == np.datetime64(
        "2068-06-14"
    )
    assert second < 0
    assert notices == [
        "The years in 'when' have two digits, and are taken to be from 1969 to 2068."
    ]


def test_digits_are_dates_only_if_the_name_says_so():
    cells = ["20130614", "20130615", "20131231", "20130615"]
    plan, values, _ = planned(cells, name="order_date")
    assert plan.columns[0].date_format == "%Y%m%d"
    assert values["order_date (weekday)"].tolist() == [4, 5, 1, 5]
    assert planned(cells, name="amount")[0].by_kind() == {"number": ["amount"]}
    typed = pd.DataFrame({"order_date": [20130614, 20130615]})
    assert column_values(typed, plan)["order_date (weekday)"].tolist() == [4, 5]
    wrong = ["20130614", "20131315", "20130615", "20130615"]  # a thirteenth month
    assert planned(wrong, name="date")[0].by_kind() == {"number": ["date"]}


def test_dates_written_in_several_ways_are_not_read_and_the_odd_one_is_pointed_to():
    cells = ["14.06.2013", "15.06.2013", "2013-06-14", "16.06.2013", "16.06.2013"]
    plan, _, notices = planned(cells)
    assert plan.by_kind() == {"category": ["when"]}
    assert notices == [
        "Most cells of 'when' look like dates, but '2013-06-14' (row 3) is not a date like "
        "31.12.2024, so the column is not read as dates. Write all of them alike, and leave cells "
        "empty where none is known."
    ]


def test_words_for_gaps_are_gaps_among_dates():
    plan, values, notices = planned(["14.06.2013", "-", "15.06.2013"])
    assert np.isnan(values["when (days)"][1])
    assert notices == ["In 'when' '-' counts as a gap (row 2), because all other cells are dates."]
    assert column_values(pd.DataFrame({"when": ["?"]}), plan).isna().all(axis=None)


def test_a_new_row_that_is_written_in_another_way_is_refused_with_an_example():
    plan, *_ = planned(["June 14, 2013", "June 15, 2013"])
    with pytest.raises(TableError, match="Got '14.06.2013' .row 1.: write them like Dec 31 2024"):
        column_values(pd.DataFrame({"when": ["14.06.2013"]}), plan)


FORMATS = [name for name in DateFormat.__args__ if name not in ("ISO8601", "%Y%m%d")]


@given(
    st.datetimes(datetime.datetime(1970, 1, 1), datetime.datetime(2068, 12, 31)),
    st.sampled_from(FORMATS),
    st.sampled_from(["", " %H:%M", " %H:%M:%S", " %I:%M %p", "T%H:%M:%S.%f"]),
)
def test_any_moment_survives_being_written_in_any_way(moment, date_format, time):
    written = moment.strftime(date_format + time)
    expected = datetime.datetime.strptime(written, date_format + time)
    (read,) = parse_dates([written], date_format)
    assert read == np.datetime64(expected)


@given(st.text(max_size=30), st.sampled_from(DateFormat.__args__))
def test_any_text_is_a_date_or_none(text, date_format):
    assert parse_dates([text], date_format).shape == (1,)
