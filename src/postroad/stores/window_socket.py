"""The socket of a road's window: in a private folder beside the file, and who is at its ends."""

import os
import pwd
import socket
import struct
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from postroad.model.errors import ForeignWindow, NoOwner, UnsafeFile
from postroad.stores.naming import file_of, shown
from postroad.stores.privacy import OWN, ROOT, owner_of

FOLDER: Final = 0o700
NAME: Final = "socket"
BACKLOG: Final = 64
ADDRESS_BYTES_MAX: Final = 100
"""Linux takes 107, others 103."""
DESCRIPTORS: Final = Path("/proc/self/fd")
CREDENTIALS: Final = struct.Struct("3i")
LOOK: Final = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW


class Peer(Struct, frozen=True):
    """The process at the other end, as the kernel says; 0 where it does not."""

    pid: int
    uid: int

    @property
    def user(self) -> str:
        """The number and name of its user."""
        return user_of(self.uid)


def user_of(uid: int) -> str:
    """The number and name of a user."""
    try:
        name = pwd.getpwuid(uid).pw_name
    except KeyError:  # a container may run as a number without a name
        name = ""
    return f"{uid} {name}".strip().encode("ascii", "replace").decode()


def window_of(dsn: str) -> Path | None:
    """The folder of a road's window; None for a road without a file."""
    file = file_of(dsn)
    return file.with_name(f"{file.name}.window") if file is not None else None


def listen(window: Path, road: Path) -> socket.socket:
    """Listen at a road's window. For the owner of the file alone, who holds its lock: a socket that
    is there was left by a process that is dead. UnsafeFile, if somebody else's is in the way."""
    with suppress(FileExistsError):
        window.mkdir(FOLDER)
    try:
        folder = os.open(window, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        raise UnsafeFile(f"{window} cannot be used: {error.strerror}; {_mend(window)}") from None
    try:
        _check_owner(folder, window, road)
        return _bound(folder, window, road)
    except OSError as error:
        raise UnsafeFile(f"{window} cannot be used: {error.strerror}; {_mend(window)}") from None
    finally:
        os.close(folder)


def _bound(folder: int, window: Path, road: Path) -> socket.socket:
    os.fchmod(folder, FOLDER)
    with suppress(FileNotFoundError):
        os.unlink(NAME, dir_fd=folder)
    taken = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        taken.bind(_address(folder, window))
        os.chmod(NAME, OWN, dir_fd=folder)
        if os.geteuid() == ROOT:  # for the user whose road it is, as with its other files
            owner = road.stat()
            os.chown(NAME, owner.st_uid, owner.st_gid, dir_fd=folder)
            os.fchown(folder, owner.st_uid, owner.st_gid)
        taken.listen(BACKLOG)
    except BaseException:
        taken.close()
        raise
    return taken


def remove(window: Path) -> None:
    """Remove the window of a road that closes."""
    with suppress(OSError):  # not ours to remove: then it is not believed either
        (window / NAME).unlink(missing_ok=True)
        window.rmdir()


def connect(dsn: str, timeout_s: float) -> socket.socket:
    """Connect to the process that owns a road's file. NoOwner, when none does or its window is
    closed; ForeignWindow, when it is another user's."""
    window, road = window_of(dsn), file_of(dsn)
    if window is None or road is None:
        raise NoOwner(f"{shown(dsn)} has no window: only a road on SQLite has one")
    try:
        folder = os.open(window, LOOK)
    except FileNotFoundError:
        raise _nobody(road) from None
    except OSError as error:
        raise UnsafeFile(f"{window} is not used: {error.strerror}; {_mend(window)}") from None
    try:
        _check_owner(folder, window, road)
        line = _connected(folder, window, timeout_s)
    except (FileNotFoundError, ConnectionRefusedError):
        raise _nobody(road) from None
    except PermissionError:
        raise _foreign(window, os.fstat(folder).st_uid) from None
    finally:
        os.close(folder)
    uid = peer_of(line).uid
    if uid not in _believed(road):
        line.close()
        raise _foreign(window, uid)
    return line


def is_open(dsn: str, timeout_s: float) -> bool:
    """Whether somebody owns a road's file and can be asked at its window."""
    if file_of(dsn) is None:
        return False
    try:
        connect(dsn, timeout_s).close()
    except NoOwner:  # a killed process may have left it
        return False
    return True


def _connected(folder: int, window: Path, timeout_s: float) -> socket.socket:
    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        line.settimeout(timeout_s)
        line.connect(_address(folder, window))
    except BaseException:
        line.close()
        raise
    return line


def peer_of(line: socket.socket) -> Peer:
    """Who is at the other end. Where the kernel does not say, the folder's mode has: nobody but its
    user and root gets into it."""
    if not hasattr(socket, "SO_PEERCRED"):
        return Peer(0, os.geteuid())
    size = CREDENTIALS.size
    pid, uid, _ = CREDENTIALS.unpack(line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    return Peer(pid, uid)


def may_look(peer: Peer, road: Path) -> bool:
    """Whether a window answers this process: it is ours, root's, or the road's owner's."""
    return peer.uid in _believed(road)


def _believed(road: Path) -> tuple[int, int, int]:
    return os.geteuid(), ROOT, owner_of(road)


def _check_owner(folder: int, window: Path, road: Path) -> None:
    uid = os.fstat(folder).st_uid
    if uid not in _believed(road):
        raise _foreign(window, uid)


def _address(folder: int, window: Path) -> str:
    """The socket's address. By the folder that was checked, where /proc is: no link can take its
    place since, and the name is short."""
    if DESCRIPTORS.exists():
        return f"{DESCRIPTORS}/{folder}/{NAME}"
    address = str(window / NAME)
    if len(os.fsencode(address)) > ADDRESS_BYTES_MAX:
        raise OSError(0, f"its name has more than {ADDRESS_BYTES_MAX} bytes")
    return address


def _nobody(road: Path) -> NoOwner:
    missing = "" if road.exists() else " (there is no such file yet)"
    return NoOwner(
        f"no process answers for {road}{missing}: a SQLite road belongs to one process, its "
        "worker. Start that one (`postroad up`, `postroad worker`, or a program that runs it), or "
        f"open the file itself as sqlite:///{road}; one with Settings(window=False) cannot be asked"
    )


def _foreign(window: Path, uid: int) -> ForeignWindow:
    return ForeignWindow(
        f"{window} is of user {user_of(uid)}: ask as that user or as root, or over HTTP with a "
        "token (`postroad api`, --server)"
    )


def _mend(path: Path) -> str:
    return f"see who put it there (`ls -ld {path}`), and remove it"
