"""hostile: everybody who is not trusted does their worst at the same time, beside a hundred honest
endpoints. Each pair has a road of its own: a calm part, then one under attack."""

import asyncio
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from msgspec import Struct

from bench.lateness import Ratio, over, p99_us
from bench.others import Others
from bench.stillness import Span, Spans, Stillness
from proof.hostile.browsers import Unanswered
from proof.hostile.load import AHEAD_MS, Load
from proof.hostile.stage import EVIL, PATIENCE_S, Process, Road, Stage, attacked, prepare_campaign
from proof.shape import Reached

RATIO_MAX: Final = 1.5
RSS_MAX_MB: Final = 400.0
LOG_LINES_MAX: Final = 100
STOP_MAX_S: Final = 20.0
PART_S: Final = 6.0
LEAD_S: Final = 1.5
RECIPIENTS: Final = 200
PAIRS_MIN: Final = 2
UNTOLD: Final = Unanswered.__name__
PROVIDER: Final = "provider"
NOBODY: Final = ("nobody",)
"""No attack at all: a second calm part, the measure's own noise."""


class Pair(Struct, frozen=True):
    """A calm part and the one under attack after it, on one road."""

    calm_us: list[int]
    attacked_us: list[int]
    breaches: list[str]
    rss_mb: float
    log_lines: int
    stop_s: float
    others: float
    attacks: dict[str, str]

    def __str__(self) -> str:
        late = [
            p99_us(part) / 1e3 if part else float("inf")
            for part in (self.calm_us, self.attacked_us)
        ]
        return (
            f"p99 {late[0]:.1f} ms calm, {late[1]:.1f} ms attacked; {self.rss_mb:.0f} MB, "
            f"{self.log_lines} log lines, stopped in {self.stop_s:.1f} s, others {self.others:.0%}"
        )


def prove(seconds: float) -> Reached:
    """Pairs while there is time; all that must hold, holds in each, and the lateness over all."""
    pairs: list[Pair] = []
    quiet: list[Pair] = []
    until_s = time.monotonic() + seconds
    while len(pairs) < PAIRS_MIN or time.monotonic() < until_s:
        quiet.append(_played("calm", Plan(only=NOBODY)))
        pairs.append(_played("attacked", Plan()))
    broken = sum(len(pair.breaches) for pair in pairs)
    ratio = _over(pairs)
    _say(f"calm over calm: {_over(quiet)}")
    _say(f"attacked over calm: {ratio}, at most {RATIO_MAX}")
    control = _played("without guards", Plan(guards=False))
    blind = not control.breaches and p99_us(control.attacked_us) < 2 * p99_us(control.calm_us)
    _say("the control was not seen" if blind else "the control was seen")
    return Reached(floor=1 / RATIO_MAX, reached=1 / ratio.value, broken=broken + blind)


def _played(name: str, plan: "Plan") -> Pair:
    pair = play(plan)
    _say(f"{name}: {pair}; {len(pair.breaches)} breaches")
    _say("".join(f"  {each}\n" for each in pair.breaches[:20]).rstrip())
    return pair


def _over(pairs: list[Pair]) -> Ratio:
    return over([pair.attacked_us for pair in pairs], [pair.calm_us for pair in pairs])


class Plan(Struct, frozen=True):
    """How a pair is played."""

    part_s: float = PART_S
    scale: float = 1.0
    """How much of the attack."""
    guards: bool = True
    only: tuple[str, ...] = ()
    """These attacks alone: to find out who makes the honest ones late."""


def play(plan: Plan) -> Pair:
    """One pair."""
    with tempfile.TemporaryDirectory(prefix="postroad-hostile-") as name:
        return asyncio.run(_play(Path(name), plan))


async def _play(folder: Path, plan: Plan) -> Pair:
    still, others = Stillness(), Others()
    try:
        with Stage(folder) as stage:
            road = Road(folder, stage.hubs, guards=plan.guards)
            try:
                return await _parts(stage, road, plan, (still, others))
            finally:
                _ = road.stop()  # once more does nothing
    finally:
        if still.process.poll() is None:
            _ = still.end()


async def _parts(stage: Stage, road: Road, plan: Plan, watch: tuple[Stillness, Others]) -> Pair:
    part_s, scale = plan.part_s, plan.scale
    tokens = (road.token(EVIL), road.token("dead"))
    prepare_campaign(road, stage.strangers["provider"], max(1, round(RECIPIENTS * scale)))
    load = Load("127.0.0.1", road.port, road.door.token, stage.urls)
    _ = await load.part(1.0, 0.0)  # connections and lanes are made
    calm = await load.part(part_s, 0.0)
    missing = [await _all_came(stage, load, road)]
    with attacked(stage.target(road, tokens, scale, plan.only)) as (attackers, attacks):
        if not plan.only or PROVIDER in plan.only:
            road.ask("POST", "/v1/campaigns/x/start")
        troubled = await load.part(part_s, min(LEAD_S, part_s / 3))
        missing.append(await _all_came(stage, load, road))
        if not plan.only:
            missing.append(await _all_played(stage, road, attackers))
    alive = road.process.poll() is None
    rss_mb = road.rss_max_mb() if alive else 0.0
    stop_s = road.stop()
    spans, share = watch[0].end(), watch[1].share()
    ledger = dict(stage.ledger())
    kinds = [_late(due, ledger, spans) for due in (calm, troubled)]
    pair = Pair(kinds[0], kinds[1], [], rss_mb, len(road.log()), stop_s, share, attacks)
    pair.breaches.extend(_breaches(pair, load, ledger, alive=alive))
    pair.breaches.extend(each for each in missing if each)
    pair.breaches.extend(f"{who}: {end}" for who, end in attacks.items() if UNTOLD in end)
    pair.breaches.extend(f"a flood was taken to its end: {name}" for name in stage.taken())
    pair.breaches.extend(f"  log: {line[:200]}" for line in road.log()[-3:] if pair.breaches)
    return pair


def _breaches(pair: Pair, load: Load, ledger: dict[int, int], *, alive: bool) -> list[str]:
    """What must hold and does not, lateness aside."""
    lost = load.accepted - set(ledger)
    checks = {
        "the server has ended": alive,
        f"{len(lost)} accepted and never delivered": not lost,
        f"{len(load.refused)} not accepted, {load.refused[:3]}": not load.refused,
        f"{pair.rss_mb:.0f} MB, at most {RSS_MAX_MB:.0f}": pair.rss_mb < RSS_MAX_MB,
        f"{pair.log_lines} lines in the log": pair.log_lines < LOG_LINES_MAX,
        f"{pair.stop_s:.0f} s to stop": pair.stop_s < STOP_MAX_S,
    }
    return [told for told, held in checks.items() if not held]


async def _all_came(stage: Stage, load: Load, road: Road) -> str:
    """Wait until the honest ones have all that was accepted; what is missing after all patience."""
    await asyncio.sleep(AHEAD_MS / 1_000)
    until = time.monotonic() + PATIENCE_S
    while (came := stage.came) < len(load.accepted):
        if time.monotonic() > until or road.process.poll() is not None:
            return f"{len(load.accepted) - came} had not come, and nobody waited longer"
        await asyncio.sleep(0.05)
    return ""


async def _all_played(stage: Stage, road: Road, attackers: Process) -> str:
    """Wait until everybody has had their turn."""
    until = time.monotonic() + PATIENCE_S
    while stage.unmet() or not attackers.says_something(0):
        if time.monotonic() > until or road.process.poll() is not None:
            return f"the attack was not over; never asked: {sorted(stage.unmet())}"
        await asyncio.sleep(0.05)
    return ""


def _late(due_us: dict[int, int], ledger: dict[int, int], seen: list[Span]) -> list[int]:
    """How late each was, without those that the whole machine held up."""
    spans = Spans(seen)
    every = [(due, ledger[number]) for number, due in due_us.items() if number in ledger]
    kept = [came - due for due, came in every if not spans.within(due, came)]
    if len(kept) < len(every) / 2:  # then it is this machine's usual state
        kept = [came - due for due, came in every]
    return kept


def _say(text: str) -> None:
    if text:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
