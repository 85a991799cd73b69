"""What a handler returns is kept for a while, and who waits for it is told by the bell."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from postroad import Exponential, Message, Postroad, Reject, Settings
from postroad.errors import (
    BadInput,
    JobFailed,
    NoResult,
    NotOnRabbitMQ,
    ResultTimeout,
    UnknownMessage,
)
from postroad.sync import Postroad as Blocking
from postroad.testing.rehearsal import Rehearsal
from postroad.verbs import ending
from tests.jobs.conftest import Within


@dataclass
class Square:
    of: int
    is_: int


@asynccontextmanager
async def running(road: Postroad) -> AsyncIterator[Postroad]:
    """An open road that delivers."""
    road.hears_signals = False
    async with road:
        work = asyncio.create_task(road.run())
        try:
            yield road
        finally:
            road.stop()
            await work


def test_a_result_is_awaited_by_its_receipt(
    dsn: str, within: Within, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rung for: whoever waits would look again by himself only after an hour."""
    monkeypatch.setattr(ending, "LOOK_S", 3600.0)
    monkeypatch.setattr(ending, "SOON_S", 3600.0)
    road, asking = Postroad(dsn), Postroad(dsn) if "postgres" in dsn else None

    @road.handler("square", result_ttl=60)
    async def square(number: int) -> Square:
        await asyncio.sleep(0.05)
        return Square(number, number**2)

    @road.handler("nothing", result_ttl=60)
    def nothing(message: Message) -> None: ...

    async def story() -> None:
        async with running(road):
            receipt = await square.send(7)
            assert await receipt.result(timeout=30) == {"of": 7, "is_": 49}
            assert await receipt.result() == {"of": 7, "is_": 49}  # again
            assert await (await nothing.send({})).result(timeout=30) is None
            if asking is not None:  # another process
                async with asking:
                    receipt = await asking.send("square", 8)
                    assert await receipt.result(timeout=30) == {"of": 8, "is_": 64}

    within(story())


def test_a_failure_raises_with_the_remote_error(dsn: str, within: Within) -> None:
    road = Postroad(dsn)

    @road.handler("work", result_ttl=60, retries=0)
    async def work(message: Message[str]) -> object:
        if message.body == "raise":
            raise ValueError("no such photo")
        if message.body == "reject":
            raise Reject("never")
        return {"large": "x" * (1 << 20)} if message.body == "large" else {1, object}

    async def story() -> None:
        async with running(road):
            with pytest.raises(
                JobFailed, match=r"dead \(exhausted\): ValueError: no such photo"
            ) as e:
                await (await work.send("raise")).result(timeout=30)
            assert (e.value.state, e.value.reason) == ("dead", "exhausted")
            assert e.value.error == "ValueError: no such photo"
            with pytest.raises(JobFailed, match=r"dead \(rejected\): never"):
                await (await work.send("reject")).result(timeout=30)
            with pytest.raises(
                JobFailed, match=r"BadResult: .* cannot be written as JSON .*without res"
            ):
                await (await work.send("odd")).result(timeout=30)
            with pytest.raises(
                JobFailed, match=r"BadResult: .*the limit is 1048576: store it else"
            ):
                await (await work.send("large")).result(timeout=30)
            late = await work.send("late", delay=3600)
            with pytest.raises(ResultTimeout, match="has not ended yet"):
                await late.result(timeout=0.05)
            waits = asyncio.create_task(late.result(timeout=30))
            assert (await road.cancel(late.id)).state == "cancelled"
            with pytest.raises(JobFailed, match="is cancelled"):
                await waits

    within(story())


def test_what_is_not_kept_is_told(dsn: str, within: Within) -> None:
    road = Postroad(dsn)

    @road.handler("plain")
    async def plain(number: int) -> int:
        return number

    @road.handler("short", result_ttl=0.001)
    async def short(number: int) -> int:
        return number

    async def story() -> None:
        async with running(road):
            receipt = await plain.send(1)
            with pytest.raises(NoResult, match="register 'plain' with result_ttl="):
                await receipt.result(timeout=30)
            receipt = await short.send(1)
            assert (await road.jobs.wait(receipt.id, timeout=30)).state == "delivered"
            await asyncio.sleep(0.01)
            with pytest.raises(NoResult):
                await receipt.result(timeout=30)
            with pytest.raises(UnknownMessage):
                await road.jobs.result(receipt.id, tenant="other")
            with pytest.raises(BadInput, match="timeout=-1"):
                await receipt.result(timeout=-1)

    within(story())
    with pytest.raises(BadInput, match="result_ttl must be"):
        road.handler("x", result_ttl=-1)


def test_results_on_rabbitmq_are_refused_by_name(within: Within) -> None:
    road = Postroad("amqp://guest:guest@127.0.0.1:1/")
    road.handler("square", result_ttl=60)(lambda _: 1)

    async def story() -> None:
        async with road:
            pass

    with pytest.raises(NotOnRabbitMQ, match="a road on RabbitMQ keeps none"):
        within(story())


def test_results_without_await(tmp_path: Path) -> None:
    road = Blocking(f"sqlite:///{tmp_path}/road.db")

    @road.handler("square", result_ttl=60)
    def square(number: int) -> int:
        return number**2

    with road:
        receipts = [square.send(3), road.send("square", 4), *square.send_many([5])]
        road.run(until_idle=True)
        assert [receipt.result(timeout=30) for receipt in receipts] == [9, 16, 25]
        assert road.jobs.result(receipts[0].id) == 9


def test_results_in_simulated_time(tmp_path: Path) -> None:
    with Rehearsal(tmp_path / "road.db") as road:

        @road.handler("square", result_ttl=3600, retries=1)
        def square(message: Message[int]) -> int:
            if message.attempt == 1:
                raise ConnectionError
            return message.body**2

        receipt = square.send(3)
        with pytest.raises(ResultTimeout):
            receipt.result(timeout=1)
        assert receipt.result(timeout=300) == 9  # its retry comes within two minutes
        road.advance(3700)
        with pytest.raises(NoResult):
            receipt.result()


def test_a_failure_has_the_traceback_of_each_try(dsn: str, within: Within) -> None:
    road = Postroad(dsn)

    @road.handler("fails", result_ttl=60, ladder=Exponential(retries=1, base_ms=20))
    async def fails(message: Message[str]) -> None:
        raise KeyError(f"{message.body} {message.attempt}\ud800")

    async def story() -> None:
        async with running(road):
            sent = await road.send("fails", "no such photo")
            with pytest.raises(JobFailed, match="no such photo 2") as raised:
                await sent.result(timeout=30)
            assert "in fails" in raised.value.traceback
            told = (await road.jobs.wait(sent.id)).failures
            assert [(one.type, one.attempt) for one in told] == [
                ("builtins.KeyError", 1),
                ("builtins.KeyError", 2),
            ]

    within(story())


def test_no_traceback_is_kept_of_bodies_with_fields_that_are_not_shown(
    tmp_path: Path, within: Within
) -> None:
    settings = Settings(redact=("/pin",))
    road = Postroad(f"sqlite:///{tmp_path}/road.db", settings=settings)

    @road.handler("pins", result_ttl=60, retries=0)
    async def pins(message: Message[dict[str, str]]) -> None:
        raise KeyError(message.body["pin"])

    async def story() -> None:
        async with running(road):
            end = await road.jobs.wait((await road.send("pins", {"pin": "47114711"})).id)
            assert (end.state, end.failures) == ("dead", ())
            assert "4711" not in end.error

    within(story())


def test_who_waits_is_rung_for_by_every_handler_and_by_a_cancel(
    dsn: str, within: Within, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No result is kept; whoever waits would look again by himself only after an hour."""
    monkeypatch.setattr(ending, "LOOK_S", 3600.0)
    road = Postroad(dsn)
    asking = Postroad(dsn) if "postgres" in dsn else road
    go_on = asyncio.Event()

    @road.handler("plain")
    async def plain(message: Message[str]) -> None:
        _ = await go_on.wait()
        if message.body == "fails":
            raise Reject("never")

    async def story() -> None:
        async with running(road), AsyncExitStack() as stack:
            if asking is not road:
                _ = await stack.enter_async_context(asking)
            sent = [await road.send("plain", body) for body in ("good", "fails")]
            late = await road.send("plain", "late", delay=3600)
            waits = [asyncio.create_task(asking.jobs.wait(one.id)) for one in (*sent, late)]
            # Past the second look, so that only the bell wakes them.
            await asyncio.sleep(3 * ending.SOON_S)
            assert (await road.jobs.wait(sent[0].id, timeout=0)).state == "sending"
            go_on.set()
            assert (await asking.cancel(late.id)).state == "cancelled"
            ends = await asyncio.gather(*waits)
            assert [one.state for one in ends] == ["delivered", "dead", "cancelled"]

    within(story())
