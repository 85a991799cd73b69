"""A road with tenants that have something in every table, and what is in the tables."""

from pathlib import Path
from typing import Any

import apsw
import asyncpg
import msgspec

from postroad import Message, Postroad, Reject
from postroad.engine.drafting import Send
from postroad.model.audit import AuditLine, AuditOutcome
from postroad.model.blobs import BlobUse
from postroad.model.credential import CredentialSpec
from postroad.model.mailbox import Post, digest
from postroad.model.ticks import Tick
from postroad.verbs.attachments import AttachmentHolds
from tests.campaigns.stories import local, write_csv

HOOK = "http://127.0.0.1:9/hook"
"""Nobody listens there: tries of it are logged."""
SECRET = "whsec_" + "c2VjcmV0IHNlY3JldCBzZWNyZXQgc2VjcmV0"
TOKEN = "a token of sixteen letters, or more"
NUMBER = "+6591234567"
PERSON = "https://127.0.0.1:8/person"
TABLES = """
select c.relname::text from pg_class c
 where c.relnamespace = 'postroad'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
"""


def new_road(dsn: str) -> Postroad:
    """A road with a handler that takes what is good and rejects what is bad."""
    road = local(dsn)

    @road.handler("job", retries=2, keep_bodies=3_600, result_ttl=3_600)
    async def job(message: Message[Any]) -> None:
        if message.body == "bad":
            raise Reject("never")
        if message.body == "later":
            raise ValueError("not now")

    return road


async def move_in(road: Postroad, tenant: str, folder: Path) -> None:
    """Give a tenant all that it can have beside messages."""
    await road.tokens.make(f"token of {tenant}", tenant=tenant)
    await road.tenants.create(tenant, description=f"tenant {tenant}", queues_max=1_000)
    await road.webhooks.set(HOOK, secrets=[SECRET], tenant=tenant)
    await road.limit(HOOK, "100/s,1000/h", tenant=tenant)
    await road.endpoints.create(HOOK, types=("order.*",), secret=SECRET, tenant=tenant)
    await road.endpoints.set_rules(tenant=tenant, hold_max=7)
    options: Any = {"lanes": "web:*", "status": "4??", "do": "retry", "lasts": 60}
    await road.rules.put("twice", count=2, tenant=tenant, **options)
    _ = await road.store.rule_hits(f"{tenant}/twice", 1, 0, 1_000, 2)
    box = await road.mailboxes.create(tenant=tenant)
    store: Any = road.store
    await store.hub_lead()
    await store.box_commit([Post(box.box, digest(box.sender_token), text=True, body=b"a letter")])
    await store.hub_unlead()
    await road.credentials.put("main", CredentialSpec(""), SECRET, tenant=tenant, kind="webhook")
    await road.campaigns.create(
        "c", credential="main", template='{"to": "{{ name }}"}', tenant=tenant
    )
    texts = CredentialSpec("http://127.0.0.1:9", "AC1", "+15550000")
    await road.credentials.put("texts", texts, TOKEN, check=False, tenant=tenant)
    people = [PERSON, "https://127.0.0.1:8/other"]
    await road.campaigns.import_file(
        "c", write_csv(folder / f"{tenant}.csv", people), tenant=tenant
    )
    file = await road.attachments.put(b"a file", "a.txt", tenant=tenant)
    held = [BlobUse(file.id, 1)]
    await AttachmentHolds(road.store).hold(tenant, held)
    await road.suppressions.add("ann@example.com", "complaint", note=tenant, tenant=tenant)
    now_ms = road.store.clock.now_ms()
    await road.timetables.create("daily", HOOK, tenant, cron="0 9 * * *", tenant=tenant)
    (daily,) = await road.store.timetable_page(tenant, "daily", "", 1)
    assert await road.store.tick(daily.plan, [Tick(now_ms + 1)], now_ms + 1, now_ms + 86_400_000)
    who = (tenant, "token", "name", "192.0.2.1")
    what = {"queue": HOOK}
    line = AuditLine(0, now_ms, None, *who, "pause_queue", what, AuditOutcome.asked, 0)
    await road.store.audit_add(line)


async def send_all(road: Postroad, *tenants: str) -> None:
    """Messages of all tenants in one commit, so that they are recorded together; then run."""
    bodies = ("good", "bad", "later", "good", "good")
    sends = [
        Send("job", body, key=f"{tenant} {n}", order_key=body, tenant=tenant)
        for n, body in enumerate(bodies)
        for tenant in tenants
    ]
    sends += [Send(HOOK, n, tenant=tenant) for n in range(2) for tenant in tenants]
    sends += [
        Send(f"sms:{NUMBER}", {"text": "Hi"}, tenant=tenant, credential="texts", delay=3_600)
        for tenant in tenants
    ]
    await road.send_many(sends)
    for tenant in tenants:
        await road.publish("order.paid", f"event of {tenant}", key="once", tenant=tenant)
        late = await road.endpoints.create(HOOK, secret=SECRET, tenant=tenant)
        await road.pause(late.queue, tenant=tenant)
        _ = await road.replays.start("missed", endpoint=late.id, tenant=tenant)
        members = [Send("job", "good", tenant=tenant, delay=n) for n in (0, 3_600)]
        _ = await road.batch(members, then=Send("job", f"then of {tenant}", tenant=tenant))
    await road.run(until_idle=True)


async def exported(road: Postroad, tenant: str, recipient: str = "") -> list[dict[str, Any]]:
    """The lines of an export."""
    whose = recipient or None
    pieces = [piece async for piece in road.privacy.export(tenant=tenant, recipient=whose)]
    return [msgspec.json.decode(line) for line in b"".join(pieces).splitlines()]


async def counted(dsn: str) -> dict[str, int]:
    """How many rows each table has."""
    if dsn.startswith("sqlite"):
        db = apsw.Connection(dsn.removeprefix("sqlite:///"))
        names = [
            row[0] for row in db.execute("select name from sqlite_schema where type = 'table'")
        ]
        found = {name: _number(db, f"select count(*) from {name}") for name in names}
        db.close()
        return found
    raw = await asyncpg.connect(dsn)
    try:
        names = [row[0] for row in await raw.fetch(TABLES)]
        query = "select count(*) from postroad.{}"
        return {name: await raw.fetchval(query.format(name)) for name in names}
    finally:
        await raw.close()


def _number(db: apsw.Connection, query: str) -> int:
    rows: list[Any] = db.execute(query).fetchall()
    return int(rows[0][0])
