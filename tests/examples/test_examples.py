"""Each folder of examples/ is served by a real server, and does what its text says."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.servers import free_port

EXAMPLES = Path(__file__).parents[2] / "examples"
WAIT_S = 60.0
SERVERS = {
    "fastapi_shop": ("-m", "uvicorn", "main:app", "--port"),
    "litestar_shop": ("-m", "uvicorn", "main:app", "--port"),
    "flask_shop": ("-m", "flask", "--app", "main", "run", "--port"),
}


def test_every_example_is_run_here() -> None:
    folders = {each.name for each in EXAMPLES.iterdir() if each.is_dir()}
    assert folders - {"__pycache__"} == set(SERVERS)


@contextmanager
def served(name: str, folder: Path) -> Iterator[str]:
    """An example's address; its server has to end well."""
    port = free_port()
    environ = {**os.environ, "PYTHONPATH": str(EXAMPLES / name)}
    log = folder / "log"
    with log.open("w") as file:
        words = (sys.executable, *SERVERS[name], str(port))
        process = subprocess.Popen(words, cwd=folder, env=environ, stdout=file, stderr=file)
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
            process.terminate()
            process.wait(WAIT_S)


def seen(url: str) -> list[str]:
    with urllib.request.urlopen(f"{url}/seen") as answer:
        found: list[str] = json.load(answer)
    return found


@pytest.mark.parametrize("name", sorted(SERVERS))
def test_a_sign_up_is_answered_and_welcomed(name: str, tmp_path: Path) -> None:
    with served(name, tmp_path) as url:
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
