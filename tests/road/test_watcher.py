"""The process beside a server, where it runs: in a container, with forked children, with a log that
nobody reads."""

import os
import signal
import subprocess
import sys

import pytest

WAIT_S = 60
PROGRAM = """
import asyncio, os, resource, sys, time
from postroad.observe.log import make_log
from postroad.observe.watchdog import end_when_stuck

async def main(how):
    if how == "no folder":
        import tempfile
        tempfile._candidate_tempdir_list = lambda: ["/nowhere"]
    if how == "no process":
        sys.executable = "/nowhere/python"
    with end_when_stuck(0.5, make_log("info"), "text"):
        await asyncio.sleep(0.1)
        if how == "forked" and os.fork() == 0:
            time.sleep(600)
        if how == "unread":
            os.set_blocking(2, False)
            try:
                while os.write(2, b"x" * 4096):
                    pass
            except BlockingIOError:
                os.set_blocking(2, True)
        if how in ("stuck", "unread"):
            time.sleep(30)

asyncio.run(main(sys.argv[1]))
print("ended in good order")
"""


def begun(how: str, *before: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        (*before, sys.executable, "-c", PROGRAM, how),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def test_a_server_that_forked_a_child_ends_in_good_order() -> None:
    """The child has the server's end of the pipe open, too: its end is not seen while it lives."""
    process = begun("forked")
    try:
        assert process.wait(WAIT_S) == 0
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def test_a_stuck_server_is_ended_though_nobody_reads_its_log() -> None:
    process = begun("unread")
    assert process.wait(WAIT_S) == -signal.SIGKILL
    process.communicate()


def test_a_stuck_server_that_is_the_first_process_of_its_container_is_ended() -> None:
    """From inside SIGKILL does not reach it."""
    own = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc")
    try:
        subprocess.run((*own, "true"), check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no container can be made here: {error}")
    process = begun("stuck", *own)
    said, told = process.communicate(timeout=WAIT_S)
    assert process.returncode == signal.SIGRTMAX
    assert "the event loop is stuck: this process is ended" in told
    assert "good order" not in said


def test_a_server_needs_no_folder_for_its_watchdog() -> None:
    said, told = begun("no folder").communicate(timeout=WAIT_S)
    assert ("good order" in said, "Traceback" in told) == (True, False)


def test_a_server_that_can_start_no_process_runs_without_a_watchdog_and_says_so() -> None:
    said, told = begun("no process").communicate(timeout=WAIT_S)
    assert ("good order" in said, "Traceback" in told) == (True, False)
    assert "the watchdog did not start" in told
