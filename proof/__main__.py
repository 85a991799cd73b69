"""`python -m proof ITEM --seconds N` (without ITEM: all): exit 1 when something broke or the
floor was not reached. The last line is JSON.
"""

import argparse
import importlib
import sys
import time
from collections.abc import Callable

import msgspec

from proof.shape import Reached

# Adding one: its name, and a function that takes seconds and answers Reached.
ITEMS = {
    "blocked-claim": "proof.blocked_claim:prove",
    "simulation": "proof.simulation:prove",
    "cancel-races": "proof.simulation:prove_cancel",
    "cancel-all": "proof.everyday:prove_cancel_all",
    "fleet-kills": "proof.fleet:prove",
    "server-stops": "proof.fleet:prove_stops",
    "takeover": "proof.fleet:prove_takeover",
    "fleet-tests": "proof.suites:prove_fleet",
    "bench-tests": "proof.suites:prove_bench",
    "postgres-claim": "proof.claims:prove",
    "pinned-claim": "proof.claims:prove_pinned",
    "many-lanes": "proof.claims:prove_lanes",
    "pace": "proof.pacing:prove",
    "named-limit": "proof.pacing:prove_named",
    "campaign-rate": "proof.campaigns:prove_rate",
    "campaign-kills": "proof.campaigns:prove_kills",
    "postfix": "proof.mail:prove_postfix",
    "mail-kills": "proof.mail:prove_kills",
    "replay": "proof.everyday:prove_replay",
    "explain": "proof.everyday:prove_explain",
    "cron-days": "proof.cron_days:prove",
    "kills": "proof.kills:prove",
    "crash-loop": "proof.kills:prove_crash_loop",
    "wal-cuts": "proof.kills:prove_wal_cuts",
    "publish-kills": "proof.publishing:prove",
    "batches": "proof.batches:prove",
    "large-batch": "proof.batches:prove_large",
    "replaces": "proof.replacing:prove",
    "stops": "proof.stopping:prove",
    "hub-kills": "proof.hub:prove",
    "hub-orders": "proof.hub:prove_orders",
    "rabbit-kills": "proof.rabbit:prove_kills",
    "rabbit-channels": "proof.rabbit:prove_channels",
    "rabbit-workers": "proof.rabbit:prove_workers",
    "rabbit-times": "proof.rabbit:prove_times",
    "dropped-answers": "proof.house:prove",
    "server-kills": "proof.serving:prove",
    "schema": "proof.schema:prove",
    "tenants": "proof.tenants:prove",
    "neighbours": "proof.tenants:prove_neighbours",
    "neighbours-unguarded": "proof.tenants:prove_unguarded",
    "hostile": "proof.hostile.scenario:prove",
    "upgrade": "proof.upgrading:prove",
    "first-job": "proof.packages:prove",
    "hostile-text": "proof.schema:prove_hostile",
}


def main(arguments: list[str], items: dict[str, str] | None = None) -> int:
    items = items or ITEMS
    parser = argparse.ArgumentParser(prog="python -m proof", description=__doc__)
    parser.add_argument("item", nargs="?", choices=sorted(items), help="without it: all")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long an item may go on")
    asked = parser.parse_args(arguments)
    chosen = [asked.item] if asked.item else list(items)
    reached = {item: _prove(item, items[item], asked.seconds) for item in chosen}
    if not asked.item:
        holding = sum(one.holds for one in reached.values())
        broken = sum(one.broken for one in reached.values())
        _line("all", Reached(len(chosen), holding, broken))
    return 0 if all(one.holds for one in reached.values()) else 1


def find(dotted: str) -> Callable[[float], Reached]:
    """The function that an item names."""
    module, name = dotted.split(":")
    function: Callable[[float], Reached] = getattr(importlib.import_module(module), name)
    return function


def _prove(item: str, dotted: str, seconds: float) -> Reached:
    start_s = time.perf_counter()
    _say(f"proof {item} …")
    reached = find(dotted)(seconds)
    verdict = "holds" if reached.holds else "DOES NOT HOLD"
    _say(f"proof {item}: {verdict}, {time.perf_counter() - start_s:.0f} s")
    _line(item, reached)
    return reached


def _line(item: str, reached: Reached) -> None:
    _say(msgspec.json.encode({"item": item, **msgspec.structs.asdict(reached)}).decode())


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
