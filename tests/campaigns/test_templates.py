"""Templates and segments."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroad.campaigns.template import BadTemplate, Template
from postroad.model.segments import segments


def test_columns_and_filters_are_filled_in() -> None:
    template = Template("Dear {{name|trim|title}}, {{ note | default('none') }} {{x}}")
    assert template.variables == {"name", "note", "x"}
    assert (
        template.render({"name": " ann lee ", "note": "", "x": "{{ name }}"})
        == "Dear Ann Lee, none {{ name }}"
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("x {{ name", "line 1: '{{' stands alone"),
        ("a\n{% for x in y %}", "line 2: '{%' stands alone"),
        ("{{ name.__class__ }}", "is not {{ column }}"),
        ("{{ name() }}", "is not {{ column }}"),
        ("{{ 7 * 7 }}", "is not {{ column }}"),
        ("{{ name | shout }}", "no filter 'shout'"),
        ("x" * 20_001, "over 20000"),
    ],
)
def test_what_is_not_a_column_or_a_filter_is_refused_with_its_line(text: str, reason: str) -> None:
    with pytest.raises(BadTemplate, match=reason.replace("{", r"\{").replace("}", r"\}")):
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
    found = segments(text)
    assert (found.count, found.encoding) == (count, encoding)
