"""Handlers that tests have called in child processes. What they did is in a file."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import msgspec

from postroad import Message, Reject, RetryLater


class Note(msgspec.Struct):
    """What a handler is to do, and the file that it writes to."""

    file: str
    do: str = ""
    size: int = 0


def note(message: Message[Note], text: str = "") -> None:
    """Append a line: by which process, and what."""
    with Path(message.body.file).open("a") as file:
        file.write(f"{os.getpid()} {message.attempt} {text or message.body.do}\n")


def work(message: Message[Note]) -> None:
    """Do as the message says."""
    note(message)
    match message.body.do:
        case "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "crash once" if message.attempt == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        case "exit":
            sys.exit(3)
        case "raise":
            raise ValueError("no such photo")
        case "reject":
            raise Reject("never")
        case "later" if message.attempt == 1:
            raise RetryLater(0.05)
        case "beat":
            for _ in range(6):
                time.sleep(0.1)
                message.heartbeat()
        case "hang":
            try:
                threading.Event().wait(60)
            finally:
                note(message, "cleaned up")
        case _:
            pass


def runs(pid: int) -> bool:
    """Whether a process has not ended; one that nobody has waited for has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # before, or while it is read
        return False


def deaf(message: Message[Note]) -> None:
    """Never end, whatever is raised in it."""
    note(message, "deaf")
    while True:
        try:
            time.sleep(60)
        except BaseException:  # noqa: BLE001 - it is deaf
            continue


def stopped(message: Message[Note]) -> None:
    """Be stopped as the message says, or tell whether another one still runs."""
    match message.body.do:
        case "deaf":
            deaf(message)
        case "stubborn":
            note(message)
            try:
                threading.Event().wait(60)
            except SystemExit:
                note(message, "done all the same")
        case "alone":
            lines = Path(message.body.file).read_text().splitlines()
            pids = {int(line.split()[0]) for line in lines} - {os.getpid()}
            note(message, "beside" if any(map(runs, pids)) else "alone")
        case _:
            work(message)


def copying(message: Message[Note]) -> None:
    """Tell how far it has come, a thousand times, then wait for the word to go on."""
    for done in range(1, 1_001):
        message.progress(done, 2_000, "halfway")
    while not Path(message.body.file).with_name("go").exists():
        time.sleep(0.01)
    message.progress(2_000, 2_000, "done")


def told(file: str, text: str) -> dict[str, str]:
    """A handler of two parameters that gives a result."""
    Path(file).write_text(f"{os.getpid()} {text}")
    return {"told": text}


def forking(message: Message[Note]) -> str:
    """Fork, and go on in the copy as the message says."""
    pid = os.fork()
    if pid:
        _, status = os.waitpid(pid, 0)
        return f"the copy ended with {os.waitstatus_to_exitcode(status)}"
    message.progress(1, 2, "of the copy")
    message.heartbeat()
    match message.body.do:
        case "raise":
            raise ValueError("of the copy")
        case "exit":
            sys.exit(7)
        case _:
            return "of the copy"


def outlived(message: Message[Note]) -> None:
    """Leave a copy and a program behind that run on, and crash."""
    pid = os.fork()
    if not pid:
        while not Path(message.body.file).with_name("go").exists():
            time.sleep(0.01)
        os._exit(0)
    program = f"while [ ! -e {Path(message.body.file).with_name('go')} ]; do sleep 0.05; done"
    os.system(f"({program}) &")  # it hands open files on, as subprocess does not
    os.kill(os.getpid(), signal.SIGKILL)


def ending_others(_message: Message) -> list[int]:
    """Start a program and a process, end both with SIGTERM, and tell how they ended."""
    program = subprocess.Popen(("sleep", "600"))
    program.terminate()
    process = multiprocessing.get_context("fork").Process(target=time.sleep, args=(600,))
    process.start()
    process.terminate()
    try:
        process.join(60)
        return [program.wait(60), process.exitcode or 0]
    finally:
        program.kill()
        process.kill()


def ending_copies(_message: Message) -> list[int]:
    """Fork a copy two hundred times, end each at once with SIGTERM, and tell how they ended."""
    ended = []
    for _ in range(200):
        pid = os.fork()
        if not pid:
            time.sleep(1)
            os._exit(0)
        os.kill(pid, signal.SIGTERM)
        ended.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    return ended


def halves(message: Message[Note]) -> str:
    """Say half a character, which a name of a file may hold."""
    message.progress(1, 2, "\udcff")
    if message.body.do == "raise":
        raise ValueError("no file \udcff")
    return "done"


def far(message: Message[Note]) -> None:
    """Come as far as the message says."""
    message.progress(10 ** int(message.body.do), 10 ** int(message.body.do))
