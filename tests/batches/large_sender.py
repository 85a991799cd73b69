"""A sender of one large batch: `python -m tests.batches.large_sender DSN MEMBERS`. The last member is due in
a day. It prints what it took."""

import sys
import time
from pathlib import Path

import msgspec
import uvloop

from postroad import Message, Postroad, Send
from tests.batches.large import Stored

DAY_S = 86_400.0


def peak_kib() -> int:
    """The most memory that this process has had."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM:")).split()[1])


async def store(dsn: str, members: int) -> Stored:
    """Store it, and tell its id, the seconds, and how much memory there was before and at most."""
    road = Postroad(dsn)

    @road.handler("member")
    async def member(message: Message) -> None: ...

    @road.handler("then")
    async def then(message: Message) -> None: ...

    async with road:
        before_kib = peak_kib()
        sends = [Send("member", [0, 0]) for _ in range(members - 1)]
        sends.append(Send("member", [0, 0], delay=DAY_S))
        start_s = time.perf_counter()
        receipt = await road.batch(sends, then=Send("then", [0, 0]))
        took_s = time.perf_counter() - start_s
        last = receipt.messages[-1].id
    grown_kib = peak_kib() - before_kib
    return Stored(receipt.id, last, took_s, before_kib, grown_kib)


if __name__ == "__main__":
    answer = uvloop.run(store(sys.argv[1], int(sys.argv[2])))
    sys.stdout.write(msgspec.json.encode(answer).decode() + "\n")
