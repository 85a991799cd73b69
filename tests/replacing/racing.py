"""Racing replaces: of many that are sent at once, one of each key is delivered, with the last body."""

import asyncio
from collections import defaultdict
from contextlib import AsyncExitStack

import msgspec
from msgspec import Struct, field

from postroad import Message, Postroad, Receipt

DELAY_S = 3_600.0
AT_ONCE = 500


class RaceReport(Struct):
    """What was sent, and what broke."""

    sent: int = 0
    breaches: list[str] = field(default_factory=list)


async def race(dsn: str, replaces: int, keys: int, roads: int) -> RaceReport:
    """Send from several roads at once. A key belongs to one road, which sends its bodies in order and
    without waiting between; the sends of all roads race."""
    report = RaceReport(replaces)
    got: dict[int, list[int]] = defaultdict(list)
    async with AsyncExitStack() as stack:
        entered = [await stack.enter_async_context(_road(dsn, got)) for _ in range(roads)]
        sent = await asyncio.gather(
            *[_send(road, place, replaces, keys, roads) for place, road in enumerate(entered)]
        )
        answers = [receipt.earlier for receipts in sent for receipt in receipts]
        if sorted(answers) != [""] * keys + ["replaced"] * (replaces - keys):
            report.breaches.append(f"answers: { {one: answers.count(one) for one in answers} }")
        last = {key: max(range(key, replaces, keys)) for key in range(keys)}
        await _let_go(entered[0], keys, last, report)
        await entered[0].run(until_idle=True)
    report.breaches += [f"{key}: {got[key]}" for key in last if got[key] != [last[key]]]
    return report


def _road(dsn: str, got: dict[int, list[int]]) -> Postroad:
    road = Postroad(dsn)

    @road.handler("note")
    async def note(message: Message[tuple[int, int]]) -> None:
        key, number = message.body
        got[key].append(number)

    return road


async def _send(road: Postroad, place: int, replaces: int, keys: int, roads: int) -> list[Receipt]:
    """All of this road's keys, in order, many at once."""
    numbers = [n for n in range(replaces) if n % keys % roads == place]
    receipts: list[Receipt] = []
    for start in range(0, len(numbers), AT_ONCE):
        chosen = numbers[start : start + AT_ONCE]
        sends = [
            road.send("note", [n % keys, n], replace=f"k{n % keys}", delay=DELAY_S) for n in chosen
        ]
        receipts += await asyncio.gather(*sends)
    return receipts


async def _let_go(road: Postroad, keys: int, last: dict[int, int], report: RaceReport) -> None:
    """One of each key waits, with its last body. Then each is replaced by the same, due now."""
    waiting = (await road.messages.list(queue="note", state="waiting", limit=500)).messages
    bodies = [msgspec.json.decode((await road.messages.body(one.id)).body) for one in waiting]
    if dict(bodies) != last or len(bodies) != keys:
        report.breaches.append(f"{len(bodies)} wait: {bodies}")
    for key, number in last.items():
        receipt = await road.send("note", [key, number], replace=f"k{key}")
        if receipt.earlier != "replaced":
            report.breaches.append(f"key {key}: {receipt}")
