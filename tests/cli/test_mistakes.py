"""A user's mistake ends with words and its exit code, never with a traceback."""

import json
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from msgspec import structs

from postroad.cli import client
from postroad.cli.client import RoadClient
from postroad.remote.api_request import ApiAnswer, ApiRequest
from postroad.stores.naming import shown
from tests.cli.running import PROGRAM, UP, data, postroad, running, start

HALF = "caf\udce9"
"""The bytes of another encoding, as an argument comes in."""
ELSEWHERE = "http://127.0.0.1:1"
BROKEN_ENGINE = """
from postroad import Postroad
from postroad.verbs.running import RoadRun

road = Postroad()

def no_timetables(*_):
    from postroad.model.errors import BadInput
    raise BadInput("this store keeps no timetables")

RoadRun._scheduler = no_timetables
"""
STORE_AWAY = """
from postroad import Postroad
from postroad.model.errors import StoreUnavailable

road = Postroad()
find = type(road.store).token_find

async def away(self, identity):
    if not identity:
        raise StoreUnavailable("away")
    return await find(self, identity)

type(road.store).token_find = away
"""


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("message list", "No such command 'list'. Did you mean `postroad messages`?"),
        ("message explian", "`postroad message explain`"),
        ("publish", "Did you mean `postroad event publish`?"),
        ("endpoints", "Did you mean `postroad endpoint`?"),
        ("start", "`postroad replay start`"),
        ("list", "`postroad listen`"),  # which so many groups have
        ("qqqq", "No such command 'qqqq'."),
    ],
)
def test_an_unknown_command_says_which_may_have_been_meant(name: str, meant: str) -> None:
    result = postroad(*name.split())
    assert (result.exit_code, meant in result.stderr) == (2, True)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("stats", "--server", "http://127.0.0.1:99999"), 2),
        (("stats", "--server", "http://127.0.0.1:port"), 2),
        (("stats", "--server", "http://[::1"), 2),
        (("stats", "--server", "http://a..b"), 3),
        (("stats", "--server", "http://a b"), 2),
        (("stats", "--server", "http://me:hush@127.0.0.1:1"), 2),
        (("stats", "--server", "http://127.0.0.1:1/?a=b"), 2),
        (("message", "show", "", "--server", ELSEWHERE), 2),
        (("webhook", "set", "https://a.example/", "--header", "authorization: hush"), 2),
        (("send", "good", "1", "--with", "header.authorization: hush"), 2),
        (("send", "good", "1", "--with", "authorization=hush"), 2),
        (("stats", "--set", "hub_token: hush"), 2),
        (("token", "make", "x", "--lasts", "nan"), 2),
        (("token", "make", "x", "--lasts", "inf"), 2),
        (("token", "make", "x", "--lasts", "999999999999d"), 2),
        (("mailbox", "create", "--ttl", "nan"), 2),
        (("listen", "0", "--slow", "-1s"), 2),
        (("send", "good", "1", "--delay", "5 weeks"), 2),
        (("mailbox", "create", "--ttl", "999999999999d"), 2),
        (("credential", "put", "a", "--with", "secret: hush"), 2),
        (("stats", "--server", ELSEWHERE, "--tenant", "é€"), 2),
        (("send", HALF, "1"), 2),
        (("pause", HALF), 2),
        (("cancel-all", HALF, "--yes"), 2),
        (("queues", "--after", HALF), 2),
        (("send", "good", "1", "--with", "priority=--5"), 2),
        (("send", "good", "[" * 100_000), 2),
        (("message", "show", "no such id"), 2),
        (("message", "show", "msg_0/explain"), 2),
        (("message", "cancel", "a?b"), 2),
        (("dead", "show", "../queues"), 2),
        (("token", "revoke", "a b/c"), 2),
        (("mailbox", "explain", "a b/c?"), 2),
        (("listen", "99999"), 2),
        (("listen", "-1"), 2),
        (("top", "--once", "--every", "-1"), 2),
        (("top", "--once", "--every", "0"), 2),
        (("up", "--listen", "a..b:80"), 2),
    ],
)
def test_a_mistake_is_told_in_words(
    road: str, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], code: int
) -> None:
    assert road
    monkeypatch.setenv("POSTROAD_TOKEN", "prt_x")
    result = postroad(*words)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == code, result.output
    assert result.stderr
    assert "hush" not in result.output


@pytest.mark.parametrize("token", ["prt_…", "prt_a\nb"])
def test_a_token_that_no_header_can_carry_is_told(
    monkeypatch: pytest.MonkeyPatch, token: str
) -> None:
    monkeypatch.setenv("POSTROAD_TOKEN", token)
    result = postroad("stats", "--server", ELSEWHERE)
    assert (result.exit_code, "token" in result.stderr) == (2, True), result.output


def test_a_file_for_a_token_that_is_no_text_is_told(folder: Path) -> None:
    (folder / "token").write_bytes(b"\xff\xfe")
    result = postroad("stats", "--server", ELSEWHERE, "--token-file", "token")
    assert result.exit_code == 2, result.output


@pytest.mark.parametrize(("words", "given"), [(("-",), b"\xff"), ((b"\xff",), b"")])
def test_a_body_that_is_no_text_is_told(
    road: str, words: tuple[str | bytes, ...], given: bytes
) -> None:
    assert road
    ended = subprocess.run(
        (*PROGRAM, "send", "good", *words),
        input=given,
        capture_output=True,
        timeout=60,
        env={**os.environ, "PYTHONUTF8": "1"},
        check=False,
    )
    assert ended.returncode == 2, ended.stderr
    assert b"Traceback" not in ended.stderr


def test_a_credential_and_a_campaign_with_a_blank_in_its_name_are_found(
    road: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert road
    monkeypatch.setenv("POSTROAD_SECRET", "whsec_" + "MDEy" * 8)
    data("credential", "put", "my shop", "--kind", "webhook")
    assert data("credential", "check", "my shop") == {"account": ""}  # nobody to ask
    assert "works:" not in postroad("credential", "check", "my shop").output
    words = ("--credential", "my shop", "--template", "hello")
    data("campaign", "create", "spring sale", *words)
    assert data("campaign", "show", "spring sale")["name"] == "spring sale"


def test_a_secret_comes_from_a_pipe_and_is_asked_of_nobody_who_is_not_there(
    road: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert road
    monkeypatch.delenv("POSTROAD_SECRET", raising=False)
    words = ("credential", "put", "shop", "--kind", "webhook")
    refused = postroad(*words)
    assert refused.exit_code == 2, refused.output
    assert "set POSTROAD_SECRET" in refused.stderr
    assert "needs none" in " ".join(refused.stderr.split())
    assert "echoed" not in refused.stderr
    assert data(*words, given="whsec_" + "MDEy" * 8 + "\n")["name"] == "shop"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("message", "settle", "msg_0000000000000", "snt"), "give one of sent, unsent"),
        (("token", "make", "x", "--scope", "snd"), "give one of send, read, manage, admin"),
        (("dead", "list", "--reason", "rejct"), "give one of rejected, exhausted, expired"),
        (("dead", "list", "--since", "yesterday"), "as 2026-01-31T12:00:00Z"),
        (("send", "good", "1", "--with", "deliver_at=noon"), "as 2026-01-31T12:00:00Z"),
        (
            ("campaign", "recipients", "x", "--state", "snt"),
            "give one of unsent, sent, failed, uncertain",
        ),
    ],
    ids=lambda given: given[1] if isinstance(given, tuple) else "",
)
def test_a_word_that_is_not_known_is_answered_with_those_that_are(
    road: str, words: tuple[str, ...], told: str
) -> None:
    assert road
    refused = postroad(*words)
    assert refused.exit_code == 2, refused.output
    assert told in " ".join(refused.stderr.split())


def test_the_list_of_commands_has_no_line_breaks_of_the_source() -> None:
    """At this width every line of it is one command."""
    lines = postroad("--help").stdout.splitlines()
    (hub,) = [line for line in lines if "Run the hub alone" in line]
    assert "The setting hub_listen says where it listens; commands on this machine" in hub


@contextmanager
def deaf() -> Iterator[str]:
    """A server that takes requests and never answers: its address."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def test_who_was_not_answered_is_told_that_it_may_have_been_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A send that is repeated without looking would be two messages. What only looks can be
    repeated, and so can what was never asked."""
    monkeypatch.setattr(client, "TIMEOUT_S", 0.5)
    monkeypatch.setenv("POSTROAD_TOKEN", "prt_x")
    with deaf() as url:
        there = ("--server", url)
        for words in (("send", "good", "1"), ("dead", "replay", "--queue", "good")):
            told = postroad(*words, *there)
            assert told.exit_code == 3, told.output
            assert f"no answer from {url} in 0.5 s" in told.stderr
            assert "may still be: check before you repeat it" in told.stderr
        told = postroad("queues", *there)
        assert told.exit_code == 3
        assert "look before" not in told.stderr
    told = postroad("send", "good", "1", "--server", ELSEWHERE)
    assert told.exit_code == 3
    assert "look before" not in told.stderr


@pytest.mark.wide
def test_a_road_whose_process_hangs_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(folder, *UP) as (process, _):
        monkeypatch.setattr(client, "TIMEOUT_S", 0.5)
        process.send_signal(signal.SIGSTOP)
        try:
            told = postroad("queues", "--dsn", UP[-1])
        finally:
            process.send_signal(signal.SIGCONT)
    assert told.exit_code == 3, told.output
    said = " ".join(told.stderr.split())
    assert "no answer from the process that owns road/road.db in 0.5 s" in said


def test_an_error_inside_the_program_of_app_is_not_taken_for_a_wrong_name(folder: Path) -> None:
    (folder / "broken.py").write_text("import os\nroad = os.no_such_thing\n")
    result = postroad("up", "--app", "broken:road")
    assert isinstance(result.exception, AttributeError)  # with its trace: it is their own fault
    assert "no_such_thing" in str(result.exception)
    Path("needy.py").write_text("import not_installed_here")
    assert "needy needs it: install it" in postroad("up", "--app", "needy:road").stderr
    assert "in the folder of your program" in postroad("up", "--app", "nowhere:road").stderr
    missing = postroad("up", "--app", "tasks:nothing")
    assert (missing.exit_code, "no nothing in tasks" in missing.stderr) == (2, True)


@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://user:geheim@host/db",
        "postgresql://host/db?user=me&password=geheim",
        "postgresql://user@host/db?sslmode=require&password=geheim&listen=x",
        "postgresql://host/db?listen=postgresql://u:geheim@other/db",
        "postgresql://user:p%40geheim@host/db?listen=postgresql://u:geheim@other/db",
    ],
)
def test_no_password_of_a_store_is_shown(dsn: str) -> None:
    assert "geheim" not in shown(dsn)
    assert "host" in shown(dsn)


def test_a_store_without_a_password_is_shown_as_it_was_given() -> None:
    for dsn in ("postgresql://host/db", "postgresql://user@host:5433/db"):
        assert shown(dsn) == dsn


@pytest.mark.wide
def test_an_engine_that_cannot_run_ends_the_server_with_its_words(folder: Path) -> None:
    (folder / "tasks.py").write_text(BROKEN_ENGINE)
    process = start(folder, *UP)
    _said, told = process.communicate(timeout=60)
    assert process.returncode == 2, told
    assert "postroad: this store keeps no timetables" in told
    assert "Traceback" not in told


def test_a_server_that_is_not_ready_is_told_part_by_part(folder: Path) -> None:
    (folder / "tasks.py").write_text(STORE_AWAY)
    with running(folder, *UP):
        result = postroad("doctor", "--json")
        assert result.exit_code == 1
        server = [each for each in json.loads(result.stdout) if each["part"] == "server"]
        assert server[0]["state"] == "fail"
        assert "server ok, store StoreUnavailable, engine ok" in server[0]["found"]


def test_an_answer_to_a_batch_that_was_cut_off_is_no_success(
    road: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert road
    (folder / "lines").write_text('{"queue": "good", "body": 1}\n' * 3)
    whole = RoadClient.answer

    def cut(self: RoadClient, asked: ApiRequest) -> ApiAnswer:
        answer = whole(self, asked)
        return structs.replace(answer, content=b"\n".join(answer.content.splitlines()[:2]))

    monkeypatch.setattr(RoadClient, "answer", cut)
    result = postroad("batch", "lines")
    assert result.exit_code == 3, result.output
    assert "lines 1 to 3" in result.stderr


@pytest.mark.parametrize("words", [(), ("dead",), ("message",)])
def test_a_group_without_a_command_shows_its_help(words: tuple[str, ...]) -> None:
    shown_help = postroad(*words)
    assert shown_help.stderr.startswith("Usage: postroad")
    assert "\\x0a" not in shown_help.stderr
    assert len(shown_help.stderr.splitlines()) > 5


def test_a_server_that_is_no_postroad_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy's page, most likely, with a status that says all is well."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<html>")

        def log_message(self, *_: object) -> None: ...

    monkeypatch.setenv("POSTROAD_TOKEN", "prt_x")
    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        told = postroad("stats", "--server", f"http://127.0.0.1:{server.server_port}")
        server.shutdown()
        thread.join()
    assert told.exit_code == 3, told.output
    assert "not as Postroad does" in told.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("messages", "--queue", ""),
        ("messages", "--text", ""),
        ("dead", "purge", "--queue", "", "--reason", "rejected", "--yes"),
        ("message", "send-again", "--queue", "", "--state", "dead"),
        ("queues", "--tenant", ""),
        ("queues", "--server", ""),
        ("send", "good", "1", "--key", ""),
        ("send", "", "1"),
        ("queues", "--config", ""),
    ],
)
def test_an_empty_value_is_refused_and_does_not_mean_all(road: str, words: tuple[str, ...]) -> None:
    """`--queue "$QUEUE"` with a variable that is not set purged the dead of all queues."""
    assert road
    told = postroad(*words)
    assert told.exit_code == 2
    assert "it is empty: give a value, or leave it out" in told.stderr


def test_where_empty_means_something_it_is_taken(road: str) -> None:
    assert road
    assert data("queues", "--after", "")["queues"]
    assert data("send", "good", "", "--text")["id"]


def test_a_negative_number_is_no_option(folder: Path) -> None:
    said = postroad("send", "cpu", "-1", "--dsn", f"sqlite:///{folder}/road.db")
    assert said.exit_code == 2
    assert "goes behind --" in said.stderr
