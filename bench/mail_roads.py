"""Ours: mails to a raw sink on a file, prepared as they are, or built and signed for each."""

import asyncio
import time
from pathlib import Path

import apsw
import uvloop

from bench.hook_roads import BATCH, FILL_SHARE, WARM
from bench.mail_sink import MailSink
from bench.mail_texts import DOMAIN, SELECTOR, SENDER, parts, prepared, recipient
from bench.shape import Durability, Taken
from bench.witness import Witness
from postroad import Postroad
from postroad.config import Settings
from postroad.model.credential import CredentialSpec
from postroad.model.mail_settings import MailSettings


class Filling:
    """Sends numbered mails."""

    def __init__(self, road: Postroad, *, built: bool) -> None:
        self._road = road
        self._made: object = None if built else prepared()
        self.sent = 0

    async def send(self, count: int) -> None:
        """The next ones, in one call."""
        first, self.sent = self.sent, self.sent + count
        numbers = range(first, first + count)
        await self._road.send_many(
            [(f"mailto:{recipient(n)}", self._made or parts(n)) for n in numbers]
        )

    async def drain(self, seconds: float) -> tuple[int, float, float]:
        """Warm up, fill for a share of the time, then deliver all: mails, seconds, CPU."""
        await self.send(WARM)
        await self._road.run(until_idle=True)
        end_s = time.perf_counter() + seconds * FILL_SHARE
        while time.perf_counter() < end_s:
            await self.send(BATCH)
        start_s, start_cpu_s = time.perf_counter(), time.process_time()
        await self._road.run(until_idle=True)  # returns when all is recorded
        cpu_s = time.process_time() - start_cpu_s
        return self.sent - WARM, time.perf_counter() - start_s, cpu_s


def plain(folder: Path, seconds: float, *, sessions: int) -> list[Taken]:
    """Mails that were made beforehand, unsigned."""
    witness = Witness(always_full=False)
    return [uvloop.run(_run(folder / "road.db", seconds, witness, sessions, ""))]


def signed(folder: Path, seconds: float, *, sessions: int, key: str) -> list[Taken]:
    """Each mail is built of its texts, and signed."""
    witness = Witness(always_full=False)
    return [uvloop.run(_run(folder / "road.db", seconds, witness, sessions, key))]


async def _run(path: Path, seconds: float, witness: Witness, sessions: int, key: str) -> Taken:
    sink = MailSink()
    mail = MailSettings(f"{sink.relay}?sessions={sessions}&mails=100000", SENDER)
    settings = Settings(log_level="warning", mail=mail)
    async with Postroad(f"sqlite:///{path}", settings=settings) as road:
        if key:
            spec = CredentialSpec(options={"dkim_domain": DOMAIN, "dkim_selector": SELECTOR})
            await road.credentials.put("smtp", spec, kind="smtp", secrets={"dkim_key": key})
        filling = Filling(road, built=bool(key))
        timed, took_s, cpu_s = await filling.drain(seconds)
        witness.watch()
        await filling.send(1)
        await road.run(until_idle=True)
        promised = witness.durability()
    got = await asyncio.to_thread(sink.end)
    file = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    ((delivered,),) = file.execute("select count(*) from history where state = 'delivered'")
    ((waiting,),) = file.execute("select count(*) from message")
    file.close()
    counts = (filling.sent, delivered - waiting, got.distinct)
    seen = Durability(promised.journal_mode, promised.synchronous)
    name = "mail-signed" if key else "mail"
    return Taken(name, *counts, timed, took_s, cpu_s, seen, witness.recording)
