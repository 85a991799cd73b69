"""The credentials in use, opened. They are at most two seconds old, so that a changed one counts
soon in every process."""

from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import Struct

from postroad.model.credential import BadCredential, Credential, OpenCredential
from postroad.model.keyring import KeyRing
from postroad.ports.campaigns import Credentials
from postroad.ports.clock import Clock

FRESH_S: Final = 2.0
KNOWN_MAX: Final = 10_000
SECRETS: Final = msgspec.json.Decoder(dict[str, str])


class _Known(Struct, frozen=True):
    opened: OpenCredential
    read_s: float


def opened(credential: Credential, ring: KeyRing) -> OpenCredential:
    """Open the secrets of a credential."""
    secrets = ring.open(credential.key, credential.sealed, credential.place)
    return OpenCredential(credential, SECRETS.decode(secrets))


class CredentialCache:
    """Reads credentials, and keeps them for a moment."""

    def __init__(
        self,
        store: Credentials,
        ring: KeyRing,
        clock: Clock,
        defaults: Mapping[str, OpenCredential] | None = None,
    ) -> None:
        self._defaults = defaults or {}
        """Those of settings, by name."""
        self._store = store
        self._ring = ring
        self._clock = clock
        self._known: dict[tuple[str, str], _Known] = {}

    def get(self, tenant: str, name: str, ahead_s: float = 0.0) -> OpenCredential | None:
        """Return a credential if it is known and fresh, as it mostly is."""
        known = self._known.get((tenant, name))
        if known is None or self._clock.steady_s() + ahead_s >= known.read_s + FRESH_S:
            return None
        return known.opened

    async def ask(self, tenant: str, name: str) -> OpenCredential:
        """Read a credential; BadCredential when there is none, or it has expired."""
        read_s = self._clock.steady_s()
        found = await self._store.credential(tenant, name)
        if found is None and name in self._defaults:
            self._known[(tenant, name)] = _Known(self._defaults[name], read_s)
            return self._defaults[name]
        if found is None:
            self._known.pop((tenant, name), None)
            raise BadCredential(f"no credential {name!r}: see `postroad credential list`")
        check_expiry(found, self._clock.now_ms())
        known = self._known.get((tenant, name))
        # Most have not changed, and who has the old one keeps it: opening one takes 25 µs.
        same = known is not None and _same(known.opened.credential, found)
        one = known.opened if known is not None and same else opened(found, self._ring)
        if len(self._known) >= KNOWN_MAX:
            self._known.clear()
        self._known[(tenant, name)] = _Known(one, read_s)
        return one

    def forget(self) -> None:
        """Read all again, because something was changed here."""
        self._known.clear()


def check_expiry(credential: Credential, now_ms: int) -> None:
    """Raise BadCredential if a credential has expired."""
    expires_ms = credential.spec.expires_at_ms
    if expires_ms and expires_ms <= now_ms:
        raise BadCredential(f"credential {credential.name!r} has expired: put a new one")


def _same(one: Credential, other: Credential) -> bool:
    """Whether they send alike; a block does not matter."""
    parts = ("id", "kind", "spec", "key", "sealed")
    return all(getattr(one, part) == getattr(other, part) for part in parts)
