"""The road's key ring: from the environment or a file, never from the database."""

import os
from pathlib import Path

from postroad.model.errors import BadKey
from postroad.model.keyring import KeyRing, read_keys
from postroad.ports.entropy import secret_bytes


def key_ring(keys_file: str = "") -> KeyRing:
    """Keys from POSTROAD_KEYS, else from the file that POSTROAD_KEYS_FILE or the settings name;
    without any, secrets are stored as they are."""
    text = os.environ.get("POSTROAD_KEYS", "")
    path = os.environ.get("POSTROAD_KEYS_FILE") or keys_file
    if not text and path:
        try:
            text = Path(path).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise BadKey(f"the keys in {path} cannot be read: {error}") from None
        if not text.strip():
            raise BadKey(f"{path} holds no key: see `postroad keys new`")
    return KeyRing(read_keys(text), secret_bytes)


def require_keys(ring: KeyRing) -> None:
    """For a server that others reach: it keeps no secrets in the clear."""
    if not ring:
        raise BadKey(
            "a server needs a key for secrets at rest: make one with `postroad keys new`, and give "
            "it as POSTROAD_KEYS or in the file that POSTROAD_KEYS_FILE names"
        )
