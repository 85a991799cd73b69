"""Campaigns over HTTP and the command line, on a server that sends."""

import json
import socket
import sys
import threading
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from postroad.api.uploads import file_name
from postroad.cli import campaigns, root
from tests.campaigns.provider import ACCOUNT, TOKEN, Provider
from tests.campaigns.stories import numbers, write_csv
from tests.cli.running import data, postroad, running

SETTINGS = '[webhooks]\nallow = ["127.0.0.1/32"]\nhttp = true\nports = []\n'
UP = ("up", "--listen", "127.0.0.1:0")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("POSTROAD_SECRET", TOKEN)
    (tmp_path / "postroad.toml").write_text(SETTINGS)
    return tmp_path


def put(provider: Provider) -> Any:
    words = ("--provider", provider.server, "--account", ACCOUNT, "--sender", "+15550000")
    return data("credential", "put", "main", *words, "--rate", "100/s", "--with", "price=0.05")


def reaches(state: str) -> Any:
    deadline = time.monotonic() + 45
    while (said := data("campaign", "show", "c"))["state"] != state:
        assert time.monotonic() < deadline, said
        time.sleep(0.1)
    return said


def test_a_campaign_from_the_command_line(folder: Path, provider: Provider) -> None:
    people = [*numbers(20), *numbers(1, "+1511"), *numbers(1, "+1515")]
    path = write_csv(folder / "people.csv", people)
    with running(folder, *UP):
        assert put(provider)["rate"] == "100/s"
        assert TOKEN not in postroad("credential", "list", "--json").stdout
        assert data("credential", "check", "main") == {"account": "Stand-in"}
        draft = data(
            "campaign", "create", "c", "--credential", "main", "--template", "Hi {{ name }}"
        )
        assert draft["state"] == "draft"
        imported = data("campaign", "import", "c", str(path))
        assert (imported["rows"], imported["encoding"]) == (22, "utf-8")
        assert data("campaign", "estimate", "c")["cost"] == 1.1
        assert data("campaign", "preview", "c", "--row", "2")["text"] == "Hi Name 1"
        assert ", 1 segment GSM" in postroad("campaign", "preview", "c").stderr
        assert "segments" in postroad("campaign", "estimate", "c").stdout
        assert data("campaign", "test", "c", "--to", "+6591234567")["state"] == "sent"
        assert data("campaign", "start", "c")["state"] == "running"
        done = reaches("done")
        assert (done["counts"]["sent"], done["counts"]["failed"], done["counts"]["uncertain"]) == (
            20,
            1,
            1,
        )
        assert data("campaign", "counts", "c") == done["counts"]
        assert data("stats")["uncertain_recipients"] == 1
        assert data("campaign", "lookup", "c") == {"settled": 1}
        assert data("stats")["uncertain_recipients"] == 0
        assert data("campaign", "settle", "c", "--state", "sent") == {"settled": 0}
        (failed,) = data("campaign", "recipients", "c", "--state", "failed")
        assert (failed["recipient"], failed["sub_type"]) == ("+15110000000", "bad_number")
        lines = postroad("campaign", "export", "c", "--format", "ndjson").stdout.splitlines()
        assert [json.loads(line)["recipient"] for line in lines] == people
        shown = postroad("campaign", "show", "c").stdout
        assert "Hi Name" not in shown
        assert "0 of the failed ones were told to try later" in shown


@pytest.mark.wide
def test_all_campaigns_are_listed_page_by_page(
    folder: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(campaigns, "PAGE", 2)
    names = [f"c{n}" for n in range(5)]
    with running(folder, *UP):
        put(provider)
        for name in names:
            data("campaign", "create", name, "--credential", "main", "--template", "Hi")
        assert [one["name"] for one in data("campaign", "list")] == names


class Sink:
    """Standard output that keeps nothing; from its first piece on memory is watched."""

    def __init__(self) -> None:
        self.buffer = self
        self.size = 0

    def write(self, piece: bytes) -> None:
        if not self.size:
            tracemalloc.start()
        self.size += len(piece)

    def flush(self) -> None: ...

    def isatty(self) -> bool:
        return False


@pytest.mark.wide
@pytest.mark.parametrize("reached", ["over HTTP", "in the file"])
def test_an_export_is_never_held_whole(
    reached: str, folder: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_csv(folder / "people.csv", numbers(20_000))
    sink = Sink()

    def export() -> None:
        words = ["campaign", "export", "c", "--format", "ndjson"]
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", sink)
            root.app(words, standalone_mode=False)

    with running(folder, *UP):
        put(provider)
        data("campaign", "create", "c", "--credential", "main", "--template", "Hi")
        data("campaign", "import", "c", str(path))
        if reached == "over HTTP":
            export()
    if reached == "in the file":
        export()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert sink.size > 3_000_000
    assert peak < sink.size / 2


@pytest.mark.usefixtures("folder")
def test_an_export_that_breaks_off_is_no_success(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSTROAD_TOKEN", "any")
    with broken_server() as address:
        ended = postroad("campaign", "export", "c", "--server", address)
    assert (ended.exit_code, "no answer from" in ended.stderr) == (3, True)


@contextmanager
def broken_server() -> Iterator[str]:
    """Answers the beginning of a file, and goes away."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            line, _ = server.accept()
            with line:
                line.recv(65_536)
                head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
                line.sendall(head + b"8\r\nn,line\r\n\r\n")

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        thread.join(45)


def test_what_is_refused_ends_with_its_reason_and_code(folder: Path, provider: Provider) -> None:
    path = write_csv(folder / "people.csv", ["+6591234567", "nobody"])
    with running(folder, *UP):
        put(provider)
        for words, code, said in (
            (
                ("credential", "put", "x", "--account", "a"),
                2,
                "a credential for sms needs server, sender",
            ),
            (("campaign", "show", "x"), 2, "no campaign 'x'"),
            (
                ("campaign", "create", "c", "--credential", "main", "--template", "{% x %}"),
                2,
                "line 1",
            ),
        ):
            refused = postroad(*words)
            assert (refused.exit_code, said in refused.stderr) == (code, True), refused.stderr
        data("campaign", "create", "c", "--credential", "main", "--template", "Hi")
        refused = postroad("campaign", "import", "c", str(path))
        assert refused.exit_code == 2
        assert "line 3: column 'recipient': 'nobody' is no telephone number" in refused.stderr
        refused = postroad("campaign", "stop", "c")
        assert (refused.exit_code, "is draft" in refused.stderr) == (1, True)
        refused = postroad("campaign", "schedule", "c", "2001-01-01T00:00+00:00")
        assert (refused.exit_code, "is past" in refused.stderr) == (2, True)


def test_a_slip_is_mended_from_the_command_line(folder: Path, provider: Provider) -> None:
    path = write_csv(folder / "people.csv", ["+6591234567"])
    with running(folder, *UP):
        put(provider)
        template = folder / "text.txt"
        template.write_text("Hi {{ nmae }}")
        words = ("--credential", "main", "--template", f"@{template}")
        data("campaign", "create", "c", *words)
        refused = postroad("campaign", "import", "c", str(path))
        assert "template line 1: there is no column 'nmae'" in refused.stderr
        template.write_text("Hi {{ name }}")
        assert data("campaign", "edit", "c", "--template", f"@{template}", "--jobs", "2")
        assert data("campaign", "edit", "c", "--failures-min", "3")["state"] == "draft"
        told = data("campaign", "details", "c")
        assert (told["template"], told["jobs"]) == ("Hi {{ name }}", 2)
        assert told["halt"] == {"failures_min": 3, "percent": 10.0}
        assert "Hi {{ name }}" in postroad("campaign", "details", "c").stdout
        assert data("campaign", "import", "c", str(path))["rows"] == 1
        assert data("campaign", "clone", "c", "d", "--recipients")["counts"]["unsent"] == 1
        refused = postroad("campaign", "edit", "d")
        assert (refused.exit_code, "nothing to change" in refused.stderr) == (2, True)
        refused = postroad("campaign", "delete", "c")
        assert (refused.exit_code, "nothing was deleted: give --yes" in refused.stderr) == (2, True)
        assert data("campaign", "delete", "c", "--yes") == {"deleted": "c"}
        refused = postroad("campaign", "clone", "c", "e")
        assert (refused.exit_code, "no campaign 'c'" in refused.stderr) == (2, True)
        data("campaign", "schedule", "d", "2099-01-01T00:00+00:00")
        refused = postroad("campaign", "delete", "d", "--yes")
        assert (refused.exit_code, "cancel it first" in refused.stderr) == (1, True)


@pytest.mark.wide
def test_a_refused_import_names_the_users_file_and_the_first_hundred_lines(
    folder: Path, provider: Provider
) -> None:
    """Over HTTP, where the file is a temporary one, and in the command's own process."""
    path = write_csv(folder / "my people.csv", [f"nobody {n}" for n in range(120)])

    def check() -> None:
        refused = postroad("campaign", "import", "c", str(path))
        assert (
            "my people.csv, line 2: column 'recipient': 'nobody 0' is no telephone number"
            in refused.stderr
        )
        assert "(and 119 more)" in refused.stderr
        assert "line 101: column 'recipient': 'nobody 99' is no" in refused.stderr
        refused = postroad("campaign", "import", "c", str(path), "--json")
        told = json.loads(refused.stderr)
        assert "my people.csv, line 2" in told["detail"]
        assert [one["field"] for one in told["errors"]] == [f"line {n}" for n in range(2, 102)]
        assert told["errors"][0]["message"].startswith("column 'recipient': 'nobody 0' is no")

    with running(folder, *UP):
        put(provider)
        data("campaign", "create", "c", "--credential", "main", "--template", "Hi")
        check()
    check()


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ("people.csv", "people.csv"),
        ("../../etc/a.csv", "a.csv"),
        ("C:\\Users\\me\\b.csv", "b.csv"),
        ("..", "recipients.csv"),
        ("", "recipients.csv"),
        ("a\0\nb\x1b[31m.csv", "a\ufffd b\ufffd[31m.csv"),
        ("\U0001f4c4" * 200, "\U0001f4c4" * 62),
    ],
)
def test_whatever_a_file_is_called_it_is_a_name_in_one_folder(
    given: str, named: str, tmp_path: Path
) -> None:
    assert file_name(given) == named
    (tmp_path / named).write_text("")
