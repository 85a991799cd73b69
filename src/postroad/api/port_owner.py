"""Which process listens on a port of this machine, as far as Linux tells."""

from contextlib import suppress
from pathlib import Path
from typing import Final

PROC: Final = Path("/proc")
LISTEN: Final = "0A"
LINES_MAX: Final = 100_000


def port_owner(port: int) -> str:
    """Name the process that listens on a TCP port; "" where that cannot be told. Of other users'
    processes only root learns it."""
    sockets = {f"socket:[{inode}]" for inode in _listening(port)}
    if not sockets:
        return ""
    for folder in PROC.glob("[0-9]*"):
        with suppress(OSError):  # it has ended, or is another user's
            if any(str(link.readlink()) in sockets for link in (folder / "fd").iterdir()):
                return f"process {folder.name} ({(folder / 'comm').read_text().strip()})"
    return ""


def _listening(port: int) -> list[str]:
    """The inodes of the sockets that listen on a port."""
    found: list[str] = []
    for table in ("tcp", "tcp6"):
        with suppress(OSError):
            for line in (PROC / "net" / table).read_text().splitlines()[1:LINES_MAX]:
                fields = line.split()
                local, state, inode = fields[1], fields[3], fields[9]
                if state == LISTEN and int(local.rpartition(":")[2], 16) == port:
                    found.append(inode)
    return found
