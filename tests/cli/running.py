"""Runs commands: inside this process, or as a program of its own."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from click.testing import CliRunner, Result

from postroad.cli.root import app
from tests.servers.door import Door, door_of

PROGRAM = (sys.executable, "-m", "postroad")
WAIT_S = 120.0
UP = ("up", "--app", "tasks:road", "--listen", "127.0.0.1:0", "--dsn", "sqlite:///road/road.db")
TASKS = """
import asyncio
from postroad import Postroad, Reject

road = Postroad()

@road.handler("good")
async def good(message): ...

@road.handler("bad")
async def bad(message):
    raise Reject("never")

@road.handler("slow")
async def slow(message):
    await asyncio.sleep(3600)
"""


def postroad(*words: str, given: str | bytes = "") -> Result:
    """One command, in the present folder."""
    env = {"COLUMNS": "200"}
    return CliRunner().invoke(app, list(words), input=given, env=env, terminal_width=200)


def data(*words: str, given: str | bytes = "") -> Any:
    """What a command prints for programs."""
    result = postroad(*words, "--json", given=given)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@contextmanager
def running(folder: Path, *words: str) -> Iterator[tuple[subprocess.Popen[str], Door]]:
    """A server as a process of its own, until the block ends."""
    process = start(folder, *words)
    try:
        yield process, door(process, folder)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            process.wait(WAIT_S)
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()


def start(folder: Path, *words: str, log: TextIO | None = None) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        (*PROGRAM, *words),
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=log or subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1", "COLUMNS": "200"},
    )


def door(process: "subprocess.Popen[str]", folder: Path) -> Door:
    """Where it listens, as soon as it does."""
    until = time.monotonic() + WAIT_S
    while time.monotonic() < until:
        found = door_of(folder, process.pid)
        if found is not None:
            return found
        if process.poll() is not None:
            said = process.communicate()
            raise AssertionError(f"it ended: {said}")
        time.sleep(0.05)
    raise AssertionError("it does not listen")
