"""Templates and segments."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroad.campaigns import template
from postroad.campaigns.template import Template
from postroad.model.campaign import BadTemplate
from postroad.model.sms_segments import count_segments


def test_columns_and_filters_are_filled_in() -> None:
    template = Template("Dear {{name|trim|title}}, {{ note | default('none') }} {{x}}")
    assert template.variables.keys() == {"name", "note", "x"}
    assert (
        template.render({"name": " ann lee ", "note": "", "x": "{{ name }}"})
        == "Dear Ann Lee, none {{ name }}"
    )


def test_a_condition_chooses_what_is_said() -> None:
    template = Template("{% if kind == 'vip' %}Dear {{ name }}{% else %}Hello{% endif %}!\n")
    assert template.variables.keys() == {"kind", "name"}
    assert template.render({"kind": "vip", "name": "Ada"}) == "Dear Ada!\n"
    assert template.render({"kind": "", "name": "Ada"}) == "Hello!\n"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("x {{ name", "line 1: unexpected end of template"),
        ("a\n{% for x in y %}{% endfor %}", "line 2: for is not allowed"),
        ("{{ name.__class__ }}", "line 1: getattr is not allowed"),
        ("{{ name() }}", "line 1: call is not allowed"),
        ("{{ 7 * 7 }}", "line 1: mul is not allowed"),
        ("{% include 'x' %}", "line 1: include is not allowed"),
        ("{% macro m() %}{% endmacro %}", "line 1: macro is not allowed"),
        ("{{ name | shout }}", "no filter 'shout'"),
        ("{{ name | attr('x') }}", "no filter 'attr'"),
        ("x" * 20_001, "over 20000"),
    ],
)
def test_what_is_not_a_column_a_filter_or_a_condition_is_refused_with_its_line(
    text: str, reason: str
) -> None:
    with pytest.raises(BadTemplate, match=re.escape(reason)):
        Template(text)


@given(st.text(max_size=40))
def test_a_value_is_never_read_as_a_template(value: str) -> None:
    assert Template("{{ v }}").render({"v": value}) == value


@pytest.mark.parametrize(
    ("text", "count", "encoding"),
    [
        ("", 1, "GSM-7"),
        ("a" * 160, 1, "GSM-7"),
        ("a" * 161, 2, "GSM-7"),
        ("a" * 306, 2, "GSM-7"),
        ("a" * 307, 3, "GSM-7"),
        ("€" * 80, 1, "GSM-7"),
        ("€" * 81, 2, "GSM-7"),
        ("a" * 152 + "€" + "a" * 10, 2, "GSM-7"),
        ("ж" * 70, 1, "UCS-2"),
        ("ж" * 71, 2, "UCS-2"),
        ("ж" * 135, 3, "UCS-2"),
        ("😀" * 35, 1, "UCS-2"),
        ("😀" * 36, 2, "UCS-2"),
        ("😀" * 66, 2, "UCS-2"),
        ("😀" * 67, 3, "UCS-2"),
    ],
)
def test_segments(text: str, count: int, encoding: str) -> None:
    found = count_segments(text)
    assert (found.count, found.encoding) == (count, encoding)


DEEP = {
    "nested ifs": "{% if a %}" * 60 + "x" + "{% endif %}" * 60,
    "ifs without an end": "{% if a %}" * 1_900,
    "brackets": "{{ " + "(" * 900 + "a" + ")" * 900 + " }}",
    "nots": "{{ " + "not " * 4_000 + "a }}",
    "filters": "{{ a" + "|lower" * 2_800 + " }}",
    "ands": "{{ a" + " and a" * 3_000 + " }}",
    "conditions": "{{ " + "a if a else " * 1_500 + "a }}",
    "a long number": "{{ " + "9" * 19_000 + " }}",
    "a long power": "{{ 1e" + "9" * 300 + " }}",
    "a bad escape": "{{ '\\N{no such}' }}",
    "half a character": "{{ '\ud800' }}",
    "zero": "{{ a\0 }}",
}


@pytest.mark.parametrize("name", DEEP)
def test_no_template_breaks_the_reader(name: str) -> None:
    """It is refused with its line, or read: a RecursionError would be a 500."""
    refused = ""
    try:
        Template("first line\n" + DEEP[name]).render({"a": "x"})
    except BadTemplate as error:
        refused = str(error)
    assert not refused or re.search(r"template line \d+", refused)


def test_what_is_too_deep_is_refused_with_its_line() -> None:
    for name in ("nested ifs", "brackets", "nots", "filters", "ands", "a long number"):
        with pytest.raises(BadTemplate, match="template line 2: "):
            Template("first line\n" + DEEP[name])


def test_without_the_measure_the_reader_breaks_and_knows_no_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(template, "_measure", lambda _text: None)
    with pytest.raises(BadTemplate, match="line 1 or later: nested too deep"):
        Template("first line\n" + DEEP["brackets"])


def test_a_message_has_a_bound_however_often_a_column_is_named() -> None:
    wide = Template("{{a}}" * 4_000)
    assert len(wide.render({"a": "x" * 20})) == 80_000
    with pytest.raises(BadTemplate, match="over 100000 characters"):
        wide.render({"a": "x" * 10_000})


def test_a_value_that_does_not_fit_is_told_with_its_line() -> None:
    with pytest.raises(BadTemplate, match="template line 3: it cannot be filled in"):
        Template("one\ntwo\n{% if a < 5 %}x{% endif %}").render({"a": "1"})


@pytest.mark.parametrize(
    "text",
    [
        "{{ " + "(" * 9_000 + "a" + ")" * 9_000 + " }}",
        "{% if a %}" * 900 + "x" + "{% endif %}" * 900,
        "{{ a" + "|upper" * 3_000 + " }}",
        "{{ " + "not " * 4_000 + "a }}",
        "{{ " + "a and " * 3_000 + "a }}",
        "{{ " + "9" * 6_000 + " }}",
    ],
)
def test_a_template_that_is_nested_too_deep_is_named(text: str) -> None:
    with pytest.raises(BadTemplate):
        Template(text)
