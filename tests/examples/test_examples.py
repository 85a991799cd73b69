"""Each folder of examples/ is served by a real server, and does what its text says."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.servers import free_port
from tests.servers.postgres import PrivatePostgres

EXAMPLES = Path(__file__).parents[2] / "examples"
WAIT_S = 60.0
SERVERS = {
    "fastapi_shop": ("-m", "uvicorn", "main:app", "--port"),
    "litestar_shop": ("-m", "uvicorn", "main:app", "--port"),
    "flask_shop": ("-m", "flask", "--app", "main", "run", "--port"),
    "django_shop": (str(EXAMPLES / "django_shop" / "manage.py"), "runserver", "--noreload"),
}
ORDERS = ("-m", "uvicorn", "main:app", "--port")
DEBUG = ("-m", "flask", "--app", "main", "run", "--debug", "--port")
DJANGO_WORKER = (str(EXAMPLES / "django_shop" / "manage.py"), "postroad", "worker")


def test_every_example_is_run_here() -> None:
    folders = {each.name for each in EXAMPLES.iterdir() if each.is_dir()}
    assert folders - {"__pycache__"} == {*SERVERS, "starlette_orders"}


@contextmanager
def served(name: str, folder: Path, server: tuple[str, ...] = (), **more: str) -> Iterator[str]:
    """An example's address; its server has to end well."""
    port = free_port()
    environ = {**os.environ, "PYTHONPATH": str(EXAMPLES / name), **more}
    log = folder / "log"
    with log.open("w") as file:
        words = (sys.executable, *(server or SERVERS[name]), str(port))
        process = subprocess.Popen(
            words, cwd=folder, env=environ, stdout=file, stderr=file, start_new_session=True
        )
        try:
            end = time.monotonic() + WAIT_S
            while True:
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < end, log.read_text()
                try:
                    with socket.create_connection(("127.0.0.1", port), 1):
                        break
                except OSError:
                    time.sleep(0.05)
            yield f"http://127.0.0.1:{port}"
        finally:
            os.killpg(process.pid, signal.SIGTERM)  # a reloader does not hand it on
            process.wait(WAIT_S)


def got(url: str) -> Any:
    with urllib.request.urlopen(url) as answer:
        return json.load(answer)


def seen(url: str) -> list[str]:
    found: list[str] = got(f"{url}/seen")
    return found


@contextmanager
def beside(name: str, folder: Path) -> Iterator[None]:
    """The worker of an example that has one of its own."""
    if name != "django_shop":
        yield
        return
    words, log = (sys.executable, *DJANGO_WORKER), folder / "worker.log"
    with log.open("w") as file:
        worker = subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, stderr=file, text=True)
        assert worker.stdout is not None
        try:
            while "Ctrl+C" not in (line := worker.stdout.readline()):
                assert line, log.read_text()
            yield
        finally:
            worker.terminate()
            _ = worker.communicate(timeout=WAIT_S)
    assert worker.returncode == 0, log.read_text()


def test_flask_serves_with_its_reloader(tmp_path: Path) -> None:
    """It imports the application in two processes, and a SQLite road belongs to one."""
    with served("flask_shop", tmp_path, DEBUG) as url:
        asked = urllib.request.Request(f"{url}/sign-up?name=Ann", method="POST")
        with urllib.request.urlopen(asked) as answer:
            assert answer.status == 201


def test_an_order_and_its_job_are_stored_together_or_not_at_all(
    server: PrivatePostgres, tmp_path: Path
) -> None:
    dsn = server.create_database()
    with served("starlette_orders", tmp_path, ORDERS, ORDERS=dsn) as url:
        for item, status in (("cup?price=3", 201), ("pot", 500), ("jar?price=5", 201)):
            assert httpx.post(f"{url}/orders/{item}", timeout=WAIT_S).status_code == status
        end, wanted = time.monotonic() + WAIT_S, ["cup", "jar"]
        while (shown := got(f"{url}/orders"))["confirmed"] != wanted:
            assert time.monotonic() < end, shown
            time.sleep(0.05)
        assert shown["orders"] == wanted


@pytest.mark.parametrize("name", sorted(SERVERS))
def test_a_sign_up_is_answered_and_welcomed(name: str, tmp_path: Path) -> None:
    with beside(name, tmp_path), served(name, tmp_path) as url:
        asked = urllib.request.Request(f"{url}/sign-up?name=Ann", method="POST")
        with urllib.request.urlopen(asked) as answer:
            assert answer.status == 201
            assert json.load(answer)["id"].startswith("msg_")
        wanted = (
            ["begin 1", "welcome, Ann", "end 1"] if name == "fastapi_shop" else ["welcome, Ann"]
        )
        end = time.monotonic() + WAIT_S
        while seen(url) != wanted:
            assert time.monotonic() < end, seen(url)
            time.sleep(0.05)
