"""Tables can be copied: a row is a line, and no id, number or address is broken."""

import re
import sys
from io import StringIO
from pathlib import Path

import pytest

from postroad.cli import printing
from tests.cli.running import UP, data, postroad, running
from tests.cli.test_terminal import on_a_terminal

ID = "msg_0000000000000000000000000001"
URL = "https://hooks.example.com/v1/customers/0123456789/orders/created"
ERROR = "the server answered 500 after a minute and\nthe text of its answer is long\tand odd"
COLUMNS = ("id", "queue~~", "level#", "error~")
ROW = (ID, URL, 1_234_567, ERROR)


class Screen(StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


def shown(monkeypatch: pytest.MonkeyPatch, screen: StringIO, columns: int) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr(sys, "stdout", screen)
    return printing.grid(COLUMNS, [ROW])


def test_nothing_is_cut_or_folded_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    head, rule, row = shown(monkeypatch, StringIO(), 40)
    assert re.split(r" {2,}", row) == [
        ID,
        URL,
        "1234567",
        ERROR.replace("\n", r"\x0a").replace("\t", r"\x09"),
    ]
    assert len(rule) == len(row)
    assert head.split() == ["id", "queue", "level", "error"]


@pytest.mark.parametrize("columns", [200, 140, 100, 80])
def test_on_a_terminal_the_last_column_that_may_gives_way_first(
    monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    *_, row = shown(monkeypatch, Screen(), columns)
    assert len(row) <= columns
    assert row.startswith(ID)
    assert "1234567" in row.split()
    assert row.endswith("…") == (columns < 200)
    assert (URL in row) == (columns >= 140)  # its address last of all


def test_an_id_is_whole_on_a_terminal_that_is_far_too_narrow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    *_, row = shown(monkeypatch, Screen(), 20)
    assert row.split()[0] == ID
    assert "1234567" in row
    assert "\n" not in row


def test_wide_letters_are_counted_when_a_text_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "12")
    monkeypatch.setattr(sys, "stdout", Screen())
    *_, row = printing.grid(("a~",), [("漢字漢字漢字漢字漢字",)])
    assert row == "漢字漢字漢…"
    assert printing.wide(row) <= 12


def test_rows_alone_are_for_programs(road: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = postroad("queues", "--plain").stdout.splitlines()
    assert [row.split("\t")[0] for row in rows] == ["bad", "good", "slow"]
    assert len({row.count("\t") for row in rows}) == 1
    assert "more" not in postroad("queues", "--plain", "--limit", "1").stdout
    sent = data("send", "good", "1")["id"]
    facts = dict(
        line.split("\t", 1)
        for line in postroad("message", "show", sent, "--plain").stdout.splitlines()
    )
    assert (facts["id"], facts["queue"], facts["state"]) == (sent, "good", "waiting")
    monkeypatch.setenv("COLUMNS", "30")
    assert sent in postroad("message", "show", sent).stdout
    assert road


LISTS = (
    "messages",
    "workers",
    "audit list",
    "campaign list",
    "credential list",
    "privacy list",
    "queues",
    "lanes",
    "levels",
    "stats",
    "dead list",
    "endpoint list",
    "token list",
    "mailbox list",
)


def test_every_row_of_every_list_is_a_line_at_80_columns(folder: Path) -> None:
    with running(folder, *UP) as (_process, _note):
        for _ in range(3):
            _ = data("send", "bad", "1")
        for words in LISTS:
            rows = postroad(*words.split(), "--plain").stdout.splitlines()
            said, code = on_a_terminal(*words.split(), columns=80)
            lines = [line for line in said.splitlines() if line]
            assert code == 0
            if rows:
                heads = 0 if words == "stats" else 2
                first = [row.split("\t")[0] for row in rows]
                assert [line.split()[0] for line in lines[heads:]][: len(rows)] == [
                    each.split()[0] for each in first
                ], said
            assert all(len(line) <= 80 for line in lines), said


def test_help_names_values_by_what_they_are() -> None:
    for words in ((), ("queues",), ("campaign", "show"), ("send",), ("up",)):
        said = postroad(*words, "--help").stdout
        for noise in ("TEXT", "INTEGER", "FLOAT", "BOOLEAN", "<bool>", "<text>", "RANGE"):
            assert noise not in said, (words, noise)


def test_a_list_without_rows_has_no_head(road: str) -> None:
    assert road
    none = postroad("dead", "list")
    assert (none.exit_code, none.stdout, none.stderr) == (0, "", "no dead messages\n")


def test_why_a_message_is_where_it_is_stands_in_one_column(road: str) -> None:
    assert road
    held, dead = data("send", "good", "1")["id"], data("send", "bad", "2")["id"]
    data("pause", "good")
    rows = [row.split("\t") for row in postroad("messages", "--plain").stdout.splitlines()]
    assert {row[0]: row[-1] for row in rows} == {held: "paused", dead: ""}


def test_a_try_that_was_not_answered_has_no_status() -> None:
    assert [printing.status_text(status) for status in (0, 429)] == ["–", "429"]
