"""The roles apart: `postroad api` accepts, `postroad worker` delivers, on one PostgreSQL."""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.running import WAIT_S, data, postroad, start
from tests.servers.postgres import PrivatePostgres


@pytest.fixture
def dsn(server: PrivatePostgres) -> str:
    return server.create_database()


@contextmanager
def role(folder: Path, *words: str) -> Iterator[list[str]]:
    """A process, and the lines that it says until it works."""
    process = start(folder, *words, "--log-level", "warning")
    try:
        lines: list[str] = []
        while not lines or "Ctrl+C" not in lines[-1]:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, process.communicate()
            lines.append(line)
        yield lines
    finally:
        process.terminate()
        _, errors = process.communicate(timeout=WAIT_S)
    assert process.returncode == 0, errors


def test_a_command_that_only_asks_makes_no_road_in_a_database(
    dsn: str, server: PrivatePostgres
) -> None:
    """A mistyped address must not leave tables in somebody else's database."""
    for words in (("stats",), ("send", "good", "1"), ("token", "make", "x")):
        refused = postroad(*words, "--dsn", dsn)
        assert refused.exit_code == 2, refused.output
        assert "there is no road at" in refused.stderr
        assert dsn.partition("@")[0].rpartition(":")[2] not in refused.stderr  # its password
    (store,) = [each for each in data("doctor", "--dsn", dsn) if each["part"] == "store"]
    assert (store["state"], "no road yet" in store["found"]) == ("warn", True)
    made = "select count(*) from pg_namespace where nspname = 'postroad'"
    assert server.sql(made, dsn.rpartition("/")[2]).strip() == "0"


@pytest.mark.wide
def test_one_accepts_another_delivers_and_commands_need_neither(
    folder: Path, dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTROAD_KEYS", data("keys", "new")["key"])
    assert data("migrate", "--dsn", dsn)["version"] > 0
    worker = ("worker", "--dsn", dsn, "--app", "tasks:road")
    api = ("api", "--dsn", dsn, "--app", "tasks:road", "--listen", "127.0.0.1:0")
    with role(folder, *worker) as said, role(folder, *api) as told:
        assert "prt_" not in "".join([*said, *told])
        url = re.search(r"http://\S+?(?=;)", told[-1])
        assert url
        server = ("--server", url[0], "--token-file", "postroad.token")
        number = data("send", "good", "1", *server)["id"]
        until = time.monotonic() + WAIT_S
        while data("message", "show", number, *server)["state"] != "delivered":
            assert time.monotonic() < until
        ready = data("stats", *server)
        assert ready["delivers"] is False
    assert data("message", "show", number, "--dsn", dsn)["state"] == "delivered"
    found = {each["part"]: each["state"] for each in data("doctor", "--dsn", dsn)}
    assert {found[part] for part in ("store", "schema", "clock", "notifications")} == {"ok"}
    assert dsn.partition("@")[0].rpartition(":")[2] not in postroad("doctor", "--dsn", dsn).output
