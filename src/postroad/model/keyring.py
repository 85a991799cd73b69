"""Secrets at rest: AES-256-GCM with a ring of keys. Each value is bound to its row."""

from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence
from hmac import compare_digest, digest
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from postroad.model.errors import BadKey

VERSION: Final = b"\x01"
NONCE_BYTES: Final = 12
KEY_BYTES: Final = 32
UNSEALED: Final = ""
"""The key's name of a value that is stored as it is: a road without keys."""

Draw = Callable[[int], bytes]
"""Returns as many random bytes as it is asked for."""


class KeyRing:
    """Seals with the first key, opens with any. A ring without keys leaves values as they are."""

    def __init__(self, keys: Sequence[tuple[str, bytes]], draw: Draw) -> None:
        self._keys = {name: AESGCM(key) for name, key in keys}
        self._mac_keys = {name: _mac_key(key) for name, key in keys}
        self._draw = draw
        self.first = keys[0][0] if keys else UNSEALED

    def __bool__(self) -> bool:
        return bool(self._keys)

    def learn(self, keys: Sequence[tuple[str, bytes]]) -> None:
        """Seal with the first of these from now on; those that were known still open."""
        self._keys |= {name: AESGCM(key) for name, key in keys}
        self._mac_keys |= {name: _mac_key(key) for name, key in keys}
        self.first = keys[0][0] if keys else self.first

    def add(self, keys: Sequence[tuple[str, bytes]]) -> None:
        """Open with these too from now on; known keys of the same name stay."""
        self._keys = {name: AESGCM(key) for name, key in keys} | self._keys
        self._mac_keys = {name: _mac_key(key) for name, key in keys} | self._mac_keys

    def sign(self, data: bytes) -> bytes:
        """Sign with the first key what strangers bring back. Begin the data with what it is for."""
        return _mac(self._mac_keys[self.first], data)

    def is_signed(self, data: bytes, signature: bytes) -> bool:
        """Whether any key has signed this; a signature may be the first bytes of one."""
        return any(
            compare_digest(_mac(key, data)[: len(signature)], signature)
            for key in self._mac_keys.values()
        )

    def check(self, key: str) -> None:
        """Raise BadKey unless this key is known."""
        if key not in self._keys:
            raise BadKey(
                f"a secret is sealed with key {key!r}, which this road does not have: give it in "
                "POSTROAD_KEYS, or in the file that POSTROAD_KEYS_FILE names"
            )

    def seal(self, value: bytes, place: str) -> bytes:
        """Seal a value for the store. It opens only at that place."""
        if not self._keys:
            return value
        nonce = self._draw(NONCE_BYTES)
        sealed = self._keys[self.first].encrypt(nonce, value, _bound(self.first, place))
        return VERSION + nonce + sealed

    def open(self, key: str, sealed: bytes, place: str, *, plain: bool = False) -> bytes:
        """Open a value that was sealed with a key at a place. A value that is not sealed is refused
        where there are keys, since anybody who can write to the store could have put it there.
        `plain` accepts it, because it is about to be sealed."""
        if key == UNSEALED:
            if self._keys and not plain:
                raise BadKey(
                    "a secret is stored unsealed, though this road has keys: if it is from before "
                    "that, run `postroad keys rotate`; otherwise delete it, and set it again"
                )
            return sealed
        self.check(key)
        if sealed[:1] != VERSION:
            raise BadKey(
                "a sealed secret has an unknown form: it is damaged, or of a newer release"
            )
        nonce, rest = sealed[1 : 1 + NONCE_BYTES], sealed[1 + NONCE_BYTES :]
        try:
            return self._keys[key].decrypt(nonce, rest, _bound(key, place))
        except (InvalidTag, ValueError):
            raise BadKey(
                f"a secret does not open with key {key!r}: it was changed, or moved here"
            ) from None


def _mac_key(key: bytes) -> bytes:
    """A key of its own for signatures: one key is for one purpose."""
    return _mac(key, b"signatures of postroad")


def _mac(key: bytes, data: bytes) -> bytes:
    return digest(key, data, "sha256")


def _bound(key: str, place: str) -> bytes:
    return f"{key}\0{place}".encode()


def read_keys(text: str) -> list[tuple[str, bytes]]:
    """Keys from `name:base64` items, split by commas or lines; the first one seals."""
    keys: dict[str, bytes] = {}
    for item in text.replace(",", "\n").split():
        name, mark, encoded = item.partition(":")
        try:
            key = b64decode(encoded, validate=True)
        except ValueError:
            key = b""
        if not (mark and name.isidentifier() and len(key) == KEY_BYTES):
            raise BadKey("a key is not NAME:BASE64 of 32 bytes: see `postroad keys new`")
        if name in keys:
            raise BadKey(
                f"two keys are named {name}: make the new one again with a name of its own, as "
                "`postroad keys new` gives it; a key that is in use keeps its name"
            )
        keys[name] = key
    return list(keys.items())


def new_key(name: str, draw: Draw) -> str:
    """Make a key in the form that `read_keys` reads."""
    return written_key(name, draw(KEY_BYTES))


def written_key(name: str, key: bytes) -> str:
    """Write a key in the form that `read_keys` reads."""
    return f"{name}:{b64encode(key).decode()}"
