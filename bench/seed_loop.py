"""Peer: the loop of the campaign seed, rebuilt: pick `send_rate`, send, wait for all, one update each.

Its tables and statements are the seed's, with the ids picked in a CTE first and rows locked. It does
not wait for the next second: here nothing limits the rate.
"""

import asyncio
import time
from pathlib import Path

import asyncpg
import msgspec
import uvloop
from msgspec import Struct

from bench.databases import database
from bench.shape import Durability, Taken
from postroad.model.credential import Credential, OpenCredential
from postroad.model.entities import Message, Policy, Queue
from postroad.model.recipients import addressed
from postroad.model.states import NEVER
from postroad.ports.clock import SystemClock
from postroad.transports.sms.session import SmsSession
from postroad.transports.vetted_http import VettedHttp
from postroad.transports.webhook.connections import IdleConnections
from tests.campaigns.provider import TOKEN, Provider
from tests.campaigns.stories import LOCAL

QUEUE = Queue(1, "default", "sms:main", Policy(), (1,))
SCHEMA = """
create table sms_ops (
  id bigint generated always as identity primary key, campaign_id int not null, recipient text not null,
  params text not null, message_id text, error_code text, sent_at timestamptz, delivered_at timestamptz);
insert into sms_ops (campaign_id, recipient, params)
select 1, '+1600' || lpad(g::text, 7, '0'), 'Name ' || g from generate_series(1, $count) g;
create index on sms_ops (campaign_id) where sent_at is null;
analyze sms_ops;
"""
PICK = """
with picked as (select id from sms_ops where campaign_id = 1 and sent_at is null limit $1
                for update skip locked)
update sms_ops set sent_at = clock_timestamp() from picked where sms_ops.id = picked.id
returning sms_ops.id, recipient, params
"""
DONE = "update sms_ops set delivered_at = clock_timestamp(), message_id = $2, error_code = $3 where id = $1"
ROWS_A_SECOND = 3_000
LATENCY_MS, SLOW_MS = 30, 500


class Setting(Struct, frozen=True):
    send_rate: int
    connections: int


def run(
    folder: Path, seconds: float, *, server: str, send_rate: int, connections: int
) -> list[Taken]:
    """For so long, with so many at once."""
    return uvloop.run(_run(folder, seconds, server, Setting(send_rate, connections)))


async def _run(folder: Path, seconds: float, server: str, setting: Setting) -> list[Taken]:
    with Provider(folder, LATENCY_MS, SLOW_MS) as provider:
        async with database(server) as dsn:
            pool = await asyncpg.create_pool(
                dsn, min_size=setting.connections, max_size=setting.connections
            )
            rows = str(int(seconds * ROWS_A_SECOND) + setting.send_rate)
            await pool.execute(SCHEMA.replace("$count", rows))
            known = Credential(1, "default", "main", "sms", provider.spec(), "", b"")
            http = VettedHttp(LOCAL.webhooks, SystemClock(), IdleConnections())
            session = SmsSession(OpenCredential(known, {"secret": TOKEN}), http)
            _ = await session.prepare(QUEUE, _message(0, "+1", ""))
            start_s, cpu_s = time.perf_counter(), time.process_time()
            while time.perf_counter() < start_s + seconds and await _turn(
                pool, session, setting.send_rate
            ):
                pass
            took_s, cpu_s = time.perf_counter() - start_s, time.process_time() - cpu_s
            await session.close()
            told = await pool.fetchrow("select count(sent_at), count(message_id) from sms_ops")
            durability = await read_durability(pool)
            await pool.close()
        assert told is not None
        received = provider.taken().total()
    return [Taken("seed-loop", told[0], told[1], received, told[1], took_s, cpu_s, durability)]


def _message(number: int, recipient: str, text: str) -> Message:
    body = msgspec.json.encode({"text": text})
    return Message(number, 0, 1, 1, 0, 0, 0, 0, 0, 0, NEVER, body, addressed(recipient))


async def _turn(pool: "asyncpg.Pool[asyncpg.Record]", session: SmsSession, send_rate: int) -> bool:
    async def one(number: int, recipient: str, name: str) -> None:
        said = (await session.send(QUEUE, _message(number, recipient, f"Hello {name}"))).provider
        await pool.execute(DONE, number, said.id, said.code)

    picked = await pool.fetch(PICK, send_rate)
    await asyncio.gather(*(one(*row) for row in picked))
    return bool(picked)


async def read_durability(asked: "asyncpg.Pool[asyncpg.Record]") -> Durability:
    """Of the connections that wrote."""
    names = ("fsync", "full_page_writes", "synchronous_commit")
    fsync, pages, waits = [await asked.fetchval(f"show {name}") for name in names]
    return Durability(f"wal, fsync {fsync}, full_page_writes {pages}", 2 if waits == "on" else 0)
