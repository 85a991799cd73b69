"""All hostile clients at the same time, in one process: `python -m proof.hostile.attackers TARGET`.

They go on until its standard input ends; TARGET is JSON. When all that have an end are done it says
so; how each ended is its last line."""

import asyncio
import os
import sys
from typing import Any

import msgspec
import uvloop

from proof.hostile import bouncers, browsers, clients
from proof.hostile.clients import Attack, Target

ATTACKS = (*clients.ATTACKS, *bouncers.BOUNCERS, *browsers.BROWSERS)
ENDLESS = (*clients.ENDLESS, *bouncers.ENDLESS, *browsers.ENDLESS)


async def attack(target: Target) -> dict[str, str]:
    """Each until it is done or the input ends: how each ended."""
    told: dict[str, str] = {}
    attacks = [each for each in ATTACKS if not target.only or each.__name__ in target.only]

    async def one(each: Attack) -> None:
        name = each.__name__
        told[name] = "under way"
        try:
            await each(target)
            told[name] = "done"
        except Exception as error:  # noqa: BLE001 - the others go on
            told[name] = repr(error)

    tasks = [asyncio.ensure_future(one(each)) for each in attacks]
    ending = [task for task, each in zip(tasks, attacks, strict=True) if each not in ENDLESS]
    over = asyncio.gather(*ending, return_exceptions=True)
    over.add_done_callback(lambda _: _say("over"))
    _ = await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    for task in tasks:
        task.cancel()
    ended: list[Any] = await asyncio.gather(*tasks, return_exceptions=True)
    return told if ended else {}


def _target() -> Target:
    return msgspec.json.decode(sys.argv[1], type=Target)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    os.nice(15)  # what they do to the road is the question, not what they do to the machine
    _say(msgspec.json.encode(uvloop.run(attack(_target()))).decode())
