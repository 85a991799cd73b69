"""Keys that a road on SQLite makes for itself, in a file beside it that only its user reads."""

import os
from pathlib import Path
from typing import Final

from postroad.model.errors import BadKey
from postroad.model.keyring import new_key, read_keys, written_key
from postroad.ports.entropy import secret_bytes
from postroad.stores.naming import file_of, keys_begun, keys_beside

NAME: Final = "own"


class OwnKeys:
    """The file. While the first key is made it has another name: until what lay in the road
    unsealed is sealed, an unsealed value is no sign that somebody planted it."""

    def __init__(self, road: Path) -> None:
        self._road = road
        self.path = keys_beside(road)
        self._draft = keys_begun(road)

    def read(self) -> list[tuple[str, bytes]]:
        """The keys, the one that seals first; none when the road has not made any."""
        return self.known() if self.path.exists() else []

    def known(self) -> list[tuple[str, bytes]]:
        """The keys, and the one that a start began with which then died or was refused: something
        may be sealed with it."""
        keys = self._read(self.path) if self.path.exists() else []
        return keys + [key for key in self._begun() if key not in keys]

    @property
    def lost(self) -> str:
        """What to do about a file that is not there."""
        return (
            f"If it was this road's own key, put {self.path} back. If that is lost, so is what it "
            f"sealed: put a new key there (`postroad keys new > {self.path}`), then delete "
            "those secrets and set them anew"
        )

    def begin(self) -> list[tuple[str, bytes]]:
        """A first key, or the one that a start before had begun with."""
        if not self._begun():
            self._write(f"{_new(1)}\n")
        return self._begun()

    def _begun(self) -> list[tuple[str, bytes]]:
        return self._read(self._draft) if self._draft.exists() else []

    def settle(self) -> None:
        """All is sealed that was not: from now on there are keys."""
        self._draft.replace(self.path)
        _sync_folder(self.path.parent)

    def renew(self) -> list[tuple[str, bytes]]:
        """A new key before the others, which still open what they sealed."""
        known = self.read()
        old = "".join(f"{written_key(*key)}\n" for key in known)
        self._write(f"{_new(len(known) + 1)}\n{old}")
        self.settle()
        return self.read()

    def _write(self, text: str) -> None:
        try:
            _write(self._draft, text, self._road.stat())
        except OSError as error:
            raise BadKey(
                f"{self.path}, this road's own keys, cannot be written: {error.strerror}; check "
                "the space in its folder, and who owns it"
            ) from None

    def _read(self, path: Path) -> list[tuple[str, bytes]]:
        try:
            keys = read_keys(path.read_text("utf-8"))
        except (OSError, UnicodeDecodeError, BadKey) as error:
            raise BadKey(f"the keys in {path} cannot be read: {error}") from None
        if not keys:
            raise BadKey(f"{path} holds no key. {self.lost}")
        return keys


def own_keys(dsn: str) -> OwnKeys | None:
    """Those of a road on SQLite; others are told theirs."""
    file = file_of(dsn) if dsn.startswith("sqlite:") else None
    return OwnKeys(file) if file is not None else None


def _new(number: int) -> str:
    """Named by chance as well: another key must not take the place of one that is lost, or it
    would be said of what that one sealed that somebody changed it."""
    return new_key(f"{NAME}{number}_{secret_bytes(3).hex()}", secret_bytes)


def _write(path: Path, text: str, road: os.stat_result) -> None:
    """On the disk before anything is sealed with it: what a lost key sealed is lost. Whole or not
    at all: half a file would keep the road shut. For the user whose road it is, as SQLite does
    with its own files: an administrator's command would shut that one out."""
    part = path.with_name(f"{path.name}.part")
    part.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with os.fdopen(os.open(part, flags, 0o600), "w") as file:
        if os.geteuid() == 0:
            os.fchown(file.fileno(), road.st_uid, road.st_gid)
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
