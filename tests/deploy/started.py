"""Processes of the image, without a container: their variables, on ports of this machine."""

import json
import os
import re
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from msgspec import Struct

from tests.deploy.image import environment
from tests.servers import free_port

WAIT_S = 180.0
REACH = {
    "POSTROAD_WEBHOOKS_ALLOW": "127.0.0.0/8",
    "POSTROAD_WEBHOOKS_HTTP": "true",
    "POSTROAD_WEBHOOKS_PORTS": "",
}
"""Receivers of tests are on this machine."""


class Started(Struct, frozen=True):
    """A process that works, its port in place of 8600 and its hub's in place of 8601."""

    process: "subprocess.Popen[bytes]"
    port: int
    hub_port: int


@contextmanager
def started(
    command: list[str], given: Mapping[str, str], cwd: Path, **more: Any
) -> Iterator[Started]:
    """Start it, and end it with the block."""
    port, hub_port = free_port(), free_port()
    own = {
        **environment(), **given, "PATH": os.environ["PATH"],
        "POSTROAD_LISTEN": f"127.0.0.1:{port}", "POSTROAD_HUB_LISTEN": f"127.0.0.1:{hub_port}",
    }  # fmt: skip
    log = cwd / f"{port}.log"
    with log.open("wb") as told_to:
        process = subprocess.Popen(command, env=own, cwd=cwd, stderr=told_to, **more)
    try:
        _wait_until_ready(port, process, log)
        yield Started(process, port, hub_port)
    finally:
        process.terminate()
        process.wait(WAIT_S)


def _wait_until_ready(port: int, process: "subprocess.Popen[bytes]", log: Path) -> None:
    until = time.monotonic() + WAIT_S
    while answers(port, "/readyz") != 200:
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < until, log.read_text()
        time.sleep(0.05)


def answers(port: int, path: str = "/healthz") -> int:
    """The status of an answer; 0 is none."""
    line = HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        line.request("GET", path)
        return line.getresponse().status
    except OSError:
        return 0
    finally:
        line.close()


def ask(port: int, token: str, method: str, path: str, body: object = None) -> Any:
    """What a process answers to somebody who has a token."""
    line = HTTPConnection("127.0.0.1", port, timeout=WAIT_S)
    headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
    try:
        line.request(method, path, None if body is None else json.dumps(body), headers)
        answer = line.getresponse()
        said = answer.read()
        assert answer.status < 300, said
        return json.loads(said)
    finally:
        line.close()


def send_and_wait(port: int, token: str, urls: list[str], word: str) -> list[str]:
    """Send a message to each receiver, and wait until each is delivered; answers with the bodies."""
    bodies = [f"{word} {number}" for number, _ in enumerate(urls)]
    sends = [{"queue": url, "body": body} for url, body in zip(urls, bodies, strict=True)]
    ids = [ask(port, token, "POST", "/v1/messages", each)["id"] for each in sends]
    until = time.monotonic() + WAIT_S
    while ids:
        found = {number: ask(port, token, "GET", f"/v1/messages/{number}") for number in ids}
        ids = [number for number, each in found.items() if each["state"] != "delivered"]
        assert time.monotonic() < until, found
        time.sleep(0.05)
    return [json.dumps(body) for body in bodies]


def wait_for_workers(port: int, count: int) -> None:
    """So many have joined the road that a process looks at."""
    until = time.monotonic() + WAIT_S
    while time.monotonic() < until:
        line = HTTPConnection("127.0.0.1", port, timeout=30)
        line.request("GET", "/metrics")
        text = line.getresponse().read().decode()
        line.close()
        found = re.findall(r'postroad_fleet_workers{state="(?:idle|working)"} (\S+)', text)
        if sum(map(float, found)) >= count:
            return
        time.sleep(0.2)
    raise AssertionError("the workers did not join")
