"""Explain foretells, and simulated time shows: for the quick test and for the proof."""

import asyncio
import random
from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from postroad.model.errors import BadInput
from postroad.model.explain import Explanation
from postroad.model.ids import to_number, to_text
from postroad.model.limits import Limits
from postroad.model.next_step import NextKind
from postroad.model.states import State
from tests.rig import receivers
from tests.rig.receivers import QUICK, Behaviour
from tests.rig.world import World, simulate

SERVERS = ("ash", "birch", "cedar")
LATE_MS = 1_000
TAKEOVER_MS = 60_000
"""So long after a crash nobody may serve what the dead one owned."""
SILENT = ("unreachable", "unknown")


class Foretold(Struct, frozen=True):
    """What was said about a message, and when."""

    at_ms: int
    number: int
    told: Explanation


class Seer:
    """Asks about all messages at random moments, and holds what was said against what came."""

    def __init__(self, world: World, seed: int) -> None:
        self.world = world
        self.seed = seed
        self.broken: list[str] = []
        self.checked: Counter[str] = Counter()
        self._said: list[Foretold] = []
        self._exact: list[Foretold] = []
        self._watchers: list[asyncio.Task[None]] = []
        self.touched_ms: list[int] = []
        """When somebody intervened: replayed, resumed, cancelled."""
        self.sent_ms: list[int] = []
        self.sent_to: dict[str, list[int]] = defaultdict(list)
        """By server: when messages for it came, or fell due."""
        self.crashed_ms: list[int] = []

    async def explain(self, number: int) -> Explanation:
        """Asked of the engine that sends it, if one does: it alone knows that."""
        told = await self.world.client.explain(to_text(number))
        for member in list(self.world.members.values()):
            if told.state is not State.sending:
                told = await member.road.explain(to_text(number))
        return told

    async def look(self) -> None:
        """Ask about every message."""
        for number in list(self.world.ledger.sent):
            told = await self.explain(number)
            said = Foretold(self.world.clock.now_ms(), number, told)
            self._said.append(said)
            if told.next.exact:
                loop = asyncio.get_running_loop()
                self._watchers.append(loop.create_task(self._watch(said)))

    async def _watch(self, said: Foretold) -> None:
        """Just before its time: if it is still said, it has to come."""
        wait_ms = (said.told.next.not_before_ms or 0) - said.at_ms - 2
        if wait_ms > 0:
            await asyncio.sleep(wait_ms / 1000)
            again = await self.explain(said.number)
            if again.next != said.told.next:
                return
        self._exact.append(said)

    async def judge(self) -> None:
        """Hold all that was said against all that came."""
        for watcher in self._watchers:
            watcher.cancel()
        starts = self._starts()
        for said in self._said:
            self._judge_early(said, starts)
            self._judge_state(said)
        for said in self._exact:
            self._judge_exact(said, starts[said.number])

    def _starts(self) -> dict[int, list[int]]:
        zero_ms = self.world.clock.now_ms() - round(self.world.loop.time() * 1000)
        starts: dict[int, list[int]] = defaultdict(list)
        for at_s, _, words in self.world.loop.log:
            if words[0] == "start":
                starts[int(words[2] or 0)].append(zero_ms + round(at_s * 1000))
        return starts

    def _judge_early(self, said: Foretold, starts: dict[int, list[int]]) -> None:
        coming, mine = said.told.next, starts[said.number]
        until_ms = min((t for t in self.touched_ms if t > said.at_ms), default=1 << 62)
        if coming.what is NextKind.answer:
            return
        if coming.what is NextKind.after:
            self._judge_order(said, [t for t in mine if said.at_ms < t < until_ms], starts)
        if coming.what in (NextKind.attempt, NextKind.probe, NextKind.after):
            until_ms = min(until_ms, coming.not_before_ms or 0)
        if self._lifted(said, until_ms):
            return
        self.checked[f"next {coming.what}"] += 1
        early = [t for t in mine if said.at_ms < t < until_ms]
        if early and not self._advanced(said, early[0], starts):
            self._breach(said, f"started {early[0] - said.at_ms} ms after it was said")

    def _judge_order(self, said: Foretold, came: list[int], starts: dict[int, list[int]]) -> None:
        """Once it has started, the one before it never starts again."""
        before = starts[to_number(said.told.next.after)]
        if came and any(came[0] <= t <= came[-1] for t in before):
            self._breach(said, "it did not wait for the one before it")

    def _lifted(self, said: Foretold, until_ms: int) -> bool:
        """What is unreachable is so until an answer comes, also of a try that was under way."""
        server = said.told.queue.split("/")[2]
        silent = [block for block in said.told.blocks if block.kind == "unreachable"]
        answers = [r for r in self.world.ledger.book if r.lane == server and r.kind not in SILENT]
        return bool(silent) and any(said.at_ms <= r.ended_ms <= until_ms for r in answers)

    def _advanced(self, said: Foretold, start_ms: int, starts: dict[int, list[int]]) -> bool:
        """Whether new messages for a server that is away brought its probe before its time: they
        came after the probe before it."""
        if not any((b.scope, b.kind) == ("lane", "unreachable") for b in said.told.blocks):
            return False
        server = said.told.queue.split("/")[2]
        sent = self.world.ledger.sent
        there = [n for n in starts if n in sent and sent[n].queue.split("/")[2] == server]
        before = max((t for n in there for t in starts[n] if t < start_ms), default=0)
        return any(before <= t <= start_ms for t in self.sent_to[server])

    def _judge_exact(self, said: Foretold, starts: list[int]) -> None:
        due_ms = said.told.next.not_before_ms or 0
        if any(due_ms - 5 <= t <= due_ms + LATE_MS for t in self.touched_ms + self.sent_ms):
            return
        if any(due_ms - TAKEOVER_MS <= t <= due_ms + LATE_MS for t in self.crashed_ms):
            return
        if due_ms + LATE_MS > self.world.clock.now_ms():
            return
        self.checked["exact"] += 1
        if not any(due_ms <= t <= due_ms + LATE_MS for t in starts):
            self._breach(said, f"did not start then; it started at {starts}")

    def _judge_state(self, said: Foretold) -> None:
        tries = [r for r in self.world.ledger.book if r.message == said.number]
        under_way = any(r.started_ms < said.at_ms < r.ended_ms for r in tries)
        self.checked[f"state {said.told.state}"] += 1
        final = said.told.state in (State.sending, State.dead, State.cancelled)
        ages_ms = [said.at_ms - t for t in self.crashed_ms]
        if under_way and not final and not any(0 < age_ms < TAKEOVER_MS for age_ms in ages_ms):
            self._breach(said, "it was being sent")

    def _breach(self, said: Foretold, what: str) -> None:
        self.broken.append(
            f"seed {self.seed}: at {said.at_ms} of {said.number}: {what}: {said.told.next} "
            f"{said.told.blocks} {said.told.state}"
        )


def foretell(first_seed: int, worlds: int) -> tuple[Counter[str], list[str]]:
    """Lives through worlds and asks at random moments; answers what was checked, and what came
    otherwise than it was said."""
    checked: Counter[str] = Counter()
    broken: list[str] = []
    for seed in range(first_seed, first_seed + worlds):

        async def story(world: World, seed: int = seed) -> None:
            seer = Seer(world, seed)
            await _live(world, seer)
            await seer.judge()
            checked.update(seer.checked)
            broken.extend(seer.broken)

        simulate(seed, story, Limits(window=1 + seed % 3))
    return checked, broken


async def _live(world: World, seer: Seer) -> None:
    rng = world.loop.rng
    policy = replace(QUICK, skip_exhausted=rng.random() < 0.5)
    sim: Any = world.client._transports["sim"]
    sim._policy = policy
    _restart(world, policy)
    names = (*SERVERS, *(f"sim://{server}/a" for server in SERVERS))
    world.behaviours |= {name: _behaviour(rng, world.clock.now_ms()) for name in names}
    for _ in range(rng.randint(10, 25)):
        await _send(world, seer)
        await asyncio.sleep(rng.choice([0.0, 0.0, 0.3, 3.0]))
    for _ in range(rng.randint(10, 20)):
        await seer.look()
        await asyncio.sleep(rng.choice([0.002, 0.05, 0.7, 5.0, rng.uniform(0, 120)]))
        await _disturb(world, seer, policy)
    world.behaviours |= dict.fromkeys(names, receivers.good())
    for _ in range(6):
        await seer.look()
        await asyncio.sleep(rng.uniform(60, 1200))


def _restart(world: World, policy: Any) -> None:
    member = world.start(f"engine-{world.loop.time():.3f}")
    member.receivers._policy = policy


def _behaviour(rng: random.Random, now_ms: int) -> Behaviour:
    back_ms = now_ms + rng.randint(1, 600) * 1000
    return rng.choice(
        [
            receivers.good(rng.choice([0.0, 0.01, 5.0])),
            receivers.flaky(rng.uniform(0.3, 1.0), rng.choice([0.02, 5.0])),
            receivers.doubtful(rng.uniform(0.1, 0.9)),
            receivers.rejecting(0.5),
            receivers.away_until(back_ms),
            receivers.quota_until(back_ms, rng.choice([0, 30_000])),
        ]
    )


async def _send(world: World, seer: Seer) -> None:
    rng = world.loop.rng
    queue = f"sim://{rng.choice(SERVERS)}/{rng.choice(['a', 'b', 'once'])}"
    delay = rng.choice([0.0, 0.0, rng.uniform(0, 300)])
    options: dict[str, object] = {"delay": delay, "priority": rng.choice([0, 0, 5])}
    if not delay:
        options["order_key"] = rng.choice([None, None, "red", "blue"])
    if rng.random() < 0.2:
        ttl_s = delay + rng.uniform(1, 400)
        now = datetime.fromtimestamp(world.clock.now_ms() / 1000, UTC)
        options["expires_at"] = now + timedelta(seconds=ttl_s)
    await world.send(queue, **options)
    now_ms = world.clock.now_ms()
    seer.sent_ms.append(now_ms)
    seer.sent_to[queue.split("/")[2]] += [now_ms, now_ms + round(delay * 1000)]


async def _disturb(world: World, seer: Seer, policy: Any) -> None:
    """Somebody does something, or an engine dies and another comes."""
    rng, road = world.loop.rng, world.client
    draw, now_ms = rng.random(), world.clock.now_ms()
    if draw < 0.1:
        world.crash(rng.choice(sorted(world.members)))
        seer.crashed_ms.append(now_ms)
        _restart(world, policy)
        return
    if draw < 0.6:
        return
    seer.touched_ms.append(now_ms)
    queue = rng.choice(sorted({sent.queue for sent in world.ledger.sent.values()}))
    number = to_text(rng.choice(sorted(world.ledger.sent)))
    try:
        if draw < 0.7:
            await road.pause(queue)
        elif draw < 0.8:
            await road.resume(queue)
        elif draw < 0.9:
            await road.dead.replay(ids=[number], mode=rng.choice(["once", "reset"]))
        elif draw < 0.95:
            await road.cancel(number, wait=0.1)
        else:
            await road.unblock(queue)
    except BadInput:
        pass  # it was not dead
    seer.touched_ms.append(world.clock.now_ms())
