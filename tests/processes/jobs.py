"""Handlers that tests have called in child processes. What they did is in a file."""

import os
import signal
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


def deaf(message: Message[Note]) -> None:
    """Never end, whatever is raised in it."""
    note(message, "deaf")
    while True:
        try:
            time.sleep(60)
        except BaseException:  # noqa: BLE001 - it is deaf
            continue


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
