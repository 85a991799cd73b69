"""Settings in use are read again before they are too old, so that no try waits for that."""

import asyncio
import os
from collections.abc import Coroutine, Sequence
from contextlib import closing
from pathlib import Path

import msgspec

from postroad.model.entities import LaneKey, Policy, QueueSpec
from postroad.model.keyring import KeyRing
from postroad.model.webhook import Hook, HookRow, HookSecrets, WebhookRules
from postroad.ports.clock import LoopClock
from postroad.stores.sqlite.store import SqliteStore
from postroad.stores.sqlite.writer import InlineDrive
from postroad.testing.simloop import SimLoop
from postroad.transports.webhook.endpoints import FRESH_S, Endpoints


class Slow(SqliteStore):
    """A store that takes its time to answer about settings."""

    takes_s = 0.0
    asked = 0

    async def read_hooks(self, queues: Sequence[int]) -> list[HookRow]:
        self.asked += 1
        rows = await super().read_hooks(queues)
        await self.clock.sleep(self.takes_s)
        return rows


def simulated(story: Coroutine[object, object, None]) -> None:
    with closing(SimLoop(1)) as loop:
        loop.run(story, limit_s=3600)


async def opened(folder: Path) -> tuple[Slow, Endpoints, int]:
    store = Slow(folder / "road.db", LoopClock(), drive=InlineDrive)
    await store.open()
    lane = LaneKey("webhook", "https://there.example:443")
    spec = QueueSpec("default", "https://there.example/", lane, 1, Policy())
    (queue,) = await store.open_queues([spec])
    endpoints = Endpoints(store, KeyRing([], os.urandom), WebhookRules(), store.clock)
    return store, endpoints, queue.id


async def write(store: Slow, queue: int, turn: str) -> None:
    sealed = msgspec.json.encode(HookSecrets(headers={"x-turn": turn}))
    await store.write_hook(HookRow(queue, "default", msgspec.json.encode(Hook()), "", sealed))


def test_a_queue_in_use_never_waits_for_its_settings_and_has_no_old_ones(tmp_path: Path) -> None:
    async def story() -> None:
        store, endpoints, queue = await opened(tmp_path)
        store.takes_s = 0.3
        await write(store, queue, "0")
        await endpoints.ask(queue)
        changed_s, turn, seen = store.clock.steady_s(), 0, ["0"]
        while store.asked < 20:
            await store.clock.sleep(0.05)
            known = endpoints.get(queue)
            assert known is not None  # the try goes at once
            if known.headers["x-turn"] != str(turn):
                assert store.clock.steady_s() - changed_s < FRESH_S
            elif store.clock.steady_s() - changed_s > 5:
                changed_s, turn = store.clock.steady_s(), turn + 1
                await write(store, queue, str(turn))  # by another process
            seen += [known.headers["x-turn"]] if known.headers["x-turn"] != seen[-1] else []
        assert len(seen) > 3
        await store.close()

    simulated(story())


def test_what_did_not_change_is_not_opened_again(tmp_path: Path) -> None:
    async def story() -> None:
        store, endpoints, queue = await opened(tmp_path)
        await write(store, queue, "0")
        first = await endpoints.ask(queue)
        await store.clock.sleep(FRESH_S + 1)
        assert endpoints.get(queue) is None  # nobody used it: it was not read again
        assert await endpoints.ask(queue) is first
        assert store.asked == 2
        await write(store, queue, "1")
        endpoints.forget()
        assert (await endpoints.ask(queue)).headers == {"x-turn": "1"}
        await store.close()

    simulated(story())


def test_what_is_set_here_counts_at_once_also_while_it_is_being_read(tmp_path: Path) -> None:
    async def story() -> None:
        store, endpoints, queue = await opened(tmp_path)
        await write(store, queue, "0")
        store.takes_s = 1.0
        asking = asyncio.create_task(endpoints.ask(queue))
        await store.clock.sleep(0.5)  # the old ones are read already, and on their way
        await write(store, queue, "1")
        endpoints.forget()
        assert (await asking).headers == {"x-turn": "1"}
        assert store.asked == 2
        await store.close()

    simulated(story())
