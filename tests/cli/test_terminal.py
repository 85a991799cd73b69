"""Whatever a stranger wrote, the terminal that a command prints on is not steered by it."""

import http.client
import io
import json
import os
import pty
import re
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest

from postroad.cli import printing
from postroad.cli.client import RoadClient
from postroad.cli.root import app
from postroad.model import terminal_text
from postroad.observe.log import make_log
from tests.cli.running import UP, running

STEERS = "\x1b]0;owned\x07\x1b[8m\x9b8m\x08\r\x0b\x7f\u202e\u2066\u200f\u2028"
HOSTILE = f"{STEERS}[bold]b[/][link=http://evil.example]l[/link]:warning:"
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
TASKS = f"""
from postroad import Postroad, Reject

road = Postroad()

@road.handler("bad")
async def bad(message):
    raise Reject({HOSTILE!r})
"""


def on_a_terminal(*words: str, term: str = "dumb", columns: int = 400) -> tuple[str, int]:
    """What a command prints, on both outputs, when a terminal shows it; and how it ends."""
    ours, theirs = pty.openpty()
    said: list[bytes] = []

    def read() -> None:
        with suppress(OSError):  # the other side is closed
            while piece := os.read(ours, 1 << 16):
                said.append(piece)

    reader = threading.Thread(target=read)
    reader.start()
    code = 0
    with pytest.MonkeyPatch.context() as patch, os.fdopen(theirs, "w", encoding="utf-8") as screen:
        patch.setenv("TERM", term)
        patch.setenv("COLUMNS", str(columns))
        patch.setattr(sys, "stdout", screen)
        patch.setattr(sys, "stderr", screen)
        try:
            app(list(words), standalone_mode=True)
        except SystemExit as ended:
            code = int(ended.code or 0)
    reader.join()
    os.close(ours)
    return b"".join(said).decode().replace("\r\n", "\n"), code


def spoilt(value: Any) -> Any:
    """The same with a stranger's text at the end of every text."""
    match value:
        case dict():
            return {name: spoilt(each) for name, each in value.items()}
        case list():
            return [spoilt(each) for each in value]
        case str():
            return value + HOSTILE
        case _:
            return value


@contextmanager
def spoiling(server: str) -> Iterator[str]:
    """A server that answers as another one does, every text spoilt."""
    there = urlsplit(server).netloc

    class Between(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            line = http.client.HTTPConnection(there)
            line.request(self.command, self.path, body, dict(self.headers))
            answer = line.getresponse()
            data = json.dumps(spoilt(json.loads(answer.read()))).encode()
            line.close()
            self.send_response(answer.status)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_POST = do_GET  # noqa: N815 - how the server calls it

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Between) as between:
        thread = threading.Thread(target=between.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{between.server_port}"
        finally:
            between.shutdown()
            thread.join()


@pytest.fixture
def server(folder: Path) -> Iterator[tuple[str, str, str]]:
    """A server whose answers are spoilt: its address, a token, and a dead message."""
    (folder / "tasks.py").write_text(TASKS)
    with running(folder, *UP) as (_process, door), spoiling(door.url) as url:
        line = http.client.HTTPConnection(urlsplit(door.url).netloc)
        known = {"authorization": f"Bearer {door.token}", "content-type": "application/json"}
        line.request("POST", "/v1/messages", b'{"queue":"bad","body":{"a":1}}', known)
        sent = msgspec.json.decode(line.getresponse().read())
        dead = ""
        until = time.monotonic() + 60
        while not dead:
            assert time.monotonic() < until
            line.request("GET", f"/v1/dead/{sent['id']}", headers=known)
            dead = msgspec.json.decode(line.getresponse().read()).get("message", {}).get("error")
        line.close()
        yield url, door.token, sent["id"]


COMMANDS = {
    "queues": ("queues",),
    "levels": ("levels",),
    "a queue": ("explain", "bad"),
    "top": ("top", "--once"),
    "stats": ("stats",),
    "a message": ("message", "show", "ID"),
    "its story": ("message", "explain", "ID"),
    "the dead": ("dead", "list"),
    "a dead one": ("dead", "show", "ID"),
    "a send": ("send", "bad", "1"),
    "a problem": ("message", "show", "msg_0000000000000"),
    "tokens": ("token", "list"),
    "a token": ("token", "make", "x"),
}


def test_a_terminal_is_sent_no_control_character_of_a_stranger(
    server: tuple[str, str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, token, dead = server
    monkeypatch.setenv("POSTROAD_TOKEN", token)
    for what, command in COMMANDS.items():
        words = [dead if word == "ID" else word for word in command]
        said, code = on_a_terminal(*words, "--server", url)
        assert code == (2 if what == "a problem" else 0), said
        assert RAW.findall(said) == [], what
        if what not in ("levels", "stats"):  # those have figures alone
            assert r"\x1b" in said, what
        if what in ("a queue", "its story", "a problem"):  # which are no tables
            flat = "".join(said.split())
            assert r"\u202e\u2066\u200f\u2028[bold]b[/][link=http://evil.example]l" in flat, what
            assert ":warning:" in flat, what
        if what in ("queues", "a dead one", "a problem"):
            said, _ = on_a_terminal(*words, "--server", url, "--json")
            assert RAW.findall(said) == [], what
            assert any(HOSTILE in text for text in _texts(json.loads(said))), what
    said, _ = on_a_terminal("send", "bad", "1", "--server", url, term="xterm")
    assert said.startswith("\x1b[1m")  # ours
    assert "\x1b]" not in said
    assert "\x1b[8m" not in said
    monkeypatch.setattr(printing, "escaped", lambda text: text)  # the one place that shows them
    said, _ = on_a_terminal("queues", "--server", url)
    assert "\x1b]0;owned" in said


def _texts(value: Any) -> Iterator[str]:
    match value:
        case dict():
            for each in value.values():
                yield from _texts(each)
        case list():
            for each in value:
                yield from _texts(each)
        case str():
            yield value
        case _:
            pass


def test_a_command_line_that_is_wrong_is_shown_the_same_way() -> None:
    for words in (("nope" + STEERS,), ("message", "show", "x", "--nope" + STEERS)):
        said, code = on_a_terminal(*words)
        assert code == 2
        assert RAW.findall(said) == []
        assert r"\x1b]0;owned" in said


def test_a_setting_with_such_text_is_refused_in_one_line() -> None:
    said, code = on_a_terminal("stats", "--set", f"a\n{HOSTILE}=b")
    assert code == 2
    assert RAW.findall(said) == []
    assert said.count("\n") == 1


def test_an_export_is_exact_in_a_file_and_shown_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    row = f"a,{HOSTILE}é\n".encode()
    parts = [row[at : at + 1] for at in range(len(row))]
    with (tmp_path / "rows").open("w", encoding="utf-8") as file, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", file)
        printing.pieces(parts)
    assert (tmp_path / "rows").read_bytes() == row
    monkeypatch.setenv("POSTROAD_TOKEN", "prt_x")
    monkeypatch.setattr(RoadClient, "__enter__", lambda self: self)
    monkeypatch.setattr(RoadClient, "export", lambda *_: iter(parts))
    said, code = on_a_terminal("campaign", "export", "x", "--server", "http://x")
    assert (said, code) == (terminal_text.escaped(row.decode()), 0)


def test_a_crash_of_ours_shows_them_too(capsys: pytest.CaptureFixture[str]) -> None:
    error = ValueError(HOSTILE)
    printing.crash(type(error), error, error.__traceback__)
    said = capsys.readouterr().err
    assert RAW.findall(said) == []
    assert r"\x1b]0;owned" in said


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_line_of_the_log_is_one_line_without_any(form: str) -> None:
    stream = io.StringIO()
    log = make_log("info", stream, form)
    event = f"it said {HOSTILE}\nlevel=error"
    log.warning(event, queue=HOSTILE, error=ValueError(HOSTILE))
    said = stream.getvalue()
    assert RAW.findall(said) == []
    assert said.count("\n") == 1
    if form == "json":
        assert json.loads(said)["queue"] == HOSTILE
    else:
        (quoted,) = re.findall(r' queue=("(?:[^"\\]|\\.)*")', said)
        assert json.loads(quoted) == HOSTILE


def test_every_character_that_steers_is_shown_and_no_other() -> None:
    every = "".join(map(chr, range(0x3000)))
    shown = terminal_text.escaped_line(every)
    assert RAW.findall(shown) == []
    assert RAW.sub("", every.translate({9: None, 10: None})) == re.sub(
        r"\\(x[0-9a-f]{2}|u[0-9a-f]{4})", "", shown
    )
    assert terminal_text.escaped("a\n\tb") == "a\n\tb"
    assert terminal_text.escaped_line("a\n\ud800") == r"a\x0a\ud800"
