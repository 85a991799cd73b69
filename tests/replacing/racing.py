"""Racing replaces: of many that are sent at once, one of each key is delivered, with the last body."""

import asyncio
import time
from collections import Counter, defaultdict
from contextlib import AsyncExitStack
from random import Random

import msgspec
from msgspec import Struct, field

from postroad import Message, Postroad, Receipt

DELAY_S = 3_600.0
AT_ONCE = 500
SENDERS = 4
SOON_S = 0.3
MOST_S = 0.5
COMMIT_S = 0.2
"""A commit that takes longer may let an earlier body out as well: so says the promise."""
PATIENCE_S = 300.0


class RaceReport(Struct):
    """What was sent, and what broke."""

    sent: int = 0
    replaced: int = 0
    started: int = 0
    slow: int = 0
    """Sends of the race of what becomes due that took longer than the promise allows a commit."""
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
            report.breaches.append(f"answers: {Counter(answers)}")
        report.replaced = answers.count("replaced")
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


class Sent(Struct):
    """One send of the race with what becomes due: its key, and what it was told."""

    id: str
    key: int
    earlier: str
    took_s: float


async def race_with_due(dsn: str, replaces: int, keys: int, roads: int) -> RaceReport:
    """Send from four senders, each any of the keys, while all roads deliver: what is replaced would be
    due in a moment. After the last body of each key all that was not replaced is delivered, once."""
    report = RaceReport()
    got: dict[int, list[int]] = defaultdict(list)
    async with AsyncExitStack() as stack:
        entered = [await stack.enter_async_context(_road(dsn, got)) for _ in range(roads)]
        running = [asyncio.create_task(road.run()) for road in entered]
        shares = [range(place, replaces, SENDERS) for place in range(SENDERS)]
        sending = [_send_soon(entered[n % roads], n, shares[n], keys) for n in range(SENDERS)]
        sent = {n: one for share in await asyncio.gather(*sending) for n, one in share.items()}
        last = range(replaces, replaces + keys)
        sent |= {n: await _send_one(entered[0], n - replaces, n) for n in last}
        states = await _ended(entered[0], len(sent), report)
        for road in entered:
            road.stop()
        await asyncio.gather(*running)
    calls = Counter(number for numbers in got.values() for number in numbers)
    _judge(sent, states, calls, last, report)
    return report


async def _send_soon(road: Postroad, place: int, numbers: range, keys: int) -> dict[int, Sent]:
    """One after the other: so a send takes little longer than its commit."""
    dice = Random(place)
    return {n: await _send_one(road, dice.randrange(keys), n) for n in numbers}


async def _send_one(road: Postroad, key: int, number: int) -> Sent:
    start_s, most_s = time.monotonic(), MOST_S if key % 2 else 0.0
    receipt = await road.send(
        "note", [key, number], replace=f"k{key}", delay=SOON_S, at_most=most_s
    )
    return Sent(receipt.id, key, receipt.earlier, time.monotonic() - start_s)


async def _ended(road: Postroad, sent: int, report: RaceReport) -> dict[str, str]:
    """The states of all messages, when all have ended."""
    until_s = time.monotonic() + PATIENCE_S
    while True:
        states, after = dict[str, str](), ""
        while True:
            page = await road.messages.list(queue="note", limit=500, after=after)
            states |= {one.id: one.state for one in page.messages}
            if not (after := page.after):
                break
        ended = sum(state in ("delivered", "cancelled") for state in states.values())
        if ended == sent or time.monotonic() > until_s:
            if ended != sent:
                report.breaches.append(f"{ended} of {sent} have ended: {Counter(states.values())}")
            return states
        await asyncio.sleep(0.2)


def _judge(
    sent: dict[int, Sent],
    states: dict[str, str],
    calls: Counter[int],
    last: range,
    report: RaceReport,
) -> None:
    """Nothing that was replaced is delivered, all else once; a slow commit excuses one of its key."""
    told = Counter(one.key for one in sent.values() if one.earlier == "replaced")
    gone = {n: one for n, one in sent.items() if states.get(one.id) == "cancelled"}
    slow = Counter(one.key for one in sent.values() if one.took_s > COMMIT_S)
    both = Counter(one.key for n, one in gone.items() if n in calls)
    if Counter(one.key for one in gone.values()) != told:
        report.breaches.append(f"{len(gone)} are cancelled, {told.total()} were told replaced")
    for key in both - slow:
        report.breaches.append(f"key {key}: {both[key]} were replaced and delivered")
    for n, one in sent.items():
        if n not in gone and calls[n] != 1:
            report.breaches.append(
                f"{n}, which {one.earlier or 'nothing'}: called {calls[n]} times"
            )
    report.breaches += [f"{n}, a last one, is cancelled" for n in last if n in gone]
    report.breaches += [f"{n}: called {count} times" for n, count in calls.items() if count != 1]
    report.sent, report.replaced = len(sent), told.total()
    report.started = sum(one.earlier == "started" for one in sent.values())
    report.slow = slow.total()
