"""What a person reads in the log of a real process: a receiver's outage, a database's outage."""

import os
import re
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from postroad.model.keyring import new_key
from tests.cli.running import WAIT_S, data, start
from tests.servers import free_port
from tests.servers.postgres import ELSEWHERE, PrivatePostgres

STORE = re.compile(r'event="(the store is [a-z ]+)"')


class Reading:
    """The log of a process, line by line as it comes."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.process = start(folder, *words)
        self.lines: list[str] = []
        self._came = threading.Condition()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            with self._came:
                self.lines.append(line)
                self._came.notify_all()

    def wait_for(self, words: str) -> str:
        """The first line with these words, as soon as it is there."""

        def found() -> str:
            return next((line for line in self.lines if words in line), "")

        with self._came:
            assert self._came.wait_for(lambda: bool(found()), WAIT_S), (words, self.lines)
            return found()

    def stop(self, by: signal.Signals = signal.SIGTERM) -> None:
        self.process.send_signal(by)
        assert self.process.wait(WAIT_S) == (0 if by is signal.SIGTERM else -by)
        self._thread.join(WAIT_S)
        for pipe in (self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()


@contextmanager
def logged(folder: Path, *words: str) -> Iterator[Reading]:
    reading = Reading(folder, *words)
    try:
        yield reading
        reading.stop()
    finally:
        if reading.process.poll() is None:
            reading.process.kill()


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


@contextmanager
def receiving(port: int) -> Iterator[None]:
    with ThreadingHTTPServer(("127.0.0.1", port), Receiver) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield
        server.shutdown()
        thread.join()


def test_the_outage_of_a_receiver_is_read_from_the_log_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTROAD_WEBHOOKS_ALLOW", "127.0.0.0/8")
    monkeypatch.setenv("POSTROAD_WEBHOOKS_HTTP", "true")
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    monkeypatch.setenv("POSTROAD_WEBHOOKS_PORTS", str(port))
    up = ("up", "--listen", "127.0.0.1:0", "--dsn", "sqlite:///road/road.db")
    with logged(folder, *up) as log:
        log.wait_for("webhook guard")
        for name in ("orders", "stock", "T0K3N?key=hush"):
            data("send", f"{address}/hooks/{name}", '"hush"')
        opened = log.wait_for('event="circuit opened"')
        with receiving(port):
            closed = log.wait_for('event="circuit closed"')
    assert "level=warning" in opened
    assert f"server={address}" in opened
    assert 'reason="connection refused"' in opened
    assert "waiting=3" in opened
    assert "level=info" in closed
    assert re.search(r'away="\d+ s"', closed)
    assert "hush" not in "".join(log.lines)
    events = re.findall(r'event="(circuit [a-z]+|queue [a-z]+|message died)"', "".join(log.lines))
    assert events == ["circuit opened", "circuit closed"]


def test_after_kill_9_the_next_start_tells_whose_lanes_are_free(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTROAD_WEBHOOKS_ALLOW", "127.0.0.0/8")
    monkeypatch.setenv("POSTROAD_WEBHOOKS_HTTP", "true")
    monkeypatch.setenv("POSTROAD_WEBHOOKS_PORTS", "")
    up = ("up", "--listen", "127.0.0.1:0", "--dsn", "sqlite:///road/road.db")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        killed = Reading(folder, *up)
        killed.wait_for("webhook guard")
        data("send", f"http://127.0.0.1:{silent.getsockname()[1]}/hook", "1")
        with silent.accept()[0]:  # the try is under way
            killed.stop(signal.SIGKILL)
    with logged(folder, *up) as log:
        lost = log.wait_for("a worker was lost, its lanes are free")
        assert f"pid={killed.process.pid} lanes=1" in lost
        log.wait_for("lane taken over from a lost worker")


@pytest.mark.wide
def test_a_database_that_is_away_is_told_in_few_lines(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(ELSEWHERE, raising=False)
    keys = folder / "keys"
    keys.write_text(f"{new_key('k1', os.urandom)}\n")
    keys.chmod(0o600)
    monkeypatch.setenv("POSTROAD_KEYS_FILE", str(keys))
    with PrivatePostgres() as server:
        dsn, one = server.create_road(), ("--processes", "1")
        with logged(folder, "up", "--listen", "127.0.0.1:0", "--dsn", dsn, *one) as log:
            log.wait_for("webhook guard")
            server.stop("immediate")
            log.wait_for("the store is away")
            threading.Event().wait(2.5)  # every part of the process tries again every second
            server.start()
            back = log.wait_for("the store is back")
        assert STORE.findall("".join(log.lines)) == ["the store is away", "the store is back"]
        failures = int(re.findall(r"failures=(\d+)", back)[0])
        assert failures > 2
        told = [line for line in log.lines if "level=warning" in line or "level=error" in line]
        assert len(told) <= 4, told
