"""Docstrings, comments and log events in plain English."""

from pathlib import Path

from tests.house import words
from tests.house.test_papers import BANNED

SOURCE = Path(__file__).parents[2] / "src" / "postroad"
NAMES = {"vett?ed"}
"""Words that the source may use, since parts of it are called so."""
PRIVATE = {
    rf"(?<![\w-])(?:{word})(?![\w-])": better
    for word, better in BANNED.items()
    if word not in NAMES
} | {
    r"(?-i:^Of\b)": "a sentence: the maximum size of…",
    r"(?-i:^So (?:many|long|much)\b)": "how many, how long, or the maximum",
    r"\bwhoever\b": "who it is: a caller, a process, people",
    r"\bcame of\b": "the result, the outcome",
    r"\b(?:is|are) told\b": "is logged, reported or notified",
    r"\btold of\b": "is logged, reported or notified",
    r"\bwho asks\b": "a caller",
}
ALLOWED = 40
"""How many may be left. It may only shrink: a change that rewrites some lowers it."""


def test_docstrings_comments_and_log_events_use_few_private_words() -> None:
    breaches = words.private_words(SOURCE, PRIVATE)
    assert len(breaches) <= ALLOWED, "\n".join(breaches)


def test_private_words_are_found(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(
        '"""Of a thing."""\n\nSIZE = 3\n"""So many\nof them."""\n# what came of it\n'
        'log.info("it is told", of="a")\nlog.info(told)\nx = "whoever"\n'
    )
    assert [line.split(": write")[0] for line in words.private_words(tmp_path, PRIVATE)] == [
        "one.py:1: `Of`",
        "one.py:4: `So many`",
        "one.py:7: `is told`",
        "one.py:6: `came of`",
    ]
