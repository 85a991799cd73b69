"""The guide for jobs runs, prints what it shows, and its test passes with the plugin."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from tests.guides.running import examples, run, same

pytestmark = pytest.mark.wide

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "jobs.md"


def test_each_example_prints_what_the_guide_shows(tmp_path: Path) -> None:
    """Each is a program of its own."""
    found = [example for example in examples(GUIDE) if example.shown]
    assert len(found) == 11
    for example in found:
        printed = run(example.code, tmp_path)
        assert same(printed, example.shown), printed


def test_the_guides_own_test_passes(tmp_path: Path) -> None:
    """With the fixture that the plugin brings."""
    (example,) = [each for each in examples(GUIDE) if "def test_" in each.code]
    (tmp_path / "test_guide.py").write_text(example.code)
    plugin = ("-p", "postroad.testing.plugin", "-p", "no:cacheprovider")
    done = subprocess.run(
        (sys.executable, "-m", "pytest", *plugin, "-q", str(tmp_path)),
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTHONPATH": os.pathsep.join(sys.path),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 passed" in done.stdout, done.stdout + done.stderr


def _look_into(folder: Path) -> None:
    """As somebody would from another terminal, while the application runs."""

    def postroad(*words: str) -> Any:
        command = (sys.executable, "-m", "postroad", *words, "--dsn", "sqlite:///shop-app.db")
        done = subprocess.run(
            (*command, "--json"), cwd=folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    (queue,) = postroad("queues")["queues"]
    assert queue["queue"] == "welcome"
    # What the handler printed is there before its end is recorded.
    while not (found := postroad("messages", "--state", "delivered")["messages"]):
        time.sleep(0.05)
    (message,) = found
    assert postroad("message", "explain", message["id"])["state"] == "delivered"
    assert postroad("workers")["workers"][0]["state"] in ("working", "idle")
    assert postroad("pause", "welcome")["done"] == "paused"
    assert postroad("send", "welcome", '{"name": "Bo"}')["queue"] == "welcome"
    assert postroad("stats")["held"] == 1
    assert postroad("audit", "list")["lines"][0]["actor"] == "window"


def test_the_guides_web_application_delivers_and_ends_with_its_server(tmp_path: Path) -> None:
    """A road that took the server's signals would leave it deaf to them."""
    example, _ = [each for each in examples(GUIDE) if "lifespan" in each.code]
    (tmp_path / "shop.py").write_text(example.code)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        command = (sys.executable, "-m", "uvicorn", "shop:app", "--fd", str(taken.fileno()))
        with subprocess.Popen(
            command,
            cwd=tmp_path,
            pass_fds=(taken.fileno(),),
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        ) as server:
            try:
                host, port = taken.getsockname()
                with closing(HTTPConnection(host, port, timeout=60)) as line:
                    line.request("POST", "/sign-up", b'{"name": "Ada"}')
                    assert line.getresponse().status == 201
                assert server.stdout is not None
                assert "welcome, Ada\n" in iter(server.stdout.readline, "")
                _look_into(tmp_path)
                server.send_signal(signal.SIGINT)
                assert server.wait(60) in (0, -signal.SIGINT)
            finally:
                server.kill()


def test_the_guides_web_and_worker_share_a_file(tmp_path: Path) -> None:
    """Two web processes send while their worker is killed and started again."""
    _, web = [each for each in examples(GUIDE) if "lifespan" in each.code]
    (worker,) = [each for each in examples(GUIDE) if "sqlite:///two.db" in each.code]
    (tmp_path / "web.py").write_text(web.code)
    (tmp_path / "worker.py").write_text(worker.code)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}

    def work() -> "subprocess.Popen[str]":
        command = (sys.executable, "worker.py")
        return subprocess.Popen(command, cwd=tmp_path, env=env, stdout=subprocess.PIPE, text=True)

    def sign_up(name: str) -> int:
        host, port = taken.getsockname()
        with closing(HTTPConnection(host, port, timeout=60)) as line:
            line.request("POST", "/sign-up", json.dumps({"name": name}).encode())
            return line.getresponse().status

    with socket.create_server(("127.0.0.1", 0)) as taken:
        command = (sys.executable, "-m", "uvicorn", "web:app", "--fd", str(taken.fileno()))
        with work() as first:
            web_processes = [
                subprocess.Popen(command, cwd=tmp_path, pass_fds=(taken.fileno(),), env=env)
                for _ in range(2)
            ]
            try:
                assert sign_up("Ada") == 201
                assert first.stdout is not None
                assert "welcome, Ada\n" in iter(first.stdout.readline, "")
                first.kill()
                first.wait(60)
                with ThreadPoolExecutor() as pool:
                    waiting = [pool.submit(sign_up, name) for name in ("Bo", "Cy", "Di")]
                    with work() as second:
                        assert [each.result() for each in waiting] == [201] * 3
                        assert second.stdout is not None
                        left = {"welcome, Bo\n", "welcome, Cy\n", "welcome, Di\n"}
                        while left:  # Ada too, if her result was not recorded before the kill
                            left.discard(line := second.stdout.readline())
                            assert line, "it ended"
                        second.terminate()
            finally:
                for each in web_processes:
                    each.kill()
                    each.wait(60)
