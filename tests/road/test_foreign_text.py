"""What handlers, receivers and brokers say is recorded on every store, whatever is in it."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from postroad import Message, Postroad, Reject, RetryLater
from postroad.model import foreign
from postroad.model.foreign import CHARACTERS_MAX
from postroad.model.states import State
from postroad.stores.rabbitmq.topology import creating
from tests.servers.postgres import PrivatePostgres
from tests.servers.rabbitmq import PrivateRabbit

TEXTS = ["a\0b", "half \ud83d", "\x1b[2J\x07\x9b", "m" * (1 << 20), "\0" * 5_000, "\ud800\0" * 900]
STORES = ["sqlite", "postgres", "rabbitmq", "rabbitmq on postgres"]


@pytest.fixture(params=STORES)
def dsn(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    state = f"sqlite:///{tmp_path}/road.db"
    if "postgres" in request.param:
        server: PrivatePostgres = request.getfixturevalue("server")
        state = server.create_road()
    if "rabbitmq" not in request.param:
        yield state
        return
    monkeypatch.setattr(creating, "SAFE_S", 0.0)
    broker: PrivateRabbit = request.getfixturevalue("broker")
    made = broker.create_vhost()
    yield f"{made}?state={state}"
    broker.delete_vhost(made)


def run(dsn: str) -> tuple[list[str], list[State]]:
    """Errors of the dead, and how everything ended."""

    async def story() -> tuple[list[str], list[State]]:
        road = Postroad(dsn)
        tries: dict[str, int] = {}

        @road.handler("work", retries=0)
        async def work(message: Message[int]) -> None:
            tries[message.id] = tries.get(message.id, 0) + 1
            text = TEXTS[message.body % len(TEXTS)]
            how = message.body // len(TEXTS)
            if how == 0:
                raise ValueError(text)
            if how == 1:
                raise Reject(text)
            if tries[message.id] == 1:
                raise RetryLater(0.01, text)

        async with road, asyncio.timeout(60):
            sent = await road.send_many([("work", n) for n in range(3 * len(TEXTS) + 1)])
            running = asyncio.create_task(road.run())

            async def ended() -> list[State]:
                return [(await road.explain(one.id)).state for one in sent]

            while {State.waiting, State.sending, State.held} & set(await ended()):
                assert not running.done(), running.exception()
                await asyncio.sleep(0.02)
            dead = (await road.dead.list(limit=100)).messages
            states = await ended()
            road.stop()
            await running
            return [one.error for one in dead], states

    return asyncio.run(story())


def test_nothing_that_is_said_breaks_the_record(dsn: str) -> None:
    errors, states = run(dsn)
    assert len(errors) == 2 * len(TEXTS)
    assert states.count(State.dead) == 2 * len(TEXTS)
    assert states.count(State.delivered) == len(TEXTS) + 1
    for error in errors:
        assert 0 < len(error) <= CHARACTERS_MAX
        assert not [c for c in error if not c.isprintable() or "\ud800" <= c < "\ue000"]


@pytest.mark.wide
def test_without_the_door_the_store_refuses_and_each_row_is_written_by_itself(
    tmp_path: Path, server: PrivatePostgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others are recorded, and the refused ones with their texts left out."""
    monkeypatch.setattr(foreign, "TABLE", {})
    monkeypatch.setattr(f"{__name__}.TEXTS", ["fine", "also fine", "\ud83d\0", "good"])
    for dsn in (server.create_road(), f"sqlite:///{tmp_path}/road.db"):
        errors, states = run(dsn)
        assert states.count(State.dead) == 8
        assert states.count(State.delivered) == 5
        assert sum("could not be stored" in error for error in errors) in (1, 2)
        assert sum("fine" in error for error in errors) == 4
