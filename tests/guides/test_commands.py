"""Every command that a paper shows is one, and so are its options."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from postroad.cli.options import Group
from postroad.cli.root import app

ROOT = Path(__file__).parents[2]
# The pages that are made of the commands themselves are left out, and what was decided in the past.
PAPERS = [ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("docs/guide/*.md")]
PAPERS += ROOT.glob("docs/tutorial/*.md")
SHOWN = re.compile(r"""^(?: {4})?(?:\$ )?(?:POSTROAD_\w+=(?:"[^"]*"|\S*) )?postroad ([^-].*)$""")


def commands(text: str) -> list[list[str]]:
    """What is typed in a paper's blocks after `postroad`, up to a pipe."""
    lines = text.replace("\\\n", " ").splitlines()
    found = [match[1] for line in lines if (match := SHOWN.match(line))]
    return [_up_to_a_pipe(shlex.split(each, comments=True)) for each in found]


def _up_to_a_pipe(words: list[str]) -> list[str]:
    ends = [number for number, word in enumerate(words) if word in ("|", "<", ">", "&", "&&")]
    return words[: min(ends, default=len(words))]


def parse(words: list[str]) -> None:
    """As the program would, without doing it; a group may have a command that needs no naming."""
    command: Any = app.whole()
    while isinstance(command, Group):
        name = words.pop(0) if words and words[0] in command.commands else command.otherwise
        command = command.commands[name]
    command.make_context(command.name, words)


def test_every_command_of_the_papers_is_one_and_its_options_are_too() -> None:
    shown = [(paper.name, words) for paper in PAPERS for words in commands(paper.read_text())]
    assert len(shown) >= 110
    for name, words in shown:
        try:
            parse(list(words))
        except Exception as error:
            error.add_note(f"{name}: postroad {shlex.join(words)}")
            raise


def unknown(text: str) -> list[str]:
    """Commands that a sentence names and that there are not."""
    found = []
    for named in re.findall(r"`postroad ([a-z][^`]*)`", text):
        command: Any = app.whole()
        for word in named.split():
            inner = getattr(command, "commands", {})
            if not inner or word == "…":
                break
            if word not in inner and not command.otherwise:
                found.append(named)
                break
            command = inner.get(word)
    return found


def test_every_command_that_a_sentence_names_is_one() -> None:
    assert {p.name: names for p in PAPERS if (names := unknown(p.read_text()))} == {}
    assert unknown("`postroad queue pause x`, `postroad pause x`, `postroad timetable …`") == [
        "queue pause x"
    ]


def test_an_option_that_is_none_is_noticed() -> None:
    (words,) = commands("$ postroad send q '{}' --soon | cat  # a remark\n")
    assert words == ["send", "q", "{}", "--soon"]
    with pytest.raises(Exception, match="--soon"):
        parse(words)
