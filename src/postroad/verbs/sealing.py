"""The road's key ring: from the environment or a file, never from the database."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from postroad.model.errors import BadKey
from postroad.model.keyring import KeyRing, read_keys
from postroad.ports.entropy import secret_bytes


class Seals(Protocol):
    """Keeps secrets."""

    async def rotate_keys(self) -> int:
        """Seal all of them with the first key; answers how many were not."""


class Rotated(Struct, frozen=True):
    """How many secrets were sealed anew, with which key."""

    key: str
    sealed: int


class Sealing:
    """A road's secrets at rest."""

    def __init__(self, ring: KeyRing, keys_file: str, seals: Sequence[Seals]) -> None:
        self._ring = ring
        self._keys_file = keys_file
        self._seals = seals

    async def rotate(self) -> Rotated:
        """Read the keys again, and seal all secrets with the first one. Can be stopped, and run
        again."""
        self._ring.learn(find_keys(self._keys_file))
        require_keys(self._ring)
        sealed = [await each.rotate_keys() for each in self._seals]
        return Rotated(self._ring.first, sum(sealed))


def key_ring(keys_file: str = "") -> KeyRing:
    """The keys; without any, secrets are stored as they are."""
    return KeyRing(find_keys(keys_file), secret_bytes)


def find_keys(keys_file: str) -> list[tuple[str, bytes]]:
    """Keys from POSTROAD_KEYS, else from the file that POSTROAD_KEYS_FILE or the settings name."""
    text = os.environ.get("POSTROAD_KEYS", "")
    path = os.environ.get("POSTROAD_KEYS_FILE") or keys_file
    if not text and path:
        try:
            text = Path(path).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise BadKey(f"the keys in {path} cannot be read: {error}") from None
        if not text.strip():
            raise BadKey(f"{path} holds no key: see `postroad keys new`")
    return read_keys(text)


def require_keys(ring: KeyRing) -> None:
    """For a server that others reach: it keeps no secrets in the clear."""
    if not ring:
        raise BadKey(
            "a server needs a key for secrets at rest: make one with `postroad keys new`, and give "
            "it as POSTROAD_KEYS or in the file that POSTROAD_KEYS_FILE names"
        )
