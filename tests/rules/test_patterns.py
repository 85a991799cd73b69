"""Patterns of rules: read and searched in linear time, or refused with the reason."""

import sys
import time

import pytest

from postroad.model.errors import BadInput, MissingExtra
from postroad.rules.patterns import compiled


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        ("[", "missing ]"),
        ("(", "missing \\)"),
        ("(?=look)", "invalid perl operator"),
        (r"(a)\1", "invalid escape sequence"),
        ("(a{1000}){1000}", "repetition"),
        ("(((((((((a{100}){100}){100}){100}){100}){100}){100}){100}){100})", "repetition"),
        ("x" * 501, "at most 500"),
        ("\udcff", "half a character"),
    ],
)
def test_a_bad_pattern_is_refused_with_the_reason(pattern: str, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        compiled(pattern)


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", "(.*)(.*)(.*)x", "a{1000}$"])
def test_patterns_that_ruin_other_engines_take_linear_time(pattern: str) -> None:
    found = compiled(pattern)
    took_s = []
    for size in (500, 1_000):
        start_s = time.thread_time()
        for _ in range(20):
            assert found.search("a" * size + "!") is None
        took_s.append(time.thread_time() - start_s)
    assert took_s[1] < 6 * took_s[0] + 0.05, took_s


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "re2", None)
    with pytest.raises(MissingExtra, match=r"postroad\[mail\]"):
        compiled("x")
