"""Rounds: every contestant runs once in each, so that a slow moment of the machine hits all."""

import time
from collections import defaultdict
from pathlib import Path
from statistics import median

from msgspec import Struct

from bench import stand
from bench.disk import sync_us
from bench.shape import NO_STORE, Durability, Refused, Run, Say, Side, Taken

ROUNDS_MIN = 3
TINY_S = 10.0
"""Below so many seconds in all it is a rehearsal: one round."""


SLICE_S_MIN = 0.5
"""Where what is around a run takes long, too."""


class Plan(Struct, frozen=True):
    """How many rounds, how long each run of each may take, and when no new round is begun."""

    rounds: int
    slice_s: float
    seconds: float = float("inf")


def plan(seconds: float, slices: int, slice_s: float, around_s: float = 0.0) -> Plan:
    """Rounds that fill the time with slices of the wished length; at least three. Where a round
    takes some time besides them, that counts too, and three are not forced into less."""
    if around_s:
        rounds = max(1, int(seconds / (slices * slice_s + around_s)))
        rest_s = (seconds / rounds - around_s) / slices
        return Plan(rounds, max(SLICE_S_MIN, rest_s), seconds)
    rounds = 1 if seconds < TINY_S else max(ROUNDS_MIN, int(seconds / (slices * slice_s)))
    return Plan(rounds, seconds / (rounds * slices))


class Standings:
    """All that was taken, by side, name and setting."""

    def __init__(self) -> None:
        self.taken: dict[tuple[Side, str, str], list[Taken]] = defaultdict(list)
        self.syncs_us: list[float] = []
        """What an fdatasync took at the start of each round."""

    def add(self, run: Run, taken: list[Taken]) -> None:
        """One run has ended."""
        for one in taken:
            self.taken[(run.side, one.name, run.setting)].append(one)
        self._equal_durability()

    def _equal_durability(self) -> None:
        seen = {
            _same(one.durability): key
            for key, rounds in self.taken.items()
            for one in rounds
            if one.durability != NO_STORE
        }
        if len(seen) > 1:
            raise Refused(f"durability is unequal: {sorted((v, k) for k, v in seen.items())}")

    def settings(self, side: Side, name: str) -> dict[str, float]:
        """The median rate of each setting, the best first."""
        rates = {
            setting: median(one.rate for one in rounds)
            for (its_side, its_name, setting), rounds in self.taken.items()
            if (its_side, its_name) == (side, name)
        }
        return dict(sorted(rates.items(), key=lambda item: -item[1]))

    def rate(self, name: str, side: Side = "ours") -> float:
        """The median rate over the rounds, at the best setting."""
        return max(self.settings(side, name).values())

    def late_us(self, name: str) -> list[list[int]]:
        """How late each of ours was, part by part, of all rounds."""
        rounds = [its for key, its in self.taken.items() if key[:2] == ("ours", name)]
        return [part for taken in rounds for one in taken for part in one.late_us]

    def names(self, side: Side) -> list[str]:
        """Who ran on a side."""
        return list(dict.fromkeys(name for its_side, name, _ in self.taken if its_side == side))

    def agreement(self) -> float:
        """The share of what was taken in which all counts agree."""
        every = [one for rounds in self.taken.values() for one in rounds]
        return sum(one.agrees for one in every) / len(every)


def _same(durability: Durability) -> Durability:
    """SQLite's WAL and a PostgreSQL that leaves nothing out promise the same."""
    whole = durability.journal_mode == "wal, fsync on, full_page_writes on"
    return Durability("wal", durability.synchronous) if whole else durability


def hold(lineup: list[Run], planned: Plan, folder: Path, say: Say) -> Standings:
    """Run all rounds; each begins with another contestant."""
    standings = Standings()
    start_s = time.perf_counter()
    for number in range(planned.rounds):
        passed_s = time.perf_counter() - start_s
        if number and passed_s * (number + 1) / number > planned.seconds:
            say(f"after {passed_s:.0f} s there is no time for round {number + 1}")
            break
        standings.syncs_us.append(sync_us(folder))
        first = number % len(lineup)
        for run in lineup[first:] + lineup[:first]:
            taken = _one(run, planned.slice_s * run.slices, folder)
            standings.add(run, taken)
            for one in taken:
                passed_s = time.perf_counter() - start_s
                say(f"{passed_s:3.0f} s  round {number + 1}/{planned.rounds}  {_told(run, one)}")
    return standings


def _told(run: Run, one: Taken) -> str:
    counts = f"{one.accepted} accepted, {one.recorded} recorded, {one.received} received"
    verdict = counts if one.agrees else f"COUNTS DIFFER: {counts}"
    if one.late_us:
        count = sum(map(len, one.late_us))
        said = f"{one.seconds * 1e3:.1f} ms, p99 of {count:,}, {one.left_out} left out"
        said += f", others used at most {one.others:.0%} of the machine"
    else:
        said = f"{one.rate:,.0f}/s" if one.rate > 10 else f"{one.rate:.3g}"
    return f"{one.name} ({run.setting}): {said}, {verdict}"


def _one(run: Run, seconds: float, folder: Path) -> list[Taken]:
    place = folder / "round"
    place.mkdir()
    try:
        return stand.start(run, place, seconds)
    finally:
        for path in place.iterdir():
            path.unlink()
        place.rmdir()
