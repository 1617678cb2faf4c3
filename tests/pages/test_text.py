"""Attributes typed as text: what is read, and that nothing is guessed."""

from __future__ import annotations

from typing import Any

import pytest

from poolgrad.pages import PageError, text
from poolgrad.pages.fields import Field, read, spelled_out


@pytest.mark.parametrize(
    ("typed", "numbers"),
    [
        pytest.param("1,2,2,2,1", [1, 2, 2, 2, 1], id="commas"),
        pytest.param("{1,2,2,2,1}", [1, 2, 2, 2, 1], id="braces"),
        pytest.param(" [1, 2] ", [1, 2], id="brackets"),
        pytest.param("(1; 2)", [1, 2], id="semicolons"),
        pytest.param("1;2;3;4", [1, 2, 3, 4], id="bare-semicolons"),
        pytest.param("-3", [-3], id="one"),
        pytest.param("1.5, .5, 2e-3, 1.", [1.5, 0.5, 0.002, 1.0], id="floats"),
        pytest.param("nan,-inf,1/3", ["nan", "-inf", "1/3"], id="words"),
        pytest.param("{{1,2},{3,4}}", [[1, 2], [3, 4]], id="nested"),
        pytest.param("", [], id="empty"),
    ],
)
def test_numbers(typed: str, numbers: list[Any]) -> None:
    assert text.numbers("ksize", typed) == numbers


@pytest.mark.parametrize("typed", ["2x", "1,two", "1.2.3", "{1,2", "1,2}", "{1,2]", "1/0", "0x10", "__import__('os')"])
def test_what_is_no_number_is_refused(typed: str) -> None:
    with pytest.raises(PageError) as caught:
        text.numbers("ksize", typed)
    assert caught.value.code == "PG104"
    assert "ksize" in str(caught.value)


def test_settings() -> None:
    assert text.settings("data_format_ = NDHWC;") == {"data_format": "NDHWC"}
    assert text.settings("a_=1; b = two ;") == {"a": "1", "b": "two"}
    assert spelled_out({"padding": "SAME", "attrs": "data_format_=NCDHW"}) == {
        "padding": "SAME",
        "data_format": "NCDHW",
    }


@pytest.mark.parametrize("typed", ["NDHWC", "data_format_ =;", "= NDHWC", "a=1;a_=2"])
def test_bad_settings_are_refused(typed: str) -> None:
    with pytest.raises(PageError, match="PG104"):
        text.settings(typed)


def test_an_attribute_in_two_places_is_refused() -> None:
    with pytest.raises(PageError, match="data_format must be given once"):
        spelled_out({"data_format": "NDHWC", "attrs": "data_format_ = NDHWC;"})


@pytest.mark.parametrize(
    ("kind", "given", "found"),
    [
        pytest.param("integers", "1,2", [1, 2], id="integers-text"),
        pytest.param("integers", [1, 2], [1, 2], id="integers"),
        pytest.param("integer", "7", 7, id="integer-text"),
        pytest.param("numbers", "1,1.5", [1, 1.5], id="numbers-text"),
        pytest.param("number", 0.5, 0.5, id="number"),
        pytest.param("flag", "false", False, id="flag-text"),
        pytest.param("flag", True, True, id="flag"),
        pytest.param("value", "3", 3, id="one-value"),
        pytest.param("value", "{3}", [3], id="list-of-one-value"),
        pytest.param("value", {"range": [1, 3]}, {"range": [1, 3]}, id="range"),
        pytest.param("text", "words", "words", id="text"),
    ],
)
def test_fields(kind: str, given: Any, found: Any) -> None:
    assert read(Field("name", kind), given) == found


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("integers", "1.5"),
        ("integers", [1.5]),
        ("integers", [True]),
        ("integers", 3),
        ("integer", "1,2"),
        ("integer", 1.5),
        ("numbers", ["1"]),
        ("number", True),
        ("flag", "perhaps"),
        ("flag", 1),
        ("text", 3),
        ("choice", "same"),
        ("choice", 3),
    ],
)
def test_fields_refuse(kind: str, given: Any) -> None:
    with pytest.raises((PageError, TypeError, ValueError), match="name must"):
        read(Field("name", kind, choices=("SAME",)), given)
