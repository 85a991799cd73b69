"""The engine delivers to mailboxes: QUOTA holds a queue, CONTINUE lets it go on."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from postroad import Postroad
from postroad.config import Settings
from postroad.engine.drafting import Send
from postroad.model.block import BlockKind
from postroad.model.entities import DEFAULT_TENANT
from postroad.model.errors import BadInput
from postroad.model.hubs import KnownHub
from postroad.model.mailbox import Create, Take
from tests.hub.hall import new_box, recipient
from tests.hub.serving import SEND, Served, serving, some_boxes

QUIET = Settings(log_level="warning")


async def until(holds: Callable[[], Awaitable[bool]], seconds: float = 60.0) -> None:
    async with asyncio.timeout(seconds):
        while not await holds():
            await asyncio.sleep(0.05)


def road_at(path: Path, port: int, **options: Any) -> Postroad:
    hub = KnownHub(f"ws://127.0.0.1:{port}", SEND, **options)
    return Postroad(f"sqlite:///{path}", settings=structs.replace(QUIET, hubs=(hub,)))


async def waiting(served: Served, names: list[str]) -> list[int | None]:
    looked = await served.hub._store.box_look([(name, recipient(name)) for name in names])
    return looked.waiting


async def test_two_thousand_mailboxes_share_one_lane_and_a_full_one_holds_only_itself(
    tmp_path: Path,
) -> None:
    names = [f"box-{n}" for n in range(2_000)]
    full = names[::100]
    async with serving(tmp_path / "hub.db") as served:
        await served.hub._store.box_commit([Create(new_box(name, quota=2)) for name in names])
        address = f"hub://127.0.0.1:{served.port}/"
        async with road_at(tmp_path / "road.db", served.port) as road:
            await road.send_many([Send(address + name, name) for name in names])
            for n in range(4):
                await road.send_many([Send(address + name, f"more {n}") for name in full])
            run = asyncio.create_task(road.run())

            async def all_there() -> bool:
                return await waiting(served, names) == [
                    2 if n % 100 == 0 else 1 for n in range(2_000)
                ]

            async def blocked() -> bool:
                queues = [
                    await road.store.find_queue(DEFAULT_TENANT, address + name) for name in full
                ]
                return all(q and q.block and q.block.kind is BlockKind.quota for q in queues)

            await until(all_there)
            await until(blocked)
            lanes = {
                lane
                for name in names
                if (queue := await road.store.find_queue(DEFAULT_TENANT, address + name))
                for lane in queue.lanes
            }
            assert len(lanes) == 1
            # The recipients of the full ones empty them: three more wait for each.
            async with served.client() as reader:
                await served.hub._store.box_commit([Take(name, 1) for name in full])
                tokens = {name: f"recipient of {name}" for name in full}
                await reader.subscribe(tokens)
                got: dict[str, list[int]] = {}
                async with asyncio.timeout(60):
                    for _ in range(4 * len(full)):
                        message = await anext(reader)
                        got.setdefault(message.box, []).append(message.id)
                        assert await message.ack()
            assert got == {name: [2, 3, 4, 5] for name in full}
            road.stop()
            await run


async def test_a_continue_that_comes_before_the_block_is_written_still_lifts_it(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path / "hub.db") as served:
        await served.hub._store.box_commit([Create(new_box("a", quota=1))])
        queue = f"hub://127.0.0.1:{served.port}/a"
        async with road_at(tmp_path / "road.db", served.port) as road:
            await road.send(queue, "one")
            run = asyncio.create_task(road.run())
            async with served.client() as reader:
                await reader.subscribe({"a": "recipient of a"})
                # Each ack empties the mailbox and says CONTINUE while others are being refused.
                for n in range(2, 40):
                    await road.send(queue, str(n))
                seen: list[int] = []
                async with asyncio.timeout(80):
                    while len(seen) < 39:
                        message = await anext(reader)
                        seen.append(message.id)
                        assert await message.ack()
            assert seen == list(range(1, 40))
            road.stop()
            await run


async def test_a_hub_that_is_away_is_unreachable_and_its_return_is_enough(tmp_path: Path) -> None:
    async with serving(tmp_path / "hub.db") as served:
        async with served.client() as client:
            (box,) = await some_boxes(client, 1)
        port = served.port
    tokens = {box.box: box.sender_token}
    async with road_at(tmp_path / "road.db", port, mailbox_tokens=tokens) as road:
        receipt = await road.send(f"hub://127.0.0.1:{port}/{box.box}", "late")
        run = asyncio.create_task(road.run())

        async def tried() -> bool:
            return "unreachable" in str(await road.explain(receipt.id))

        await until(tried)
        async with serving(tmp_path / "hub.db", port=port) as served, served.client() as reader:
            await reader.subscribe({box.box: box.recipient_token})
            message = await asyncio.wait_for(anext(reader), 60)
            assert message.text == '"late"'
            assert await message.ack()
            road.stop()
            await run


@pytest.mark.parametrize(
    "queue",
    [
        "hub://",
        "hub://host/box",
        "hub://host:99999/box",
        "hub://host:1/",
        "hub://t@host:1/b",
        "hub://host:1/a/b",
        "hub://host:1/a?b",
        "hub://host:x/a",
        "hub://[/a",
        "hub://[::1:8601/a",
        "hub://host:1/" + "a" * 65,
    ],
)
async def test_a_bad_address_is_refused_by_name(tmp_path: Path, queue: str) -> None:
    async with road_at(tmp_path / "road.db", 1) as road:
        with pytest.raises(BadInput, match="hub://"):
            await road.send(queue, "x")
