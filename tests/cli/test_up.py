"""`postroad up`: a real process, reached by commands, stopped in good order."""

import asyncio
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
from io import StringIO
from pathlib import Path

import pytest

from postroad import Postroad
from postroad.cli.first_token import make_first_token
from postroad.cli.printing import SafeConsole
from postroad.cli.running import in_hand
from postroad.engine.runners import StopSummary
from tests.cli.running import UP, WAIT_S, data, postroad, running, start

INTERRUPTED = """
import os, signal, sys

module = sys.argv.pop()

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == module:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder())
from postroad.cli.main import main
main()
"""
"""Ctrl+C just when the module is loaded that is named last."""


@pytest.mark.parametrize("module", ["click", "postroad.cli.running", "uvicorn"])
def test_an_interrupt_while_the_program_is_loaded_ends_it_quietly(
    folder: Path, module: str
) -> None:
    words = (sys.executable, "-c", INTERRUPTED, "up", "--listen", "127.0.0.1:0", module)
    ended = subprocess.run(
        words, cwd=folder, capture_output=True, text=True, timeout=WAIT_S, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "")


def test_commands_reach_the_owner_of_the_file_and_a_stop_is_clean(folder: Path) -> None:
    with running(folder, *UP) as (process, door):
        window = folder / "road" / "road.db.window"
        assert stat.S_IMODE(window.stat().st_mode) == 0o700
        assert stat.S_IMODE((window / "socket").stat().st_mode) == 0o600
        number = data("send", "good", "1")["id"]
        until = time.monotonic() + WAIT_S
        while data("message", "show", number)["state"] != "delivered":
            assert time.monotonic() < until
        for where in ("127.0.0.1:0", door.url.removeprefix("http://")):
            second = postroad("up", "--listen", where)
            assert second.exit_code == 3
            assert f"process {process.pid}" in second.stderr
            assert "cannot listen" not in second.stderr
        process.send_signal(signal.SIGTERM)
        said, errors = process.communicate(timeout=WAIT_S)
        assert process.returncode == 0, errors
        assert re.search(r"^Stopped in \d+\.\d s: no tries were running$", said, re.MULTILINE)
        file = folder / "road" / "road.db.token"
        assert str(file) in said
        assert file.read_text().startswith("prt_")
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert "prt_" not in said + errors  # a log keeps both
        assert not window.exists()
    # Nobody runs it now: the same command opens the file.
    assert data("message", "show", number)["state"] == "delivered"
    with running(folder, *UP) as (process, _):
        process.send_signal(signal.SIGINT)
        said, errors = process.communicate(timeout=WAIT_S)
    assert process.returncode == 0, errors
    assert "Access token" not in said  # made once


@pytest.mark.wide
def test_a_server_says_what_it_had_in_hand_when_it_was_stopped(folder: Path) -> None:
    with running(folder, *UP, "--set", "limits.drain_s=0.1") as (process, _):
        number = data("send", "slow", "1")["id"]
        until = time.monotonic() + WAIT_S
        while data("message", "show", number)["state"] != "sending":
            assert time.monotonic() < until
        process.send_signal(signal.SIGTERM)
        said, _errors = process.communicate(timeout=WAIT_S)
    last = said.splitlines()[-1]
    assert re.fullmatch(
        r"Stopped in \d+\.\d s: 1 try was running, 1 of them given back uncounted", last
    )
    assert data("message", "show", number)["state"] == "waiting"
    assert in_hand(StopSummary(3, 0)) == "3 tries were running, all finished"
    assert in_hand(StopSummary(0, 0)) == in_hand(None) == "no tries were running"


def test_the_first_token_is_shown_on_a_terminal(folder: Path) -> None:
    class Terminal(StringIO):
        def isatty(self) -> bool:
            return True

    async def made(screen: StringIO, name: str) -> str:
        async with Postroad(f"sqlite:///{folder}/{name}") as road:
            await make_first_token(road, SafeConsole(screen), "http://x")
            await make_first_token(road, SafeConsole(screen), "http://x")  # it has one
        return screen.getvalue()

    said = asyncio.run(made(Terminal(), "a.db"))
    assert (folder / "a.db.token").read_text().strip() in said
    assert said.count("prt_") == 2  # one is in the login link
    said = asyncio.run(made(StringIO(), "b.db"))
    assert str(folder / "b.db.token") in said
    assert "prt_" not in said
    (folder / "c.db.token.part").mkdir()  # nothing can be written there
    said = asyncio.run(made(StringIO(), "c.db"))
    assert "No access token yet" in said
    assert "postroad token make" in said


def test_what_a_killed_server_left_is_no_obstacle(folder: Path) -> None:
    with running(folder, *UP) as (process, _):
        number = data("send", "slow", "1")["id"]
        os.kill(process.pid, signal.SIGKILL)
        process.wait(WAIT_S)
    assert (folder / "road" / "road.db.window" / "socket").exists()
    assert data("message", "show", number)["state"] == "waiting"


@pytest.mark.wide
def test_the_tries_of_a_tenant_are_told_apart(folder: Path) -> None:
    with running(folder, *UP):
        data("send", "good", "1")
        data("send", "bad", "1", "--tenant", "shop")
        until = time.monotonic() + WAIT_S
        ours: dict[str, int] = {}
        theirs: dict[str, int] = {}
        while not ours or not theirs:  # once their ten seconds are over
            assert time.monotonic() < until
            time.sleep(0.2)
            ours = data("stats")["minute"]["tries"]
            theirs = data("stats", "--tenant", "shop")["minute"]["tries"]
        assert (ours, theirs) == ({"delivered": 1}, {"rejected": 1})
        shown = postroad("stats", "--tenant", "shop").stdout
        assert "tries in the last minute, rejected" in shown
        assert "tries in the last minute, delivered" not in shown


@pytest.mark.wide
def test_a_server_is_reached_by_its_address_and_token(folder: Path) -> None:
    with running(folder, *UP) as (process, door):
        assert process.poll() is None
        server = ("--server", door.url, "--token-file", "road/road.db.token")
        number = data("send", "good", "1", *server)["id"]
        assert data("message", "show", number, *server)["id"] == number
        (folder / "token").write_text("wrong")
        wrong = ("--server", door.url, "--token-file", "token")
        assert postroad("message", "show", number, *wrong).exit_code == 2


@pytest.mark.wide
def test_a_worker_does_not_listen_where_the_shared_file_says_that_the_api_does(
    folder: Path,
) -> None:
    """With the API on the same machine it ended at once: the port was in use."""
    with socket.create_server(("127.0.0.1", 0)) as api:
        listen = f"127.0.0.1:{api.getsockname()[1]}"
        (folder / "postroad.toml").write_text(f'listen = "{listen}"\n')
        with running(folder, "worker") as (_, door):
            assert not door.url.endswith(listen)
        refused = postroad("worker", "--listen", listen)
        assert (refused.exit_code, "already in use" in refused.stderr) == (3, True)


@pytest.mark.wide
def test_a_link_to_pages_says_when_nobody_serves_them(folder: Path) -> None:
    links = (("login",), ("portal", "link", "--tenant", "acme"))
    with running(folder, *UP):
        served = [postroad(*words) for words in links]
    alone = [postroad(*words) for words in links]
    assert [each.exit_code for each in (*alone, *served)] == [0] * 4
    assert all("`postroad up`" in each.stderr for each in alone)
    assert all(each.stdout.startswith("http://127.0.0.1:") for each in (*alone, *served))
    assert not any("`postroad up`" in each.stderr for each in served)


def test_what_a_program_gives_in_python_holds_for_its_server(folder: Path) -> None:
    tasks = (
        (folder / "tasks.py")
        .read_text()
        .replace("Postroad()", "Postroad(settings=Settings(tenants=TenantLimits(queues_max=1)))")
    )
    head = "from postroad import Settings, TenantLimits\n"
    (folder / "tasks.py").write_text(head + tasks)
    with running(folder, *UP):
        assert data("tenant", "show", "default")["limits"]["queues_max"] == 1


def test_a_taken_port_and_a_missing_program_are_named(folder: Path) -> None:
    with running(folder, *UP) as (_, door):
        port = door.url.rpartition(":")[2]
        other = start(folder, "up", "--listen", f"127.0.0.1:{port}", "--dsn", "sqlite:///b.db")
        said = other.communicate(timeout=WAIT_S)
        assert other.returncode == 3
        assert "--listen" in said[1]
        assert "Traceback" not in said[1]
        receiver = postroad("listen", port)
        assert receiver.exit_code == 3
        assert f"cannot listen on 127.0.0.1:{port}" in receiver.stderr
        hub = postroad("hub", "--set", f"hub_listen=127.0.0.1:{port}", "--dsn", "sqlite:///b.db")
        assert hub.exit_code == 3
        assert f"the hub cannot listen on 127.0.0.1:{port}" in hub.stderr
    for name, words in {
        "nowhere:road": "No module named",
        "tasks:nothing": "there is no nothing",
        "tasks:good": "is no Postroad",
        "tasks": "MODULE:ROAD",
    }.items():
        result = postroad("worker", "--app", name)
        assert result.exit_code == 2
        assert words in result.stderr
