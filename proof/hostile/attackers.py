"""All hostile clients at the same time, in one process: `python -m proof.hostile.attackers TARGET`.

They go on until its standard input ends; TARGET is JSON. What each did is its last line."""

import asyncio
import os
import sys
from typing import Any

import msgspec
import uvloop

from proof.hostile.clients import ATTACKS, Attack, Target


async def attack(target: Target, attacks: tuple[Attack, ...] = ATTACKS) -> dict[str, str]:
    """Each until it is done or the input ends: how each ended."""
    told: dict[str, str] = {}

    async def one(each: Attack) -> None:
        name: str = getattr(each, "__name__", "")
        told[name] = "under way"
        try:
            await each(target)
            told[name] = "done"
        except Exception as error:  # noqa: BLE001 - the others go on
            told[name] = repr(error)

    tasks = [asyncio.ensure_future(one(each)) for each in attacks]
    _ = await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    for task in tasks:
        task.cancel()
    ended: list[Any] = await asyncio.gather(*tasks, return_exceptions=True)
    return told if ended else {}


if __name__ == "__main__":
    os.nice(15)  # what they do to the road is the question, not what they do to the machine
    ended = uvloop.run(attack(msgspec.json.decode(sys.argv[1], type=Target)))
    sys.stdout.write(msgspec.json.encode(ended).decode() + "\n")
