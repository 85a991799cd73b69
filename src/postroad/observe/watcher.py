"""A small process beside a server: it ends the server when the server's event loop is stuck.

A thread could not: it needs the interpreter's lock, which a stuck call may hold. Started as a file
of its own, with nothing but the standard library: `watcher.py PID STUCK_AFTER_S DUMP_FD FORMAT`.
The server writes a byte to our standard input at each beat of its loop, and has the stacks of its
threads written into the file DUMP_FD when a beat is overdue.
"""

import json
import os
import select
import signal
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

TICKS = 10
"""A loop is stuck when so many ticks in a row passed without a beat. Our own ticks are counted, not
seconds: while the machine sleeps, or both processes are frozen, none pass."""
DEBUGGERS = ("/bdb.py", "/pdb.py", "/pydevd", "/debugpy/")
STACK_BYTES_MAX = 64 << 10
REPORT_S = 2.0
"""How long a report may take: its reader may be what the server waits for."""
END_FIRST = getattr(signal, "SIGRTMAX", signal.SIGKILL)
"""What ends a server that is the first process of its container, which SIGKILL from inside does
not."""


def held(pid: int) -> bool:
    """Whether somebody holds the process: it is stopped, or a debugger traces it."""
    lines = Path(f"/proc/{pid}/status").read_text("utf-8", "replace").splitlines()
    facts = dict(line.split(":", 1) for line in lines if ":" in line)
    return facts["State"].split()[0] in "Tt" or int(facts["TracerPid"]) != 0


def debugged(stack: str) -> bool:
    """Whether a Python debugger waits for its user."""
    return any(name in stack for name in DEBUGGERS)


def read_stack(dump: int) -> str:
    """Return what the server's stacks were when a beat was overdue; empty while there is none."""
    return os.pread(dump, STACK_BYTES_MAX, 0).decode("utf-8", "replace").strip()


def report(form: str, stuck_s: float, stack: str) -> None:
    """Write one event to standard error, as the server's log does."""
    at = datetime.now(UTC)  # noqa: TID251 - a program of its own, in real time
    line = {
        "timestamp": f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03}Z",
        "level": "error",
        "event": "the event loop is stuck: this process is ended",
        "stuck_s": stuck_s,
    }
    if form == "json":
        text = json.dumps({**line, "stack": stack})
    else:
        words = [f"{k}={json.dumps(v) if ' ' in str(v) else v}" for k, v in line.items()]
        text = " ".join(words) + "\n" + stack
    left = f"{text}\n".encode()
    while left:
        left = left[os.write(2, left) :]


def end(pid: int) -> None:
    """End the server, if it is still ours: nobody else may have got its number."""
    if os.getppid() == pid:
        os.kill(pid, END_FIRST if pid == 1 else signal.SIGKILL)


def watch(pid: int, stuck_after_s: float, dump: int, form: str) -> None:
    """Return when the server has ended, by itself or by us."""
    tick_s = stuck_after_s / TICKS
    missed, seen = 0, ""
    while os.getppid() == pid:
        start = time.monotonic()  # noqa: TID251
        readable, _, _ = select.select([0], [], [], tick_s)
        if readable:
            if not os.read(0, 4096):
                return  # it closed its end: the loop has ended in good order
            missed = 0
            continue
        # We did not run either.
        late = time.monotonic() - start > 3 * tick_s  # noqa: TID251
        if late or held(pid):
            missed = 0
            continue
        missed += 1
        before, seen = seen, read_stack(dump) if missed >= TICKS else ""
        stack = seen if seen == before else ""  # else it is being written
        if stack and debugged(stack):
            missed = 0
        elif stack or missed >= 2 * TICKS:
            told = threading.Thread(target=report, args=(form, stuck_after_s, seen), daemon=True)
            told.start()
            told.join(REPORT_S)
            end(pid)
            told.join(REPORT_S)  # its reader may read it now
            os._exit(0)


if __name__ == "__main__":
    # A server that goes while we look at it leaves nothing to watch.
    try:
        watch(int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
    except (FileNotFoundError, ProcessLookupError):
        sys.exit(0)
