"""Webhooks: how they are called, and the log of their tries."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Unpack

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from postroad.model.cursors import cursor, place_in
from postroad.model.durations import Duration, seconds_of
from postroad.model.entities import DEFAULT_TENANT, LaneKey, Policy, Queue, QueueSpec
from postroad.model.errors import BadInput, BadKey, BadUrl, UnknownQueue
from postroad.model.ids import to_number
from postroad.model.kept_bodies import kept_ms
from postroad.model.keyring import UNSEALED, KeyRing
from postroad.model.ladder import Ladder, check_ladder
from postroad.model.redaction import Redaction
from postroad.model.reserved_headers import check_reserved, check_zone_header
from postroad.model.webhook import (
    Attempt,
    HeaderNames,
    Hook,
    HookEntry,
    HookRow,
    HookSecrets,
    WebhookRules,
)
from postroad.ports.entropy import secret_bytes
from postroad.ports.store import Store
from postroad.transports.webhook.endpoints import HOOK, Endpoints, open_row, place
from postroad.transports.webhook.requests import check_header, check_headers
from postroad.transports.webhook.resolving import Resolve
from postroad.transports.webhook.signing import Signer
from postroad.transports.webhook.transforms import Transforms
from postroad.transports.webhook.transport import GRACE_MS, WebhookTransport
from postroad.verbs.bounding import bounded
from postroad.verbs.hook_access import (
    AccessFacts,
    AccessOptions,
    access_facts,
    access_options,
    changed_access,
    changed_shape,
    check_access,
    check_tls_is_used,
    lane_secret,
    lift,
)
from postroad.verbs.paging import check_page

ROTATE_BATCH: Final = 100
TIMEOUT_S_MAX: Final = 600.0
STATUSES: Final = range(300, 600)
PROCESS_KEY: Final = secret_bytes(32)
LANE_HASHES: Final[dict[bytes, str]] = {}
LANE_HASHES_MAX: Final = 256

OpenQueue = Callable[[str, str, Policy, str], Awaitable[Queue]]
"""Makes or changes a queue: tenant, URL, policy, and the credential of its lane."""


class HookOptions(AccessOptions, total=False):
    """Options of a webhook queue; what is not given keeps its value."""

    secrets: Sequence[str]
    """Live signing keys, `whsec_…` or `whsk_…`: each of them signs every request."""
    headers: dict[str, str]
    """Sent with every request; stored encrypted."""
    reject: Sequence[int]
    """Statuses after which a message is dead at once."""
    connect_timeout: Duration
    timeout: Duration
    """How long a try may take, from its start to the end of its answer, in seconds or as a
    timedelta."""
    names: HeaderNames
    ladder: Ladder
    """When a failed try is repeated; else the default ladder."""
    keep_bodies: Duration
    """How long the bodies of delivered messages are kept, so that they can be sent again; 0 is as
    the road says."""


class HookFacts(AccessFacts, frozen=True):
    """What is set for a webhook queue, without its secrets."""

    url: str
    secrets: int
    headers: tuple[str, ...]
    reject: tuple[int, ...]
    connect_timeout_ms: int
    timeout_ms: int
    names: HeaderNames
    ladder: Ladder
    """When a failed try is repeated."""
    keep_bodies_ms: int = 0
    """How long the bodies of delivered messages are kept; 0 is as the road says."""
    fault: str = ""
    """Why its secrets cannot be opened; then they are not counted."""


class HookPage(Struct, frozen=True):
    """A page of webhooks by URL. `after` is for the next page; "" is the end."""

    webhooks: tuple[HookFacts, ...]
    after: str = ""


def webhook_transport(
    store: Store,
    ring: KeyRing,
    rules: WebhookRules,
    made: Transforms,
    resolve: Resolve | None,
    redaction: Redaction,
) -> WebhookTransport:
    """The webhook transport of a road."""
    clock = store.clock
    endpoints = Endpoints(store, ring, rules, clock)
    return WebhookTransport(
        rules, endpoints, clock, resolve=resolve, transforms=made, redaction=redaction
    )


@bounded
class WebhookAdmin:
    """Set how webhooks are called, and read the log of their tries."""

    def __init__(
        self, store: Store, transport: WebhookTransport, ring: KeyRing, open_queue: OpenQueue
    ) -> None:
        self._store = store
        self._transport = transport
        self._ring = ring
        self._open_queue = open_queue

    async def set(
        self, url: str, *, tenant: str = DEFAULT_TENANT, **options: Unpack[HookOptions]
    ) -> None:
        """Set how a webhook is called, and make its queue if it is new. It takes effect at once in
        this process and within two seconds in others."""
        if not url.startswith(("https://", "http://")):
            raise BadUrl(f"{url!r} is not a webhook: give its URL, as in https://example.com/hook")
        queue = await self._store.find_queue(tenant, url)
        hook, secret = await self._known(queue)
        given = access_options(options)
        await check_access(self._transport, tenant, given, self._store.clock.now_ms())
        hook, secret = changed(hook, secret, options)
        check_tls_is_used(url, secret)
        total_ms = hook.timeout_ms or self._transport.rules.timeout_ms
        policy = queue.policy if queue else self._transport.policy(url)
        ladder = check_ladder(options.get("ladder", policy.ladder))
        policy = replace(policy, ladder=ladder, timeout_ms=total_ms + GRACE_MS)
        if "keep_bodies" in options:
            policy = replace(policy, keep_bodies_ms=kept_ms(options["keep_bodies"]))
        if queue is None or policy != queue.policy:
            # A queue keeps the lane that it was made on (decision 037).
            credential = await credential_of(url, "" if queue else lane_secret(secret))
            queue = await self._open_queue(tenant, url, policy, credential)
        # Without `was` it is always written.
        _ = await self._store.write_hook(sealed(queue.id, tenant, hook, secret, self._ring))
        self._transport.endpoints.forget()
        await lift(self._store, queue, given)

    async def get(self, url: str, *, tenant: str = DEFAULT_TENANT) -> HookFacts:
        """What is set for a webhook; of secrets only how many there are."""
        queue = await self._store.find_queue(tenant, url)
        if queue is None:
            raise UnknownQueue(f"this road has no webhook {url!r} of tenant {tenant!r}")
        return self._facts(url, queue.policy, *await self._known(queue))

    async def attempts(self, id: str, *, tenant: str = DEFAULT_TENANT) -> list[Attempt]:  # noqa: A002
        """Every try of a message: what was sent, where to, and what came back."""
        return await self._store.attempts(tenant, to_number(id))

    async def list(
        self, *, limit: int = 100, after: str = "", tenant: str = DEFAULT_TENANT
    ) -> HookPage:
        """A page of the webhooks that something is set for, without their secrets."""
        check_page(limit)
        query = ("webhooks", tenant)
        found = await self._store.hook_page(tenant, place_in(after, query), limit + 1)
        shown = tuple(self._shown(entry) for entry in found[:limit])
        return HookPage(shown, cursor(shown[-1].url, query) if len(found) > limit else "")

    async def delete(self, url: str, *, tenant: str = DEFAULT_TENANT) -> None:
        """Delete what is set for a webhook, its secrets too. Its queue stays, and what waits there
        is sent without them: pause the queue or cancel its messages before."""
        queue = await self._store.find_queue(tenant, url)
        if queue is None or not await self._store.read_hooks([queue.id]):
            raise UnknownQueue(f"nothing is set for a webhook {url!r} of tenant {tenant!r}")
        # Without its lane, which it keeps: an address that must not be called any more is none.
        lane, policy = LaneKey(self._transport.name, ""), self._transport.policy(url)
        # It is there now.
        _ = await self._store.open_queues([QueueSpec(tenant, url, lane, 1, policy)])
        await self._store.drop_hook(queue.id)
        self._transport.endpoints.forget()

    async def rotate_keys(self, *, plain_only: bool = False, batch: int = ROTATE_BATCH) -> int:
        """Encrypt all secrets with the ring's first key, or only those that are not encrypted;
        returns how many changed. It can be stopped at any time and run again."""
        after, done = 0, 0
        while rows := await self._store.hooks_not_under(self._ring.first, after, batch):
            for row in rows:
                if plain_only and row.key != UNSEALED:
                    self._ring.check(row.key)
                    continue
                hook, secret = open_row(row, self._ring, plain=True)
                fresh = sealed(row.queue, row.tenant, hook, secret, self._ring)
                # One that was set meanwhile is sealed with the first key already.
                done += await self._store.write_hook(fresh, was=row.sealed)
            after = rows[-1].queue
        self._transport.endpoints.forget()
        return done

    async def _known(self, queue: Queue | None) -> tuple[Hook, HookSecrets]:
        rows = await self._store.read_hooks([queue.id]) if queue else []
        return open_row(rows[0], self._ring) if rows else (Hook(), HookSecrets())

    def _shown(self, entry: HookEntry) -> HookFacts:
        url, policy, row = entry.url, entry.policy, entry.row
        try:
            return self._facts(url, policy, *open_row(row, self._ring))
        except BadKey as error:
            facts = self._facts(url, policy, HOOK.decode(row.hook), HookSecrets())
            return replace(facts, fault=str(error))

    def _facts(self, url: str, policy: Policy, hook: Hook, secret: HookSecrets) -> HookFacts:
        rules = self._transport.rules
        return HookFacts(
            url=url,
            secrets=len(secret.secrets),
            headers=tuple(secret.headers),
            reject=hook.reject,
            connect_timeout_ms=hook.connect_timeout_ms or rules.connect_timeout_ms,
            timeout_ms=hook.timeout_ms or rules.timeout_ms,
            names=hook.names,
            ladder=policy.ladder,
            keep_bodies_ms=policy.keep_bodies_ms,
            **access_facts(hook, secret),
        )


def sealed(queue: int, tenant: str, hook: Hook, secret: HookSecrets, ring: KeyRing) -> HookRow:
    """Return the row of a queue's settings, its secrets sealed."""
    packed = ring.seal(msgspec.json.encode(secret), place(queue, tenant))
    return HookRow(queue, tenant, msgspec.json.encode(hook), ring.first, packed)


def changed(hook: Hook, secret: HookSecrets, options: HookOptions) -> tuple[Hook, HookSecrets]:
    """Return the settings with what the options change."""
    if "secrets" in options:
        _ = Signer(options["secrets"])  # whether they can sign
        secret = replace(secret, secrets=tuple(options["secrets"]))
    if "headers" in options:
        for name, value in options["headers"].items():
            if type(name) is not str or type(value) is not str:
                raise BadInput(f"header {name!r}: its name and its value must be texts")
        check_headers(options["headers"])
        check_reserved(options["headers"])
        check_zone_header(options["headers"])
        headers = {name.lower(): value for name, value in options["headers"].items()}
        secret = replace(secret, headers=headers)
    if "reject" in options:
        hook = replace(hook, reject=_statuses(options["reject"]))
    if "connect_timeout" in options:
        hook = replace(hook, connect_timeout_ms=_ms("connect_timeout", options["connect_timeout"]))
    if "timeout" in options:
        hook = replace(hook, timeout_ms=_ms("timeout", options["timeout"]))
    if "names" in options:
        hook = replace(hook, names=_names(options["names"]))
    return changed_shape(hook, options), changed_access(secret, options)


def _ms(name: str, span: Duration) -> int:
    seconds = seconds_of(span)
    if not 0.01 <= seconds <= TIMEOUT_S_MAX:
        raise BadInput(
            f"{name}={span!r}: give seconds or a timedelta, from 0.01 to {TIMEOUT_S_MAX:g} s"
        )
    return round(seconds * 1000)


def _statuses(given: Sequence[int]) -> tuple[int, ...]:
    for status in given:
        if status not in STATUSES:
            raise BadInput(f"reject={status}: give statuses from 300 to 599")
    return tuple(sorted(set(given)))


def _names(names: HeaderNames) -> HeaderNames:
    given = [name.lower() for name in (names.id, names.timestamp, names.signature)]
    for name in given:
        check_header(name)
    check_headers({name: "" for name in given if not name.startswith("webhook-")})
    check_reserved(given)
    if len(set(given)) < len(given):
        raise BadInput("names: the three headers need three names")
    return HeaderNames(*given)


async def credential_of(url: str, authorization: str) -> str:
    """A hash of the secret that tells lanes apart: slow to guess, the same in every process."""
    if not authorization:
        return ""
    # 50 ms and 16 MiB on purpose, so not in the loop.
    return await asyncio.to_thread(_lane_hash, "/".join(url.split("/")[:3]), authorization)


def _lane_hash(server: str, authorization: str) -> str:
    salt, secret = hashlib.sha256(server.encode()).digest(), authorization.encode()
    # Kept for the next one of this server and secret, and not by the secret itself.
    known = hashlib.blake2b(secret, key=PROCESS_KEY, person=salt[:16]).digest()
    if (found := LANE_HASHES.get(known)) is None:
        cost = {"n": 1 << 14, "r": 8, "p": 1, "dklen": 12}
        if len(LANE_HASHES) >= LANE_HASHES_MAX:
            LANE_HASHES.clear()
        found = LANE_HASHES[known] = hashlib.scrypt(secret, salt=salt, **cost).hex()
    return found
