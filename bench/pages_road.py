"""The road of the bench `pages`: many messages, lanes and endpoints, and some of it in trouble."""

import msgspec
from msgspec import Struct

from postroad import Postroad
from postroad.engine.drafting import Send, draft
from postroad.model.entities import LaneKey, Policy, QueueSpec
from postroad.model.ids import EPOCH_MS, IdSequence
from postroad.model.rollup import WIDTH, Rollup, Step

HOOKS = "https://example.com/hook/{:06}"
HOUR_MS = 3_600_000
BODY_BYTES_MAX = 1_000
SLICE = 2_000
QUEUES_COUNTED = 100
"""So many queues of a tenant have a row of their own in an hour's bucket."""
WEEK_H = 168
COLUMNS_MESSAGE = "id, rung_id, place, due, level, accepted_at, expires_at, headers, body"
COLUMNS_DEAD = (
    "id, queue_id, lane_id, reason, died_at, level, attempts, accepted_at, priority, order_group, "
    "order_key, error, status, headers, body"
)
NUMBERS = {
    "sqlite": "with recursive r(n) as (select 1 union all select n + 1 from r where n < {many}) select n from r",
    "postgres": "select n::bigint from generate_series(1, {many}) n",
}
FILL = """
update {schema}message set place = {late}, due = {late};
update {schema}rung set ready_at = {late};
update {schema}lane_level set ready_at = {late};
insert into {schema}message ({message})
select ((t - {epoch}) << 22) | (n % 512 << 13) | 7, {rung} + n * 7919 % {lanes}, {late}, {late}, 0, t, 4611686018427387904,
       {nothing}, {body}
  from (select n, {start} + n * {span} / {many} as t from ({waiting}) x) z;
insert into {schema}dead ({dead})
select ((t - {epoch}) << 22) | (n % 512 << 13) | 9, {queue} + n % 1000, 1, 'rejected', t, 0, 1, t, 0, 0, '',
       'no such customer', 404, {nothing}, {body}
  from (select n, {start} + n * {span} / {many} as t from ({died}) x) z;
update {schema}lane set circuit_opened = 1, circuit_strikes = 3, circuit_until = {late}, circuit_since = {start},
       circuit_reason = 'connection refused' where id % 250 = 0;
update {schema}queue set block_kind = 'quota', block_until = {late}, block_reason = '429 Too Many Requests',
       block_since = {start} where id % 500 = 1;
update {schema}queue set paused_at = {start} where id % 2500 = 3;
"""
FILL_ENDPOINTS = """
insert into {schema}endpoint (id, tenant, queue_id, url, spec, made_at, version, expires_at)
select e.id + x.n, e.tenant, e.queue_id - x.n, e.url, e.spec, e.made_at, e.version, e.expires_at
  from {schema}endpoint e, ({numbers}) x;
insert into {schema}webhook (queue_id, settings, key, sealed)
select w.queue_id - x.n, w.settings, w.key, w.sealed from {schema}webhook w, ({numbers}) x
"""


class Scale(Struct, frozen=True):
    """How much there is."""

    messages: int = 1_000_000
    lanes: int = 50_000
    endpoints: int = 10_000

    @classmethod
    def of(cls, share: float) -> "Scale":
        """A share of the whole; a little of all at least."""
        whole = cls()
        return cls(*(max(1_000, int(share * each)) for each in msgspec.structs.astuple(whole)))


def filling(kind: str, scale: Scale, first: tuple[int, int], now_ms: int) -> str:
    """What fills a store whose queues and rungs are made: `first` are their lowest numbers. Nine of
    ten messages wait, and one is dead."""
    died = scale.messages // 10
    numbers = NUMBERS[kind]
    postgres = kind == "postgres"
    return FILL.format(
        schema="postroad." if postgres else "",
        message=COLUMNS_MESSAGE,
        dead=COLUMNS_DEAD,
        epoch=EPOCH_MS,
        queue=first[0],
        rung=first[1],
        lanes=scale.lanes,
        start=now_ms - 20 * HOUR_MS,
        span=19 * HOUR_MS,
        many=scale.messages,
        late=now_ms + HOUR_MS,
        waiting=numbers.format(many=scale.messages - died - scale.lanes),
        died=numbers.format(many=died),
        nothing="''::bytea" if postgres else "x''",
        body="convert_to(repeat('x', 200), 'UTF8')" if postgres else "zeroblob(200)",
    )


async def make_queues(road: Postroad, scale: Scale) -> int:
    """Make a queue with a message for each lane; returns the number of the first queue."""
    first, ids, now_ms = 0, IdSequence(1), road.store.clock.now_ms()
    at_ms = now_ms - 21 * HOUR_MS
    for start in range(0, scale.lanes, SLICE):
        specs = [
            QueueSpec("default", HOOKS.format(n), LaneKey("webhook", f"s{n:06}"), 1, Policy())
            for n in range(start, min(start + SLICE, scale.lanes))
        ]
        queues = await road.store.open_queues(specs)
        first = first or queues[0].id
        sends = [(Send(queue.name, 1), queue, ids.next(at_ms)) for queue in queues]
        drafts = [draft(*each, at_ms, BODY_BYTES_MAX) for each in sends]
        _ = await road.store.accept(drafts)  # their rungs are made
    return first


def fill_endpoints(kind: str, scale: Scale) -> str:
    """What makes all endpoints like the only one, each with a queue of those that are there."""
    return FILL_ENDPOINTS.format(
        schema="postroad." if kind == "postgres" else "",
        numbers=NUMBERS[kind].format(many=scale.endpoints - 1),
    )


async def make_figures(road: Postroad) -> None:
    """Write the figures of a week by the hour, and of an hour by ten seconds."""
    now_ms = road.store.clock.now_ms()
    counts = [9, 1, *([0] * (WIDTH - 4)), 3, 5]
    for hour in range(WEEK_H):
        at_ms = Step.hour.start_of(now_ms) - hour * HOUR_MS
        names = [("webhook", ""), *(("webhook", HOOKS.format(n)) for n in range(QUEUES_COUNTED))]
        rows = [Rollup(Step.hour, at_ms, "default", *name, counts) for name in names]
        await road.store.add_rollups(rows)
    tens = [Step.ten_seconds.start_of(now_ms) - n * 10_000 for n in range(360)]
    rows = [Rollup(Step.ten_seconds, at_ms, "default", "webhook", "", counts) for at_ms in tens]
    await road.store.add_rollups(rows)
