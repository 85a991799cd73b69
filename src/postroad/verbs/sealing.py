"""The road's key ring, from the environment or a file, never from the database; and the secrets
that are encrypted with it."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from postroad.model.errors import BadKey
from postroad.model.ids import to_text
from postroad.model.keyring import UNSEALED, KeyRing, read_keys
from postroad.model.private_headers import resealed
from postroad.ports.campaigns import Credentials
from postroad.ports.entropy import secret_bytes
from postroad.ports.log import Log
from postroad.ports.private_headers import HeaderRow, HeaderStore, Kept
from postroad.ports.webhooks import HookStore
from postroad.transports.webhook.endpoints import place
from postroad.verbs.own_keys import OwnKeys

PAGE: Final = 1_000
SAMPLE: Final = 100
"""How many secrets of each kind a start tries to open: they take it 5 ms."""
KEPT: Final[tuple[Kept, ...]] = ("message", "dead", "kept_body", "batch_held")


class Seals(Protocol):
    """A part that stores secrets."""

    async def rotate_keys(self, *, plain_only: bool = False) -> int:
        """Encrypt all secrets with the first key, or only those that are not encrypted; returns how
        many changed. BadKey if the key of one is missing."""


class Rotated(Struct, frozen=True):
    """How many secrets were encrypted again, with which key."""

    key: str
    sealed: int


class HeaderSeals:
    """The secret headers of messages."""

    def __init__(self, store: HeaderStore, ring: KeyRing) -> None:
        self._store = store
        self._ring = ring

    async def rotate_keys(self, *, plain_only: bool = False) -> int:
        """Encrypt them with the first key; returns how many messages changed. Messages in a broker
        stay as they are. Headers that cannot be decrypted are skipped and named at the end."""
        shut: list[str] = []
        done = [await self._rotate(kept, shut, plain_only=plain_only) for kept in KEPT]
        if shut:
            raise BadKey(
                f"the headers of {len(shut)} messages do not open and stay as they are; all others "
                f"are sealed again. The first is {shut[0]}"
            )
        return sum(done)

    async def _rotate(self, kept: Kept, shut: list[str], *, plain_only: bool) -> int:
        after = done = 0
        while rows := await self._store.headers_page(kept, after, PAGE):
            after = rows[-1].id
            for row in rows:
                try:
                    fresh = self._fresh(row, plain_only=plain_only) if row.headers else None
                except BadKey as error:
                    shut.append(f"{to_text(row.id)}: {error}")
                    continue
                if fresh is not None:
                    changed = replace(row, headers=fresh)
                    done += await self._store.write_headers(kept, changed, row.headers)
        return done

    def _fresh(self, row: HeaderRow, *, plain_only: bool) -> bytes | None:
        to = (row.tenant, row.queue)
        return resealed(row.headers, to, row.id, self._ring, plain_only=plain_only)


class Sealing:
    """A road's stored secrets. `own`: the keys that a road on SQLite makes for itself."""

    def __init__(self, ring: KeyRing, keys_file: str, own: OwnKeys | None, log: Log) -> None:
        self._ring = ring
        self._given = bool(ring)
        """Whether keys were given: then none is made."""
        self._keys_file = keys_file
        self._own = own
        self._log = log
        self._seals: tuple[Seals, ...] = ()

    def join(self, seals: Sequence[Seals]) -> None:
        """Set the parts that store secrets, once, before the road is opened."""
        self._seals = tuple(seals)

    async def open(self) -> None:
        """Read the road's own keys. A road without any gets one, and its secrets are encrypted with
        it. A road whose keys are lost is refused: with another key it would give up what it cannot
        decrypt. Call it while the road's file is locked."""
        if self._own is None:
            return
        if self._given:
            self._ring.add(self._own.known())
            return
        keys = self._own.read()
        if keys:
            self._ring.learn(keys)
            return
        self._ring.learn(self._own.begin())
        try:
            for each in self._seals:
                _ = await each.rotate_keys(plain_only=True)  # how many does not matter
        except BadKey as error:
            raise BadKey(f"{error}. {self._own.lost}") from None
        self._own.settle()
        self._log.info("made a key for secrets at rest: keep it", file=str(self._own.path))

    async def rotate(self) -> Rotated:
        """Read the keys again, and encrypt all secrets with the first one, which is new if the keys
        are the road's own. It can be stopped and run again."""
        given = find_keys(self._keys_file)
        if given or self._own is None:
            self._ring.learn(given)
        else:
            self._ring.learn(self._own.renew())
        require_keys(self._ring)
        sealed = [await each.rotate_keys() for each in self._seals]
        return Rotated(self._ring.first, sum(sealed))


def key_ring(keys_file: str = "") -> KeyRing:
    """The key ring; without keys, secrets are stored in clear."""
    return KeyRing(find_keys(keys_file), secret_bytes)


def find_keys(keys_file: str) -> list[tuple[str, bytes]]:
    """Read keys from POSTROAD_KEYS, else from the file that POSTROAD_KEYS_FILE or settings name."""
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
    """Raise BadKey without keys: a server on a shared database stores no secrets in clear."""
    if not ring:
        raise BadKey(
            "a server needs a key for secrets at rest: make one with `postroad keys new`, and give "
            "it as POSTROAD_KEYS or in the file that POSTROAD_KEYS_FILE names"
        )


async def check_keys(hooks: HookStore, credentials: Credentials, ring: KeyRing) -> None:
    """Raise BadKey if the keys are not those that the stored secrets are sealed with: whoever
    delivers with others cannot sign or authorize anything. A single secret that was changed is no
    sign of that."""
    opens: dict[str, bool] = {}
    for under in {ring.first, UNSEALED}:  # those of old keys, and any
        samples = [
            (row.key, row.sealed, place(row.queue, row.tenant))
            for row in await hooks.hooks_not_under(under, 0, SAMPLE)
        ]
        found = await credentials.not_under(under, 0, SAMPLE)
        samples += [(one.key, one.sealed, one.place) for one in found]
        for key, value, at in samples:
            if key != UNSEALED and not opens.get(key):
                opens[key] = _opens(ring, key, value, at)
    if lost := sorted(key for key, opened in opens.items() if not opened):
        raise BadKey(
            f"stored secrets are sealed with the key {lost[0]}, and no key of this process opens "
            "them: give it back in POSTROAD_KEYS, in the file that POSTROAD_KEYS_FILE names, or in "
            "the .keys file beside a road on SQLite. If it is lost, stop the road and delete what "
            "it sealed: webhooks, endpoints or credentials; then set them again"
        )


def _opens(ring: KeyRing, key: str, sealed: bytes, at: str) -> bool:
    try:
        _ = ring.open(key, sealed, at)  # only whether it opens
    except BadKey:
        return False
    return True
