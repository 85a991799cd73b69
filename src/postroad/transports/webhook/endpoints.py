"""What is set for webhook queues, as the transport needs it. Read again every two seconds, for all
queues in one question; what this process itself changes counts at once."""

import asyncio
from collections.abc import Iterable
from typing import Final

import msgspec
from msgspec import Struct

from postroad.model.errors import BadKey
from postroad.model.keyring import KeyRing
from postroad.model.webhook import Hook, HookRow, HookSecrets, WebhookRules
from postroad.ports.clock import Clock
from postroad.ports.webhooks import HookStore
from postroad.transports.webhook.signing import Signer

FRESH_S: Final = 2.0
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


def place(queue: int, tenant: str) -> str:
    """Where a queue's secrets are sealed to."""
    return f"webhook.sealed/{tenant}/{queue}"


def open_row(row: HookRow, ring: KeyRing) -> tuple[Hook, HookSecrets]:
    """A row as it was set."""
    sealed = ring.open(row.key, row.sealed, place(row.queue, row.tenant))
    return HOOK.decode(row.hook), SECRETS.decode(sealed)


class Endpoints:
    """The settings of the queues that are in use."""

    def __init__(self, store: HookStore, ring: KeyRing, rules: WebhookRules, clock: Clock) -> None:
        self._store = store
        self._ring = ring
        self._rules = rules
        self._clock = clock
        self._known: dict[int, Endpoint | BadKey] = {}
        self._used: set[int] = set()
        self._until_s = 0.0
        self._asking = asyncio.Lock()
        self.plain = self._endpoint(Hook(), HookSecrets())

    def get(self, queue: int, ahead_s: float = 0.0) -> Endpoint | None:
        """A queue's settings, when they are known and fresh: the usual case."""
        if self._clock.steady_s() + ahead_s >= self._until_s:
            return None
        self._used.add(queue)
        known = self._known.get(queue)
        return known if isinstance(known, Endpoint) else None

    async def ask(self, queue: int, ahead_s: float = 0.0) -> Endpoint:
        """A queue's settings, read if need be; a BadKey when they cannot be opened."""
        async with self._asking:
            if self._clock.steady_s() + ahead_s >= self._until_s:
                asked, self._used = {*self._used, queue}, set()
                self._known = await self._read(asked)
                self._until_s = self._clock.steady_s() + FRESH_S
            elif queue not in self._known:
                self._known |= await self._read({queue})
        known = self._known[queue]
        if isinstance(known, BadKey):
            raise known
        return known

    def forget(self) -> None:
        """Something was set here."""
        self._until_s = 0.0

    async def _read(self, queues: Iterable[int]) -> "dict[int, Endpoint | BadKey]":
        asked = sorted(queues)
        read: dict[int, Endpoint | BadKey] = dict.fromkeys(asked, self.plain)
        for row in await self._store.read_hooks(asked):
            try:
                read[row.queue] = self._endpoint(*open_row(row, self._ring))
            except BadKey as error:
                read[row.queue] = error
        return read

    def _endpoint(self, hook: Hook, secret: HookSecrets) -> Endpoint:
        shown = dict.fromkeys(secret.headers.keys() - SHOWN, "…")
        total_ms = hook.timeout_ms or self._rules.timeout_ms
        connect_ms = min(hook.connect_timeout_ms or self._rules.connect_timeout_ms, total_ms)
        return Endpoint(hook, secret.headers, shown, Signer(secret.secrets), connect_ms, total_ms)
