"""Credentials as a program uses them: put, list, check, delete. Secrets go in and never out."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from postroad.campaigns.job_run import OpenedChannel
from postroad.model.credential import (
    SECRET,
    BadCredential,
    Credential,
    CredentialSpec,
    OpenCredential,
)
from postroad.model.entities import DEFAULT_TENANT
from postroad.model.errors import BadInput, BadTime
from postroad.model.keyring import UNSEALED, KeyRing
from postroad.model.near_names import nearest
from postroad.model.pace import read_limit
from postroad.model.recipients import queue_name, read_queue_name
from postroad.model.texts import FIELD_MAX, checked
from postroad.ports.campaigns import Credentials
from postroad.ports.channel import Channel, Checks, HasSites, HasWindow
from postroad.ports.clock import Clock
from postroad.ports.store import Store
from postroad.transports.channels import ChannelTransport
from postroad.transports.credential_cache import CredentialCache, check_expiry, opened
from postroad.verbs.bounding import bounded
from postroad.verbs.reopening import open_refused

NAME_CHARACTERS_MAX: Final = 100
SEGMENTS_MAX: Final = 10
Channels = Mapping[str, ChannelTransport]
"""The transports of channels, by name."""


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
    options: dict[str, str]
    secrets: tuple[str, ...]
    """The names of its secrets."""
    expires_at_ms: int
    blocked_until_ms: int
    block_reason: str
    created_at_ms: int


@bounded
class CredentialAdmin:
    """Store, check and delete the credentials that channels send with."""

    def __init__(
        self,
        store: Credentials,
        road: Store,
        ring: KeyRing,
        channels: Channels,
        cache: CredentialCache,
    ) -> None:
        self._store = store
        self._road = road
        self._ring = ring
        self._channels = channels
        self._cache = cache
        self._clock: Clock = road.clock

    async def put(
        self,
        name: str,
        spec: CredentialSpec,
        secret: str = "",
        *,
        secrets: Mapping[str, str] | None = None,
        kind: str = "sms",
        check: bool = True,
        tenant: str = DEFAULT_TENANT,
    ) -> CredentialView:
        """Check a credential and store it encrypted; it replaces one of the same name. `kind` is
        the channel that sends with it; `secrets` are those beside the main one."""
        self._look(name, spec)
        transport, named = self._transport(kind), dict(secrets or {})
        if secret:
            named[SECRET] = secret
        check_fields(transport.channel, spec, named)
        spec = replace(spec, secrets=tuple(sorted(named)))
        limit = read_limit(spec.rate, spec.segments_max) if spec.rate else None
        draft = Credential(0, tenant, name, kind, spec, self._ring.first, b"")
        sealed = self._ring.seal(msgspec.json.encode(named), draft.place)
        credential = replace(draft, sealed=sealed)
        if check:
            _ = await self._check(OpenCredential(credential, named))  # a refusal is raised
        await self._store.put_credential(credential)
        self._cache.forget()
        (queue,) = await self._road.open_queues([transport.spec(tenant, name)])
        _ = await self._road.limit_lane(queue.lanes[0], limit)  # the lane was opened above
        await open_refused(self._store, self._road, name, kind, tenant)
        return await self.show(name, tenant=tenant)

    async def show(self, name: str, *, tenant: str = DEFAULT_TENANT) -> CredentialView:
        """A credential without its secret."""
        return _view(await self.get(name, tenant))

    async def list(self, *, tenant: str = DEFAULT_TENANT) -> list[CredentialView]:
        """All credentials of a tenant by name, without their secrets."""
        return [_view(one) for one in await self._store.credentials(tenant)]

    async def check(self, name: str, *, tenant: str = DEFAULT_TENANT) -> str:
        """Ask the provider whether a credential works: the account's name, or BadCredential."""
        return await self._check(opened(await self.get(name, tenant), self._ring))

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

    def usable(self, credential: Credential) -> ChannelTransport:
        """The transport that sends with a credential; BadCredential if it has expired."""
        check_expiry(credential, self._clock.now_ms())
        return self._transport(credential.kind)

    def channel(self, credential: Credential) -> Channel:
        """The channel that a credential is for."""
        return self._transport(credential.kind).channel

    def with_secrets(self, credential: Credential) -> OpenCredential:
        """Decrypt the secrets of a credential."""
        return opened(credential, self._ring)

    async def session(self, credential: Credential) -> OpenedChannel:
        """Open a session with a credential, for the queue of its messages."""
        channel, site, by_site = self.usable(credential).channel, "", False
        if isinstance(channel, HasSites):
            site = channel.only_site(opened(credential, self._ring))
            by_site = not site
        name = queue_name(channel.name, credential.name, site)
        (found,) = await self.site_sessions(credential, [name])
        return replace(found, by_site=by_site)

    async def session_for(self, credential: Credential, recipient: str) -> OpenedChannel:
        """Open a session for one recipient: where there are many sites, for its own."""
        found = await self.session(credential)
        if not found.by_site:
            return found
        await found.session.close()
        (found,) = await self.site_sessions(credential, [await self.route(credential, recipient)])
        return found

    async def route(self, credential: Credential, recipient: str) -> str:
        """The name of the queue of messages to a recipient: that of its site."""
        transport = self.usable(credential)
        return (await transport.route(recipient, credential.tenant, credential.name))[0]

    async def site_sessions(
        self, credential: Credential, queues: Sequence[str]
    ) -> Sequence[OpenedChannel]:
        """Open sessions for queues of a credential, made where they are new."""
        transport = self.usable(credential)
        channel, sites = transport.channel, [read_queue_name(name)[2] for name in queues]
        sessions = 0
        if isinstance(channel, HasWindow):
            sessions = channel.sessions(opened(credential, self._ring))
        specs = [transport.spec(credential.tenant, credential.name, site) for site in sites]
        return [
            OpenedChannel(channel, queue, await transport.open(spec.lane), sessions)
            for spec, queue in zip(specs, await self._road.open_queues(specs), strict=True)
        ]

    def _transport(self, kind: str) -> ChannelTransport:
        found = self._channels.get(kind)
        if found is None:
            raise BadInput(f"kind {kind!r}: there are {', '.join(self._channels)}")
        return found

    async def _check(self, credential: OpenCredential) -> str:
        """Ask the provider; where nobody can be asked, all is well."""
        one = credential.credential
        transport = self._transport(one.kind)
        lane = transport.spec(one.tenant, one.name).lane
        session = await transport.channel.connect(lane, credential)
        try:
            return await session.check() if isinstance(session, Checks) else ""
        finally:
            await session.close()

    def _look(self, name: str, spec: CredentialSpec) -> None:
        if not name or len(name) > NAME_CHARACTERS_MAX or not name.isprintable():
            raise BadInput(f"name {name!r}: give 1 to {NAME_CHARACTERS_MAX} letters")
        if not 1 <= spec.segments_max <= SEGMENTS_MAX:
            raise BadInput(
                f"segments_max={spec.segments_max}: an SMS has 1 to {SEGMENTS_MAX} segments"
            )
        if spec.expires_at_ms and spec.expires_at_ms <= self._clock.now_ms():
            raise BadCredential(f"credential {name!r} has expired already")


def check_fields(channel: Channel, spec: CredentialSpec, secrets: Mapping[str, str]) -> None:
    """Raise BadInput unless a credential has what those of its kind need, and nothing else."""
    known = {field.name: field for field in channel.fields}
    for name, text in (*spec.options.items(), *secrets.items()):
        _ = checked(name, text, FIELD_MAX)  # whether stores take it
        field, is_secret = known.get(name), name in secrets
        if field is None or hasattr(spec, name):
            near = nearest(name, known)
            raise BadInput(f"a credential for {channel.name} has no field {name!r}{near}")
        if field.sealed != is_secret:
            word = "a secret: give it as one" if field.sealed else "no secret: give it as an option"
            raise BadInput(f"{name} is {word}")
    values = {**{name: getattr(spec, name, "") for name in known}, **spec.options, **secrets}
    if missing := [name for name, field in known.items() if field.needed and not values[name]]:
        raise BadInput(f"a credential for {channel.name} needs {', '.join(missing)}")
    for name, field in known.items():
        if values[name] and len(values[name]) < field.characters_min:
            raise BadInput(
                f"the {name} has {len(values[name])} characters: give all of it, which are at "
                f"least {field.characters_min}"
            )
    channel.check(spec, secrets)


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
        spec.options,
        spec.secrets,
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
