"""What containers and units do not let a process do, done to a process without either."""

import os
import subprocess
import sys
from pathlib import Path

from tests.deploy.image import base_of
from tests.servers import ServerMissing

SCRIPT = Path(__file__).with_name("walls.sh")
USER = "10001"
PROBE = """
import errno, sys
for place in sys.argv[1:]:
    try:
        open(place + "/written", "w").close()
        print("written")
    except OSError as error:
        print(errno.errorcode[error.errno])
"""
MDWE, REFUSE_EXEC_GAIN = 65, 1
REFUSES = f"""
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl({MDWE}, {REFUSE_EXEC_GAIN}, 0, 0, 0):
    sys.exit("this kernel has no PR_SET_MDWE: " + os.strerror(ctypes.get_errno()))
os.execv(sys.argv[1], sys.argv[1:])
"""


def read_only_root(command: list[str], python: Path, data: Path) -> list[str]:
    """The command behind a root that is read-only, as the image's user."""
    if os.geteuid() != 0:
        raise ServerMissing("no mounts of our own: run as root")
    return ["unshare", "--mount", "sh", str(SCRIPT), str(data), str(base_of(python)), *command]


def inside(process: "subprocess.Popen[bytes]", data: Path, *words: str, user: str = USER) -> str:
    """Run something where a process is, as `docker exec` does; answers with what it printed."""
    enter = ("nsenter", f"--target={process.pid}", "--mount", f"--wdns={data}")
    become = ("setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups")
    done = subprocess.run((*enter, *become, *words), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def writing(
    process: "subprocess.Popen[bytes]", data: Path, python: Path, *places: str
) -> list[str]:
    """What root is answered who writes there: `written`, or the error's name."""
    return inside(process, data, str(python), "-c", PROBE, *places, user="0").split()


def without_new_code(command: list[str]) -> list[str]:
    """The command where memory that was written is never run: MemoryDenyWriteExecute of the units."""
    return [sys.executable, "-c", REFUSES, *command]
