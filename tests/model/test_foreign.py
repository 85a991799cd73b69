"""Foreign text as stores take it."""

import time

import pytest

from postroad.model.foreign import CHARACTERS_MAX, NAME_CHARACTERS_MAX, clean, error_text
from postroad.model.outcome import ProviderAnswer, failed


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("plain", "plain"),
        ("zeilen\r\n\tmit Umlaut: ü, 漢字, 🚚", "zeilen\r\n\tmit Umlaut: ü, 漢字, 🚚"),
        ("a\0b", "a\ufffdb"),
        ("\x1b[2J\x07\x7f\x9b1m", "\ufffd[2J\ufffd\ufffd\ufffd1m"),
        ("half \ud83d of one", "half \ufffd of one"),
        ("", ""),
    ],
)
def test_what_no_store_takes_is_replaced(said: str, kept: str) -> None:
    assert clean(said) == kept
    assert clean(said).encode() or not said


def test_a_long_text_is_cut_in_no_time() -> None:
    began_s = time.thread_time()
    assert len(clean("\0" * (1 << 20))) == CHARACTERS_MAX
    assert time.thread_time() - began_s < 0.1  # a megabyte was not walked over


def test_outcomes_and_answers_are_clean_however_they_are_made() -> None:
    assert failed("\0" + "x" * 5_000).error == "\ufffd" + "x" * (CHARACTERS_MAX - 2) + "…"
    answer = ProviderAnswer("SM\0" + "x" * 999, "\ud800", "\0")
    assert len(answer.id) == NAME_CHARACTERS_MAX
    assert (answer.code, answer.sub_type) == ("\ufffd",) * 2


def test_an_exception_that_cannot_be_told_is_told_as_that() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise ZeroDivisionError

    assert error_text(Mute()) == "(its text cannot be had: ZeroDivisionError)"
    assert error_text(ValueError("a\0b")) == "a\ufffdb"
