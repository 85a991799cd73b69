"""The settings of webhook queues. They are at most two seconds old. Those in use are read again
before that, in one query, so that no try waits for it. A change made in this process counts at
once."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from postroad.model.access import AUTHORIZATION, Auth, ClientTls, OAuthClient, authorization
from postroad.model.errors import BadKey, PostroadError
from postroad.model.keyring import KeyRing
from postroad.model.private_headers import HIDDEN
from postroad.model.states import NEVER
from postroad.model.webhook import Hook, HookRow, HookSecrets, WebhookRules
from postroad.ports.clock import Clock
from postroad.ports.webhooks import HookStore
from postroad.transports.webhook.event_bodies import EventBodies
from postroad.transports.webhook.signing import Signer

FRESH_S: Final = 2.0
AGAIN_S: Final = 1.25
"""At this age they are read again."""
SHOWN: Final = frozenset({"user-agent", "content-type", "accept"})
"""Set headers whose values are no secrets."""
HOOK: Final = msgspec.json.Decoder(Hook)
SECRETS: Final = msgspec.json.Decoder(HookSecrets)


class Endpoint(Struct, frozen=True):
    """One queue's settings, ready for use."""

    hook: Hook
    headers: dict[str, str]
    shown: dict[str, str]
    """What the log shows in place of headers that may be secrets."""
    signer: Signer
    connect_ms: int
    total_ms: int
    row: HookRow | None = None
    """What it was made from."""
    oauth: OAuthClient | None = None
    """Whose tokens go with its requests."""
    tls: ClientTls | None = None
    """What its connections are made with."""
    certificate_ends_ms: int = NEVER
    until_ms: int = NEVER
    """When the first of its secrets ends."""


def place(queue: int, tenant: str) -> str:
    """Name the row that a queue's secrets are sealed for."""
    return f"webhook.sealed/{tenant}/{queue}"


def open_row(row: HookRow, ring: KeyRing, *, plain: bool = False) -> tuple[Hook, HookSecrets]:
    """Decode a stored row. `plain` also accepts one that is not sealed although there are keys."""
    sealed = ring.open(row.key, row.sealed, place(row.queue, row.tenant), plain=plain)
    return HOOK.decode(row.hook), SECRETS.decode(sealed)


def with_access(endpoint: Endpoint, auth: Auth | None, tls: ClientTls | None) -> Endpoint:
    """Add what an endpoint's requests and connections are authorized with."""
    if isinstance(auth, OAuthClient):
        endpoint = replace(endpoint, oauth=auth)
    elif auth is not None:
        endpoint = authorized(endpoint, authorization(auth))
    if tls is not None:
        from postroad.transports.webhook.client_tls import ends_at_ms  # loads much

        ends_ms = ends_at_ms(tls) if tls.certificate else NEVER
        endpoint = replace(endpoint, tls=tls, certificate_ends_ms=ends_ms)
    return endpoint


def authorized(endpoint: Endpoint, value: str) -> Endpoint:
    """Add the header that authorizes requests; the log does not show it."""
    headers = {**endpoint.headers, AUTHORIZATION: value}
    return replace(endpoint, headers=headers, shown={**endpoint.shown, AUTHORIZATION: HIDDEN})


class Endpoints:
    """Caches the settings of the queues in use."""

    def __init__(self, store: HookStore, ring: KeyRing, rules: WebhookRules, clock: Clock) -> None:
        self._store = store
        self.bodies = EventBodies(store)
        self._ring = ring
        self._rules = rules
        self._clock = clock
        self._known: dict[int, Endpoint | BadKey] = {}
        self._used: set[int] = set()
        self._until_s = self._again_s = 0.0
        self._changes = 0
        self._asking = asyncio.Lock()
        self._reading: asyncio.Task[None] | None = None
        self.plain = self._endpoint(Hook(), HookSecrets())

    def get(self, queue: int, ahead_s: float = 0.0) -> Endpoint | None:
        """Return a queue's settings if they are cached and fresh, as they mostly are."""
        now_s = self._clock.steady_s()
        if now_s + ahead_s >= self._until_s:
            return None
        self._used.add(queue)
        if now_s >= self._again_s:
            self._again_s = self._until_s  # once; if it fails, callers get the error
            self._reading = asyncio.create_task(self._read_ahead())
        known = self._known.get(queue)
        return known if isinstance(known, Endpoint) else None

    async def ask(self, queue: int, ahead_s: float = 0.0) -> Endpoint:
        """Return a queue's settings, read if necessary; raises BadKey when they cannot be
        opened."""
        async with self._asking:
            if self._clock.steady_s() + ahead_s >= self._until_s:
                self._used.add(queue)
                await self._read_used()
            elif queue not in self._known:
                self._known |= await self._read([queue])
        known = self._known[queue]
        if isinstance(known, BadKey):
            raise known
        return known

    def forget(self) -> None:
        """Drop the cache, because something was set here."""
        self._until_s = 0.0
        self._changes += 1

    async def _read_ahead(self) -> None:
        with suppress(PostroadError):
            async with self._asking:
                await self._read_used()

    async def _read_used(self) -> None:
        """Read all that were used since the last time, and again if something is set meanwhile."""
        used, self._used = sorted(self._used), set()
        changes, read_s = -1, 0.0
        while changes != self._changes:
            changes, read_s = self._changes, self._clock.steady_s()
            self._known = await self._read(used)
        self._until_s, self._again_s = read_s + FRESH_S, read_s + AGAIN_S

    async def _read(self, queues: Sequence[int]) -> "dict[int, Endpoint | BadKey]":
        read: dict[int, Endpoint | BadKey] = dict.fromkeys(queues, self.plain)
        now_ms = self._clock.now_ms()
        for row in await self._store.read_hooks(queues):
            known = self._known.get(row.queue)
            # Most have not changed: opening one takes 25 µs of the loop.
            same = isinstance(known, Endpoint) and known.row == row and now_ms < known.until_ms
            read[row.queue] = known if known and same else self._opened(row)
        return read

    def _opened(self, row: HookRow) -> "Endpoint | BadKey":
        try:
            return replace(self._endpoint(*open_row(row, self._ring)), row=row)
        except BadKey as error:
            return error

    def _endpoint(self, hook: Hook, secret: HookSecrets) -> Endpoint:
        shown = dict.fromkeys(secret.headers.keys() - SHOWN, "…")
        total_ms = hook.timeout_ms or self._rules.timeout_ms
        connect_ms = min(hook.connect_timeout_ms or self._rules.connect_timeout_ms, total_ms)
        # In simulated time there is no clock before the loop runs.
        now_ms = self._clock.now_ms() if secret.ending else 0
        signer = Signer(secret.live(now_ms))
        made = Endpoint(hook, secret.headers, shown, signer, connect_ms, total_ms)
        if secret.auth is not None or secret.tls is not None:
            made = with_access(made, secret.auth, secret.tls)
        until_ms = min((end for _, end in secret.ending if end > now_ms), default=NEVER)
        return replace(made, until_ms=until_ms) if secret.ending else made
