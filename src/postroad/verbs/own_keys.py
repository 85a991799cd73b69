"""Keys that a road on SQLite makes for itself, in a file beside it that only its user reads."""

import os
from pathlib import Path
from typing import Final

from postroad.model.errors import BadKey
from postroad.model.keyring import new_key, read_keys
from postroad.ports.entropy import secret_bytes
from postroad.stores.naming import file_of, keys_beside
from postroad.stores.privacy import read_private, write_private

NAME: Final = "own"
BYTES_MAX: Final = 1 << 20


class OwnKeys:
    """The file. While the first key is made it has another name: until what lay in the road
    unsealed is sealed, an unsealed value is no sign that somebody planted it."""

    def __init__(self, road: Path) -> None:
        self._road = road
        self.path = keys_beside(road)
        self._draft = self.path.with_name(f"{self.path.name}.new")

    def read(self) -> list[tuple[str, bytes]]:
        """The keys, the one that seals first; none when the road has not made any."""
        return self._read(self.path) or []

    def begin(self) -> list[tuple[str, bytes]]:
        """A first key, or the one that a start before had begun with."""
        if not read_private(self._draft, self._road, BYTES_MAX):
            self._write(f"{new_key(f'{NAME}1', secret_bytes)}\n")
        return self._read(self._draft) or []

    def settle(self) -> None:
        """All is sealed that was not: from now on there are keys."""
        self._draft.replace(self.path)
        _sync_folder(self.path.parent)

    def renew(self) -> list[tuple[str, bytes]]:
        """A new key before the others, which still open what they sealed."""
        known = {name for name, _ in self.read()}
        number = len(known) + 1
        while f"{NAME}{number}" in known:
            number += 1
        old = (read_private(self.path, self._road, BYTES_MAX) or b"").decode()
        self._write(f"{new_key(f'{NAME}{number}', secret_bytes)}\n{old}")
        self.settle()
        return self.read()

    def _write(self, text: str) -> None:
        """On the disk before anything is sealed with it: what a lost key sealed is lost."""
        write_private(self._draft, text.encode(), sync=True)
        _sync_folder(self._draft.parent)

    def _read(self, path: Path) -> list[tuple[str, bytes]] | None:
        try:
            data = read_private(path, self._road, BYTES_MAX)
            keys = read_keys(data.decode()) if data is not None else None
        except (OSError, UnicodeDecodeError) as error:
            raise BadKey(f"the keys in {path} cannot be read: {error}") from None
        if keys == []:
            raise BadKey(
                f"{path} holds no key: put back the one that sealed this road's secrets; without "
                "it they are lost: then delete the file, and set them anew"
            )
        return keys


def own_keys(dsn: str) -> OwnKeys | None:
    """Those of a road on SQLite; others are told theirs."""
    file = file_of(dsn) if dsn.startswith("sqlite:") else None
    return OwnKeys(file) if file is not None else None


def _sync_folder(folder: Path) -> None:
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
