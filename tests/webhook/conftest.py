"""Real servers in their own processes, and a road that may reach the loopback."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
import uvloop

from postroad import Postroad
from postroad.config import Settings
from postroad.model.webhook import WebhookRules
from tests.servers.nginx import PrivateNginx

ROOT = Path(__file__).parents[2]
LOCAL = WebhookRules(allow=("127.0.0.0/8", "::1/128"), http=True, ports=())


def start(module: str, *arguments: str) -> tuple[subprocess.Popen[str], Any]:
    """A process of this folder, and the first line that it prints."""
    process = subprocess.Popen(
        [sys.executable, "-m", f"tests.webhook.{module}", *arguments],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, json.loads(process.stdout.readline())


def end(process: "subprocess.Popen[str]") -> None:
    process.kill()
    process.communicate()


class Receiver:
    """The uvicorn server, and what it got."""

    def __init__(self, port: int, log: Path) -> None:
        self._port = port
        self._log = log
        self._entries: list[dict[str, Any]] = []
        self._read_bytes = 0

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self._port}{path}"

    def got(self, path: str) -> list[dict[str, Any]]:
        if self._log.exists():
            with self._log.open("rb") as log:
                log.seek(self._read_bytes)
                whole = log.read().rpartition(b"\n")  # the last line may be half written
            self._read_bytes += len(whole[0] + whole[1])
            self._entries += [json.loads(line) for line in whole[0].splitlines()]
        return [entry for entry in self._entries if entry["path"] == path]

    def release(self) -> None:
        """Answer all that came to /held."""
        self._log.with_suffix(".released").touch()


@pytest.fixture(scope="session")
def faults() -> Iterator[dict[str, int]]:
    """Ports of the raw-socket server, by fault."""
    process, ports = start("faults_process")
    yield ports
    end(process)


@pytest.fixture(scope="session")
def receiver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Receiver]:
    """A uvicorn server."""
    log = tmp_path_factory.mktemp("receiver") / "log"
    process, told = start("app_process", str(log))
    yield Receiver(told["port"], log)
    end(process)


@pytest.fixture(scope="session")
def nginx(postroad_server_versions: list[str]) -> Iterator[PrivateNginx]:
    with PrivateNginx() as server:
        postroad_server_versions.append(f"nginx {server.version}")
        yield server


@pytest.fixture
def road(tmp_path: Path) -> Postroad:
    """A road that may call the loopback, and says so when it starts."""
    settings = Settings(webhooks=LOCAL)
    return Postroad(f"sqlite:///{tmp_path}/road.db", settings=settings)


@pytest.fixture
def within() -> Callable[[Coroutine[Any, Any, Any]], Any]:
    """Runs a coroutine, bounded, in the loop that servers and workers run in."""

    def run(story: Coroutine[Any, Any, Any]) -> Any:
        async def bounded() -> Any:
            async with asyncio.timeout(150):
                return await story

        return uvloop.run(bounded())

    return run
