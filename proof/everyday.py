"""replay: 10,000 dead while the engine runs. cancel-all: 300,000 beside traffic. explain: random histories until the time is over."""

import asyncio
import sys
import tempfile
import time
from collections import Counter

from proof.shape import Reached
from tests.servers.postgres import PrivatePostgres
from tests.verbs.cancelling_all import cancel_under_traffic
from tests.verbs.foretelling import foretell
from tests.verbs.replaying import replay_chains

REPLAYS, EXACT_FLOOR = 10_000, 1_000
STEP = 20
HELD = 300_000


def prove_replay(_seconds: float, count: int = REPLAYS) -> Reached:
    """Each has exactly one more chain, in both modes; it takes as long as it takes."""
    replayed, broken = [], list[str]()
    for mode in ("once", "reset"):
        number, breaches = replay_chains(int(time.time()), count, mode)
        replayed.append(number)
        broken += breaches
        sys.stdout.write(f"{number} replayed, mode {mode}, {len(breaches)} broken\n")
    sys.stdout.write("".join(f"{line}\n" for line in broken[:20]))
    return Reached(floor=count, reached=min(replayed), broken=len(broken))


def prove_cancel_all(_seconds: float, held: int = HELD) -> Reached:
    """All of a queue cancelled beside traffic, on both stores, and counted right."""
    reached, broken = held, list[str]()
    with tempfile.TemporaryDirectory() as folder, PrivatePostgres() as server:
        for dsn in (f"sqlite:///{folder}/road.db", server.create_road()):
            seen = asyncio.run(cancel_under_traffic(dsn, held))
            reached = min(reached, seen.answer.cancelled)
            broken += seen.broken
            sys.stdout.write(
                f"{dsn.partition(':')[0]}: {seen.answer.cancelled} in {seen.took_s:.1f} s, "
                f"{seen.steps} steps, a send waited {seen.worst_send_ms:.0f} ms at most\n"
            )
    sys.stdout.write("".join(f"{line}\n" for line in broken[:20]))
    return Reached(floor=held, reached=reached, broken=len(broken))


def prove_explain(seconds: float, floor: int = EXACT_FLOOR) -> Reached:
    """What was said to come next against what came: so many exact times, and all the others."""
    first, until_s = int(time.time()), time.monotonic() + seconds
    checked, broken = Counter[str](), list[str]()
    while checked["exact"] < floor or time.monotonic() < until_s:
        more, breaches = foretell(first, STEP)
        first += STEP
        checked += more
        broken += breaches
        sys.stdout.write(f"{checked['exact']} exact times, {len(broken)} broken\n")
    sys.stdout.write("".join(f"{line}\n" for line in broken[:20]))
    return Reached(floor=floor, reached=checked["exact"], broken=len(broken))
