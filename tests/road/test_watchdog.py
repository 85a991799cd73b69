"""A road in somebody else's program logs the stack of a stuck loop, and goes on."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

STUCK_S = 0.5
PROGRAM = """
import asyncio, ctypes, sys, time
from postroad import Postroad
from postroad.config import Settings

how, seconds, folder = sys.argv[1], float(sys.argv[2]), sys.argv[3]
settings = Settings(watchdog_s=float(sys.argv[4]), log_format="json")
road = Postroad(f"sqlite:///{folder}/road.db", settings=settings)

@road.handler("job")
async def job(message):
    print("begun", flush=True)
    if how == "lock":
        ctypes.PyDLL(None).usleep(int(seconds * 1e6))
    elif how == "call":
        time.sleep(seconds)
    else:
        await asyncio.sleep(seconds)

async def main():
    async with road:
        await road.send("job", {})
        await road.run(until_idle=True)
        print("ended", flush=True)

asyncio.run(main())
"""


def begin(how: str, seconds: float, folder: Path, stuck_s: float) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        (sys.executable, "-c", PROGRAM, how, str(seconds), str(folder), str(stuck_s)),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    return process


def stalls(process: "subprocess.Popen[str]") -> list[dict[str, Any]]:
    """What the log has of stalls, when the program has ended as it should."""
    assert process.stdout is not None
    assert process.stderr is not None
    with process:  # not `communicate`, which loses what has come together with the first line
        printed, said = process.stdout.read(), process.stderr.read()
    assert (process.returncode, printed) == (0, "ended\n"), said
    lines = [json.loads(line) for line in said.splitlines()]
    return [line for line in lines if line["event"] == "the event loop is stuck"]


@pytest.mark.parametrize("how", ["lock", "call"])
def test_the_stack_of_a_stall_is_logged_once_and_the_program_goes_on(
    how: str, tmp_path: Path
) -> None:
    found = stalls(begin(how, 4 * STUCK_S, tmp_path, STUCK_S))
    # A busy machine can hold the program up elsewhere, too.
    (stall,) = [one for one in found if "in job" in one["stack"]]
    assert stall["stuck_s"] >= STUCK_S


def test_a_program_that_waits_or_is_stopped_has_no_stall(tmp_path: Path) -> None:
    process = begin("wait", 4 * STUCK_S, tmp_path, 4 * STUCK_S)
    process.send_signal(signal.SIGSTOP)
    time.sleep(6 * STUCK_S)
    process.send_signal(signal.SIGCONT)
    assert stalls(process) == []


def test_the_watchdog_can_be_turned_off(tmp_path: Path) -> None:
    assert stalls(begin("call", 2 * STUCK_S, tmp_path, 0.0)) == []
