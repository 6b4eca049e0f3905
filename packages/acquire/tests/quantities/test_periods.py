"""The year of a quantity is that of what is nearest: its column, row, clause, sentence, heading or title."""

import pytest

from replan_acquire.quantities.periods import last_year, period_of

CASES = {
    "a clause": ("In 2023 it was 10, in 2024 it was 70.", "2024"),
    "a sentence": ("Since 2022, sales are high: 70.", "2022"),
    "another sentence": ("It began in 2022. Sales are 70.", ""),
    "a range": ("From 2019-2021 they sold 70.", "2019-2021"),
    "two years in one clause": ("Since 2019 or in 2021 they sold 70.", ""),
    "a date in a clause": ("On 2024-03-01 they sold 70.", "2024"),
    "a date with points": ("Am 1.3.2024 waren es 70.", "2024"),
    "a year behind a month": ("In March 2024 they sold 70.", "2024"),
    "a number that is no year": ("They sold 2024 cars or 70.", ""),
    "the column of a table": ("| 2023: 1 | 2024: 70 |", "2024"),
    "the row of a table": ("| year: 2024 | shops: 70 |", "2024"),
    "a name that is no time": ("| cars: 2024 | shops: 70 |", ""),
    "the line above a table": ("Sales of 2024\n| shops: 70 |", "2024"),
    "the heading": ("# Report 2024\n\nthey sold 70.", "2024"),
    "the nearest heading": ("# 2023\n## 2024\n\nthey sold 70.", "2024"),
    "no year": ("they sold 70.", ""),
    "a clause after": ("they sold 70 in 2024, and 90 in 2025.", "2024"),
    "a bracket": ("they sold 70 (2024) of them.", "2024"),
}


@pytest.mark.parametrize("name", CASES)
def test_the_nearest_year_counts(name):
    text, year = CASES[name]
    start = text.index("70")
    assert period_of(text, start, start + 2) == year


def test_the_title_counts_last():
    assert period_of("they sold 70.", 10, 12, "Report 2024") == "2024"
    assert period_of("In 2023 they sold 70.", 18, 20, "Report 2024") == "2023"
    assert period_of("they sold 70.", 10, 12, "From 2020 until 2024") == ""


@pytest.mark.parametrize(("period", "year"), [("", None), ("2024", 2024), ("2019-2021", 2021), ("2019/20", 2019)])
def test_the_last_year_of_a_period(period, year):
    assert last_year(period) == year
