"""Credentials as a program uses them: put, list, check, delete. Secrets go in and never out."""

from collections.abc import Callable
from datetime import datetime
from typing import Final

from msgspec import Struct

from postroad.model.credential import KINDS, Credential, CredentialSpec
from postroad.model.entities import DEFAULT_TENANT, Policy, QueueSpec
from postroad.model.errors import BadInput, BadTime
from postroad.model.keyring import UNSEALED, KeyRing
from postroad.model.pace import read_limit
from postroad.ports.campaigns import Credentials
from postroad.ports.channel import BadCredential, Channel
from postroad.ports.clock import Clock
from postroad.ports.store import Store
from postroad.verbs.bounding import bounded

NAME_CHARACTERS_MAX: Final = 100
SECRET_CHARACTERS_MIN: Final = 16
"""Whoever guesses it can sign callbacks. Twilio's have 32."""

Make = Callable[[Credential, str], Channel]
"""A channel for a credential and its secret."""


class CredentialView(Struct, frozen=True):
    """What is shown of a credential: never its secret."""

    name: str
    kind: str
    provider: str
    account: str
    sender: str
    rate: str
    segments_max: int
    price: float
    callback: str
    expires_at_ms: int
    blocked_until_ms: int
    block_reason: str
    created_at_ms: int


@bounded
class CredentialAdmin:
    """Store, check and delete the credentials that campaigns send with."""

    def __init__(
        self, store: Credentials, road: Store, ring: KeyRing, make: Make, clock: Clock
    ) -> None:
        self._store = store
        self._road = road
        self._ring = ring
        self._make = make
        self._clock = clock

    async def put(
        self,
        name: str,
        spec: CredentialSpec,
        secret: str,
        *,
        kind: str = "twilio",
        check: bool = True,
        tenant: str = DEFAULT_TENANT,
    ) -> CredentialView:
        """Check a credential and store it encrypted; it replaces one of the same name."""
        self._look(name, kind, spec)
        if kind == "twilio" and len(secret) < SECRET_CHARACTERS_MIN:
            raise BadInput(
                f"the secret has {len(secret)} characters: give all of it, which are at least "
                f"{SECRET_CHARACTERS_MIN}"
            )
        limit = read_limit(spec.rate, spec.segments_max) if spec.rate else None
        draft = Credential(0, tenant, name, kind, spec, self._ring.first, b"")
        sealed = self._ring.seal(secret.encode(), draft.place)
        credential = Credential(0, tenant, name, kind, spec, self._ring.first, sealed)
        if check:
            _ = await self._check(credential, secret)  # the account's name; a refusal is raised
        else:
            await self._make(credential, secret).close()  # whether its form is right
        await self._store.put_credential(credential)
        lane = credential.lane
        queues = await self._road.open_queues(
            [QueueSpec(tenant, f"{lane.transport}:{name}", lane, 1, Policy())]
        )
        _ = await self._road.limit_lane(queues[0].lanes[0], limit)  # the lane was opened above
        return await self.show(name, tenant=tenant)

    async def show(self, name: str, *, tenant: str = DEFAULT_TENANT) -> CredentialView:
        """A credential without its secret."""
        return _view(await self.get(name, tenant))

    async def list(self, *, tenant: str = DEFAULT_TENANT) -> list[CredentialView]:
        """All credentials of a tenant by name, without their secrets."""
        return [_view(one) for one in await self._store.credentials(tenant)]

    async def check(self, name: str, *, tenant: str = DEFAULT_TENANT) -> str:
        """Ask the provider whether a credential works: the account's name, or BadCredential."""
        credential = await self.get(name, tenant)
        return await self._check(credential, self.secret(credential))

    async def delete(self, name: str, *, tenant: str = DEFAULT_TENANT) -> None:
        """Delete a credential that no campaign uses."""
        _ = await self.get(name, tenant)  # whether there is one
        if not await self._store.delete_credential(tenant, name):
            raise BadInput(f"credential {name!r} belongs to a campaign: it stays with it")

    async def rotate_keys(self, *, plain_only: bool = False, batch: int = 100) -> int:
        """Encrypt all secrets with the first key, or only those that are not encrypted; returns how
        many changed. It can be stopped and run again."""
        done = after = 0
        while found := await self._store.not_under(self._ring.first, after, batch):
            after = found[-1].id
            for one in found:
                if plain_only and one.key != UNSEALED:
                    self._ring.check(one.key)
                    continue
                secret = self._ring.open(one.key, one.sealed, one.place, plain=True)
                sealed = self._ring.seal(secret, one.place)
                done += await self._store.reseal(one, self._ring.first, sealed)
        return done

    async def get(self, name: str, tenant: str) -> Credential:
        """A credential as it is stored; BadCredential if there is none."""
        credential = await self._store.credential(tenant, name)
        if credential is None:
            raise BadCredential(f"no credential {name!r}: see `postroad credential list`")
        return credential

    async def open(self, credential: Credential) -> Channel:
        """Open a channel with a credential; BadCredential if it has expired."""
        expires_ms = credential.spec.expires_at_ms
        if expires_ms and expires_ms <= self._clock.now_ms():
            raise BadCredential(f"credential {credential.name!r} has expired: put a new one")
        return self._make(credential, self.secret(credential))

    def secret(self, credential: Credential) -> str:
        """Decrypt the secret of a credential."""
        return self._ring.open(credential.key, credential.sealed, credential.place).decode()

    async def _check(self, credential: Credential, secret: str) -> str:
        channel = self._make(credential, secret)
        try:
            return await channel.check()
        finally:
            await channel.close()

    def _look(self, name: str, kind: str, spec: CredentialSpec) -> None:
        if not name or len(name) > NAME_CHARACTERS_MAX or not name.isprintable():
            raise BadInput(f"name {name!r}: give 1 to {NAME_CHARACTERS_MAX} letters")
        if kind not in KINDS:
            raise BadInput(f"kind {kind!r}: there are {', '.join(KINDS)}")
        if kind == "twilio" and not (spec.server and spec.account and spec.sender):
            raise BadInput("an SMS credential needs server, account and sender")
        if not 1 <= spec.segments_max <= 10:
            raise BadInput(f"segments_max={spec.segments_max}: an SMS has 1 to 10 segments")
        if spec.expires_at_ms and spec.expires_at_ms <= self._clock.now_ms():
            raise BadCredential(f"credential {name!r} has expired already")


def _view(one: Credential) -> CredentialView:
    spec = one.spec
    return CredentialView(
        one.name,
        one.kind,
        spec.server,
        spec.account,
        spec.sender,
        spec.rate,
        spec.segments_max,
        spec.price,
        spec.callback,
        spec.expires_at_ms,
        one.blocked_until_ms,
        one.block_reason,
        one.created_at_ms,
    )


def moment_ms(at: datetime) -> int:
    """A time with its zone, in milliseconds."""
    if at.tzinfo is None:
        raise BadTime(f"{at.isoformat()} has no time zone: write 2026-12-01T09:00+08:00")
    return int(at.timestamp() * 1000)
