"""Keys that a road on SQLite makes for itself, in a file beside it that only its user can read."""

import os
from pathlib import Path
from typing import Final

from postroad.model.errors import BadKey
from postroad.model.keyring import new_key, read_keys, written_key
from postroad.ports.entropy import secret_bytes
from postroad.stores.naming import file_of, keys_begun, keys_beside
from postroad.stores.privacy import read_private, write_private

NAME: Final = "own"
BYTES_MAX: Final = 1 << 20


class OwnKeys:
    """The file of keys. It has another name until all old secrets are encrypted with the first key:
    before that, a secret in clear is no sign that somebody planted it."""

    def __init__(self, road: Path) -> None:
        self._road = road
        self.path = keys_beside(road)
        self._draft = keys_begun(road)

    def read(self) -> list[tuple[str, bytes]]:
        """The keys, the encrypting one first; none if the road has not made any."""
        return self.known() if os.path.lexists(self.path) else []

    def known(self) -> list[tuple[str, bytes]]:
        """The keys, and one that an interrupted start had made: some secret may be encrypted with
        it."""
        keys = self._read(self.path)
        return keys + [key for key in self._begun() if key not in keys]

    @property
    def lost(self) -> str:
        """What to do if the file is missing."""
        return (
            f"If it was this road's own key, put {self.path} back. If that is lost, so is what it "
            f"sealed: put a new key there (`postroad keys new > {self.path}`), then delete "
            "those secrets and set them again"
        )

    def begin(self) -> list[tuple[str, bytes]]:
        """Make a first key, or take the one that an interrupted start had made."""
        if not self._begun():
            self._write(f"{_new(1)}\n")
        return self._begun()

    def _begun(self) -> list[tuple[str, bytes]]:
        return self._read(self._draft)

    def settle(self) -> None:
        """Give the file its final name: all secrets are encrypted now."""
        self._draft.replace(self.path)
        _sync_folder(self.path.parent)

    def renew(self) -> list[tuple[str, bytes]]:
        """Add a new key before the others, which still decrypt what they encrypted."""
        known = self.read()
        old = "".join(f"{written_key(*key)}\n" for key in known)
        self._write(f"{_new(len(known) + 1)}\n{old}")
        self.settle()
        return self.read()

    def _write(self, text: str) -> None:
        try:
            write_private(self._draft, text.encode(), self._road)
            _sync_folder(self._draft.parent)
        except OSError as error:
            raise BadKey(
                f"{self.path}, this road's own keys, cannot be written: {error.strerror}; check "
                "the space in its folder, and who owns it"
            ) from None

    def _read(self, path: Path) -> list[tuple[str, bytes]]:
        """Read the keys of a file; none if there is no such file."""
        data = read_private(path, self._road, BYTES_MAX)
        if data is None:
            return []
        try:
            keys = read_keys(data.decode())
        except (UnicodeDecodeError, BadKey) as error:
            raise BadKey(f"the keys in {path} cannot be read: {error}") from None
        if not keys:
            raise BadKey(f"{path} holds no key. {self.lost}")
        return keys


def own_keys(dsn: str) -> OwnKeys | None:
    """The own keys of a road on SQLite; None for other stores, which are given keys."""
    file = file_of(dsn) if dsn.startswith("sqlite:") else None
    return OwnKeys(file) if file is not None else None


def _new(number: int) -> str:
    """A new key with a random name. If it had the name of a lost key, what that one encrypted would
    look as if somebody had changed it."""
    return new_key(f"{NAME}{number}_{secret_bytes(3).hex()}", secret_bytes)


def _sync_folder(folder: Path) -> None:
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
