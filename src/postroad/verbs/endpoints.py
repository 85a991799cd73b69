"""Endpoints: the places of a tenant that events are sent to."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Final, Literal, Unpack

import msgspec
from msgspec.structs import replace

from postroad.model.durations import Duration
from postroad.model.endpoint import (
    EndpointEntry,
    EndpointLife,
    EndpointRow,
    EndpointSpec,
    endpoint_id,
    endpoint_number,
    queue_name,
)
from postroad.model.endpoint_life import By, EndpointRules
from postroad.model.entities import DAY_MS, DEFAULT_TENANT, Policy, Queue
from postroad.model.errors import BadKey, Conflict, UnknownEndpoint
from postroad.model.kept_bodies import kept_ms
from postroad.model.keyring import KeyRing
from postroad.model.ladder import check_ladder
from postroad.model.matching import SPEC
from postroad.model.pace import read_limit
from postroad.model.texts import checked
from postroad.model.tokens import EVERY_TENANT
from postroad.model.webhook import Hook, HookRow, HookSecrets
from postroad.ports.log import Log
from postroad.ports.store import Store
from postroad.transports.webhook.endpoints import HOOK, open_row
from postroad.transports.webhook.transport import GRACE_MS, WebhookTransport
from postroad.verbs.bounding import bounded
from postroad.verbs.endpoint_expiry import EndpointExpiry
from postroad.verbs.endpoint_facts import (
    EndpointFacts,
    EndpointOptions,
    EndpointPage,
    NewEndpoint,
    changed_endpoint,
    check_way,
    expiry_of,
    facts_of,
    new_secret,
    with_secret,
    with_unknown,
)
from postroad.verbs.endpoint_feed import LEASE_S, EndpointFeeds, FeedAck, FeedPage
from postroad.verbs.endpoint_life import EndpointLives, EndpointRuleOptions
from postroad.verbs.endpoint_moves import Edit, Edited, give_queue, other_lane, put_endpoint
from postroad.verbs.endpoint_rotation import OVERLAP_S, check_overlap, rotated
from postroad.verbs.endpoint_stats import EndpointStats, Recovery, StatsSpan
from postroad.verbs.endpoint_tests import EndpointTests, SentTest
from postroad.verbs.event_stores import event_store
from postroad.verbs.hook_access import access_options, check_access, lane_secret, lift
from postroad.verbs.paging import check_page
from postroad.verbs.replays import ReplayVerbs
from postroad.verbs.sending import Sending
from postroad.verbs.webhooks import changed, credential_of, sealed

AGAIN_MAX: Final = 10

CancelAll = Callable[..., Awaitable[object]]


@bounded
class EndpointAdmin:
    """Make, change, list and delete the endpoints that events are sent to."""

    def __init__(
        self,
        store: Store,
        transport: WebhookTransport,
        ring: KeyRing,
        sending: Sending,
        cancel_all: CancelAll,
        replays: ReplayVerbs,
        log: Log,
    ) -> None:
        self._store = store
        self._transport = transport
        self._ring = ring
        self._sending = sending
        self._cancel_all = cancel_all
        self._lives = EndpointLives(store, sending, replays, log)
        self.watch = self._lives.watch
        self.expiry = EndpointExpiry(store, self.delete, log)
        self._tests = EndpointTests(store, sending, log)
        self._feeds = EndpointFeeds(store, transport, log)

    async def create(
        self,
        url: str = "",
        *,
        pull: bool = False,
        tenant: str = DEFAULT_TENANT,
        ordered: bool = False,
        secret: str = "",
        **options: Unpack[EndpointOptions],
    ) -> NewEndpoint:
        """Make an endpoint at a URL, or with `pull` one that is read by `feed`. Its signing secret
        is made here, unless you bring one, and shown this once. With `ordered` its events go one
        after the other, in order of publishing."""
        events = event_store(self._store)
        _ = self._sending.taking()  # whether the road is open
        check_way(url, options, pull=pull)
        if url:
            self._transport.check_endpoint(url)
        spec, hook, secrets = changed_endpoint(
            EndpointSpec(), Hook(url=url), HookSecrets(), options
        )
        given = access_options(options)
        await check_access(self._transport, tenant, given, self._store.clock.now_ms())
        secret = secret or new_secret()
        _, secrets = changed(hook, secrets, {"secrets": (secret,)})
        plain = replace(self._transport.policy(url), ordered=ordered)
        policy = self._policy(plain, hook, options)
        now_ms = self._store.clock.now_ms()
        expires_at_ms = expiry_of(options, now_ms)
        number = self._sending.ids.next(now_ms)
        credential = await credential_of(url, lane_secret(secrets)) if url else ""
        queue = await self._open_queue(number, tenant, url, policy, credential)
        if spec.rate:
            await self._store.limit_queue(queue.id, read_limit(spec.rate))
        life = EndpointLife(changed_at_ms=now_ms)
        about = (number, tenant, queue.id, url, msgspec.json.encode(spec), now_ms, 1)
        row = EndpointRow(*about, expires_at_ms=expires_at_ms, life=life)
        settings = sealed(queue.id, tenant, hook, secrets, self._ring)
        _ = await events.endpoint_put(row, settings)  # no other version of it can be there
        self.expiry.expect()
        made = self._facts(EndpointEntry(row, policy, queue.lanes[0]), settings)
        return with_secret((await with_unknown(events, tenant, (made,)))[0], secret)

    async def get(self, id: str, *, tenant: str = DEFAULT_TENANT) -> EndpointFacts:  # noqa: A002
        """An endpoint; of its secrets only how many there are."""
        shown = await self._shown([await self._find(id, tenant)], tenant)
        if not shown:
            raise _unknown(id, tenant)
        return shown[0]

    async def list(
        self, *, limit: int = 100, after: str = "", tenant: str = DEFAULT_TENANT
    ) -> EndpointPage:
        """A page of a tenant's endpoints, the oldest first."""
        check_page(limit)
        start = endpoint_number(after) if after else 0
        found = await event_store(self._store).endpoint_page(tenant, start, limit + 1)
        shown = await self._shown(found[:limit], tenant)
        last = endpoint_id(found[limit - 1].row.id) if len(found) > limit else ""
        return EndpointPage(shown, last)

    async def change(
        self,
        id: str,  # noqa: A002
        *,
        tenant: str = DEFAULT_TENANT,
        url: str = "",
        **options: Unpack[EndpointOptions],
    ) -> EndpointFacts:
        """Change an endpoint. What waits stays, in its order, and goes to the new URL; to another
        server it moves when the tries that are under way have ended, for which this waits."""

        async def edit(entry: EndpointEntry, hook: Hook, secrets: HookSecrets) -> Edited:
            row = entry.row
            spec = SPEC.decode(row.spec)
            hook = replace(hook, url=url or hook.url)
            new, hook, secrets = changed_endpoint(spec, hook, secrets, options)
            lane = None
            if not row.url:
                check_way(url, options, pull=True)
            if url and url != row.url:
                self._transport.check_endpoint(url)
                await self._transport.vet(url, tenant)
                lane = await other_lane(self._transport, row, url, secrets)
                row = replace(row, url=url)
            policy = self._policy(entry.policy, hook, options)
            changes = policy != entry.policy
            if changes and row.url and url in ("", entry.row.url):  # another one was vetted
                await self._transport.vet(row.url, tenant)
            if "expires_in" in options:
                row = replace(row, expires_at_ms=expiry_of(options, self._store.clock.now_ms()))
            row = replace(row, spec=msgspec.json.encode(new))
            # Also a rate that is stored already: whoever stored it may have been killed then.
            rated = new.rate != spec.rate or bool(options.get("rate"))
            return Edited(row, hook, secrets, lane, policy if changes else None, rated)

        given = access_options(options)
        await check_access(self._transport, tenant, given, self._store.clock.now_ms())
        facts = await self._edit(id, tenant, edit)
        if given:
            await lift(self._store, await self._store.find_queue(tenant, facts.queue), given)
        self.expiry.expect()
        return facts

    async def enable(
        self,
        id: str,  # noqa: A002
        *,
        by: By = "owner",
        tenant: str = DEFAULT_TENANT,
    ) -> EndpointFacts:
        """Send to an endpoint again. What was held drains at its rate, or at the one that is set
        for draining. One that an operator disabled is enabled `by` an operator only."""
        await self._lives.enable(partial(self._find, id, tenant), by)
        return await self.get(id, tenant=tenant)

    async def disable(
        self,
        id: str,  # noqa: A002
        *,
        reason: str = "",
        by: By = "owner",
        tenant: str = DEFAULT_TENANT,
    ) -> EndpointFacts:
        """Send nothing to an endpoint. What waits, and what is published meanwhile, is held until
        it is enabled, within the limits that are set."""
        await self._lives.disable(partial(self._find, id, tenant), by, checked("text", reason))
        return await self.get(id, tenant=tenant)

    async def feed(
        self,
        id: str,  # noqa: A002
        *,
        max: int = 100,  # noqa: A002 - the word of the trade
        wait: Duration = 0,
        lease: Duration = LEASE_S,
        tenant: str = DEFAULT_TENANT,
    ) -> FeedPage:
        """Read the next messages of an endpoint that was made with `pull`, in order, and wait for
        the first one. Those that are not acked within the lease come again."""
        return await self._feeds.read(partial(self._find, id, tenant), max, wait, lease)

    async def ack(
        self,
        id: str,  # noqa: A002
        ids: Sequence[str],
        *,
        tenant: str = DEFAULT_TENANT,
    ) -> FeedAck:
        """Count messages as delivered that were read from a feed. Twice is as good as once."""
        return await self._feeds.ack(await self._find(id, tenant), ids)

    async def test(
        self,
        id: str,  # noqa: A002
        type: str = "",  # noqa: A002 - the word of the trade
        *,
        tenant: str = DEFAULT_TENANT,
    ) -> SentTest:
        """Send a test event to this endpoint alone, with the header `postroad-test`: of a type, or
        of the first that it gets, with the example in its schema or a body made of it."""
        return await self._tests.send(partial(self._find, id, tenant), type)

    async def recover(
        self,
        id: str,  # noqa: A002
        *,
        since: datetime | None = None,
        dry_run: bool = False,
        tenant: str = DEFAULT_TENANT,
    ) -> Recovery:
        """Send again what died since a time, or since the failures began for which the endpoint was
        last disabled: as a replay, at the rate of draining. `dry_run` only counts."""
        return await self._lives.recover(partial(self._find, id, tenant), since, dry_run=dry_run)

    async def stats(
        self,
        id: str,  # noqa: A002
        *,
        by: Literal["hour", "day"] = "hour",
        since: datetime | None = None,
        until: datetime | None = None,
        tenant: str = DEFAULT_TENANT,
    ) -> EndpointStats:
        """What an endpoint answered by hour or day, of the last day unless a time is given, and
        what waits for it now. Kept for 35 days."""
        return await self._lives.stats(await self._find(id, tenant), StatsSpan(by, since, until))

    async def rules(self, *, tenant: str = DEFAULT_TENANT) -> EndpointRules:
        """What holds for the endpoints of a tenant: when failing ones are told of and disabled, how
        much is held, how fast it drains."""
        return await event_store(self._store).endpoint_rules(checked("tenant", tenant))

    async def set_rules(
        self, *, tenant: str = EVERY_TENANT, **changes: Unpack[EndpointRuleOptions]
    ) -> EndpointRules:
        """Set what holds for the endpoints of a tenant, or (`*`) of all that have nothing set. What
        is not given keeps its value."""
        return await self._lives.set_rules(checked("tenant", tenant), changes)

    async def rotate(
        self,
        id: str,  # noqa: A002
        *,
        overlap: Duration = OVERLAP_S,
        tenant: str = DEFAULT_TENANT,
    ) -> NewEndpoint:
        """Give an endpoint a new secret, which is shown this once. The one before signs too until
        the overlap ends. A Conflict if ten sign already: none is ended before its time,
        unless with an overlap of 0, which ends all."""
        overlap_s = check_overlap(overlap)
        secret = new_secret()

        async def edit(entry: EndpointEntry, hook: Hook, secrets: HookSecrets) -> Edited:
            now_ms = self._store.clock.now_ms()
            turned = rotated(secrets, secret, overlap_s, now_ms)
            ends_ms = now_ms + int(overlap_s * 1000)
            # A day before the end; of a short overlap in its middle.
            notice_ms = ends_ms - min(DAY_MS, int(overlap_s * 500)) if overlap_s else 0
            row = replace(entry.row, life=replace(entry.row.life, secret_notice_ms=notice_ms))
            return Edited(row, hook, turned)

        return with_secret(await self._edit(id, tenant, edit), secret)

    async def delete(self, id: str, *, tenant: str = DEFAULT_TENANT) -> None:  # noqa: A002
        """Delete an endpoint: it gets no events any more, and what waits for it is cancelled."""
        number = (await self._find(id, tenant)).row.id
        await self._lives.delete(partial(self._find, id, tenant), number, tenant)
        try:
            # However many they were, none is left.
            _ = await self._cancel_all(queue_name(number), tenant=tenant)
            # Somebody else may have deleted it meanwhile, which is the same.
            _ = await event_store(self._store).endpoint_drop(tenant, number)
        except BaseException:
            self.expiry.expect()  # which ends it
            raise
        self._transport.endpoints.forget()

    async def _edit(self, id: str, tenant: str, edit: Edit) -> EndpointFacts:  # noqa: A002
        """Change an endpoint as it is now; again when somebody else has changed it meanwhile."""
        for _ in range(AGAIN_MAX):
            entry = await self._find(id, tenant)
            edited = await edit(entry, *await self._opened(entry))
            row = replace(edited.row, version=entry.row.version + 1)
            packed = sealed(row.queue, tenant, edited.hook, edited.secrets, self._ring)
            if await put_endpoint(self._store, row, packed, edited.lane):
                self._transport.endpoints.forget()
                await give_queue(self._store, edited, self._open_queue)
                return await self.get(id, tenant=tenant)
        raise Conflict(f"{id} is being changed by others: nothing was changed; do it again")

    async def _open_queue(
        self, number: int, tenant: str, url: str, policy: Policy, credential: str = ""
    ) -> Queue:
        name = queue_name(number)
        if not url:
            return await self._sending.open_feed(tenant, name, policy)
        return await self._sending.open_webhook(tenant, url, policy, credential, name)

    async def _find(self, id: str, tenant: str) -> EndpointEntry:  # noqa: A002
        number = endpoint_number(id)
        found = await event_store(self._store).endpoint_page(tenant, number - 1, 1)
        if not found or found[0].row.id != number:
            raise _unknown(id, tenant)
        return found[0]

    async def _opened(self, entry: EndpointEntry) -> tuple[Hook, HookSecrets]:
        rows = await self._store.read_hooks([entry.row.queue])
        if not rows:  # it is being deleted at this moment
            raise _unknown(endpoint_id(entry.row.id), entry.row.tenant)
        return open_row(rows[0], self._ring)

    async def _shown(
        self, entries: Sequence[EndpointEntry], tenant: str
    ) -> tuple[EndpointFacts, ...]:
        found = await self._store.read_hooks([each.row.queue for each in entries])
        rows = {row.queue: row for row in found}
        # One without settings is being deleted at this moment.
        known = [each for each in entries if each.row.queue in rows]
        shown = tuple(self._facts(each, rows[each.row.queue]) for each in known)
        return await with_unknown(event_store(self._store), tenant, shown)

    def _facts(self, entry: EndpointEntry, row: HookRow) -> EndpointFacts:
        rules, now_ms = self._transport.rules, self._store.clock.now_ms()
        try:
            hook, secrets = open_row(row, self._ring)
        except BadKey as error:
            facts = facts_of(entry, HOOK.decode(row.hook), HookSecrets(), rules, now_ms)
            return replace(facts, fault=str(error))
        return facts_of(entry, hook, secrets, rules, now_ms)

    def _policy(self, policy: Policy, hook: Hook, options: EndpointOptions) -> Policy:
        total_ms = hook.timeout_ms or self._transport.rules.timeout_ms
        ladder = check_ladder(options.get("ladder", policy.ladder))
        policy = replace(policy, ladder=ladder, timeout_ms=total_ms + GRACE_MS)
        if "keep_bodies" in options:
            policy = replace(policy, keep_bodies_ms=kept_ms(options["keep_bodies"]))
        return policy


def _unknown(id: str, tenant: str) -> UnknownEndpoint:  # noqa: A002
    return UnknownEndpoint(f"there is no endpoint {id} of tenant {tenant!r}")
