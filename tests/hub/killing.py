"""A hub killed with -9 in the middle of traffic, again and again; and what came of each message."""

import asyncio
import random
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path

import uvloop
from msgspec import Struct, field

from postroad.hub.client import HubClient
from postroad.hub.frames import Created
from postroad.model.errors import HubError
from tests.hub.serving import CREATE
from tests.servers import free_port

ROOT = Path(__file__).parents[2]
BOXES, SENDERS = 20, 4
START_S = 60.0
SETTLE_S = 60.0


class Report(Struct):
    """What was seen."""

    kills: int = 0
    accepted: int = 0
    received: int = 0
    repeats: int = 0
    breaches: list[str] = field(default_factory=list)


class Ledger:
    """Every message, from outside of the hub."""

    def __init__(self) -> None:
        self.accepted: dict[str, int] = {}
        self.received: dict[str, int] = {}
        self.acked: set[tuple[str, int]] = set()
        self.last: dict[str, int] = {}
        self.repeats = 0
        self.breaches: list[str] = []

    def take(self, box: str, number: int, body: str) -> None:
        """A message was delivered."""
        if (box, number) in self.acked:
            self.breaches.append(f"{box} {number} came again after its ack was answered")
        if number < self.last.get(box, 0):
            self.breaches.append(f"{box} {number} came after {self.last[box]}")
        if body in self.received:
            self.repeats += 1
        self.last[box] = max(number, self.last.get(box, 0))
        self.received[body] = self.received.get(body, 0) + 1

    def lost(self) -> list[str]:
        """What was accepted and never came."""
        return [
            f"{body} was accepted and is lost"
            for body in self.accepted
            if body not in self.received
        ]


async def start(path: Path, port: int) -> tuple[Process, int]:
    command = (sys.executable, "-m", "tests.hub.server_process", str(path), str(port))
    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdout=PIPE)
    assert process.stdout is not None
    line = await asyncio.wait_for(process.stdout.readline(), START_S)
    return process, int(line)


async def send_on(client: HubClient, boxes: list[Created], ledger: Ledger, who: int) -> None:
    """One after the other, each with a body of its own, for as long as it is let."""
    n = 0
    while True:
        n += 1
        box, body = boxes[n % len(boxes)], f"{who}/{n}"
        try:
            ledger.accepted[body] = await client.send(box.box, box.sender_token, body)
        except HubError:
            await asyncio.sleep(0.01)  # doubtful, or over quota: never sent again under this name


async def receive_on(client: HubClient, ledger: Ledger) -> None:
    """Every message, and most of the acks at once."""
    async for message in client:
        ledger.take(message.box, message.id, message.text)
        if await message.ack():
            ledger.acked.add((message.box, message.id))


def kill_rounds(folder: Path, kills: int, seed: int) -> Report:
    """So many kills at random moments of traffic, then quiet; what was lost or came too often."""
    return uvloop.run(_kill_rounds(folder, kills, random.Random(seed)))


async def _kill_rounds(folder: Path, kills: int, dice: random.Random) -> Report:
    path, ledger, report = folder / "hub.db", Ledger(), Report()
    process, port = await start(path, free_port())
    url = f"ws://127.0.0.1:{port}/"
    reader, senders = HubClient(url), [HubClient(url) for _ in range(SENDERS)]
    for client in (reader, *senders):
        await client.open()
    boxes = [await reader.create(CREATE) for _ in range(BOXES)]
    await reader.subscribe({box.box: box.recipient_token for box in boxes})
    sending = [asyncio.create_task(send_on(c, boxes, ledger, n)) for n, c in enumerate(senders)]
    receiving = asyncio.create_task(receive_on(reader, ledger))
    try:
        for _ in range(kills):
            before = len(ledger.accepted)
            async with asyncio.timeout(START_S):
                while len(ledger.accepted) < before + dice.randrange(20, 200):
                    await asyncio.sleep(0.001)
            process.kill()
            await process.wait()
            report.kills += 1
            process, _ = await start(path, port)
        for task in sending:
            task.cancel()
        await asyncio.gather(*sending, return_exceptions=True)
        try:
            async with asyncio.timeout(SETTLE_S):
                while ledger.lost():
                    await asyncio.sleep(0.05)
        except TimeoutError:
            report.breaches += ledger.lost()
    finally:
        receiving.cancel()
        for client in (reader, *senders):
            await client.close()
        process.kill()
        await process.wait()
    report.breaches += ledger.breaches
    report.accepted, report.received = len(ledger.accepted), len(ledger.received)
    report.repeats = ledger.repeats
    return report
