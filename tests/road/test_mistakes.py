"""What people mistype: each is told by name, when it is written and not when it is sent."""

import asyncio
import io
import threading
from collections.abc import Callable
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from postroad import Postroad
from postroad.config import Settings
from postroad.model.entities import Message
from postroad.model.errors import BadDsn, BadInput, BadSetting, BadUrl
from postroad.model.ladder import Steps
from postroad.observe.gathering import WINDOW_S
from postroad.observe.log import make_log
from postroad.observe.metrics import Meter
from postroad.ports.clock import LoopClock
from postroad.testing.simloop import SimLoop
from postroad.transports.failure_log import FailureLog
from postroad.verbs.parts import Parts

Within = Callable[..., Any]
PASSWORD = "pw-of-road"


def nothing(_message: Any) -> None:
    """A handler."""


BAD_OPTIONS: list[tuple[dict[str, Any], str]] = [
    ({"retry": 5}, "retry= is no option; give retries"),
    ({"max_attempts_ever": 5}, "give at_most_once, batch, concurrency, keep_bodies"),
    ({"ladder": [1, 2]}, r"give Steps\(…\) or Exponential\(…\)"),
    ({"ladder": Steps(retries=3, delays_ms=())}, "waits from 1 ms to a year"),
]


@pytest.mark.parametrize("name", ["", "http://a", "x" * 201, "a\0b", "a\nb"])
def test_a_handler_has_a_name_that_every_store_and_log_can_have(road: Postroad, name: str) -> None:
    with pytest.raises(BadInput, match="cannot be a handler's name"):
        road.handler(name)(nothing)


@pytest.mark.parametrize(("options", "told"), BAD_OPTIONS, ids=str)
def test_options_that_a_handler_does_not_have_are_refused(
    road: Postroad, options: dict[str, Any], told: str
) -> None:
    """A mistyped `retries` must not become the default, nor an empty ladder end the engine."""
    with pytest.raises(BadInput, match=told):
        road.handler("mail", **options)(nothing)
    with pytest.raises(BadInput, match=told):
        road.every("* * * * *", **options)(lambda: None)


def test_a_decorator_without_its_argument_is_told_how_to_write_it(road: Postroad) -> None:
    bare: Any = nothing
    with pytest.raises(BadInput, match=r"write @road\.handler\('welcome'\)"):
        road.handler(bare)
    with pytest.raises(BadInput, match=r"write @road\.every\("):
        road.every(bare)


@pytest.mark.parametrize(
    "dsn",
    [
        f"postgresql:/road:{PASSWORD}@host/road",
        f"postgresql+asyncpg://road:{PASSWORD}@host/road",
        f"postgresql://road:{PASSWORD}/2@host/road",
        f"postgresql://road:{PASSWORD}#2@host/road",
        f"amqp:/road:{PASSWORD}@host",
        f"amqp://road:{PASSWORD}/2@host",
    ],
)
def test_an_address_that_is_not_understood_does_not_show_its_password(dsn: str) -> None:
    with pytest.raises(BadDsn) as told:
        Postroad(dsn)
    assert PASSWORD not in str(told.value)


def test_a_path_is_no_address(tmp_path: Path) -> None:
    path: Any = tmp_path / "road.db"
    with pytest.raises(BadDsn, match=r"sqlite:///road\.db"):
        Postroad(path)


@pytest.mark.parametrize(
    "settings", [Settings(log_level="loud"), Settings(log_format="yaml"), {"log_level": "info"}]
)
def test_settings_of_a_program_are_checked_as_those_of_a_command(settings: Any) -> None:
    with pytest.raises(BadSetting):
        Postroad("sqlite:///road.db", settings=settings)


def test_a_limit_and_a_webhook_of_the_wrong_type_are_refused_by_name(
    road: Postroad, within: Within
) -> None:
    road.handler("work", timeout=7)(nothing)
    url, limit, number = "https://example.com/hook", 20, 1
    bad: list[tuple[dict[str, Any], str]] = [
        ({"secrets": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}, "give a list"),
        ({"headers": {"x-shop": number}}, "'x-shop': its name and its value must be texts"),
        (
            {"retries": 3},
            "set: there is no retries=: give url, tenant, auth, tls, shape, transform, secrets, headers",
        ),
    ]

    async def story() -> None:
        async with road:
            with pytest.raises(BadInput, match="rate= is an int: give a text"):
                await road.limit("work", limit)  # type: ignore[arg-type]
            for options, told in bad:
                with pytest.raises(BadInput, match=told):
                    await road.webhooks.set(url, **options)
            with pytest.raises(BadUrl, match="'work' is not a webhook"):
                await road.webhooks.set("work", timeout=1)
            queue = await road.store.find_queue("default", "work")
            assert queue is not None
            assert queue.policy.timeout_ms == 7_000

    within(story())


def test_what_a_handler_raises_is_in_the_log_with_its_line(tmp_path: Path, within: Within) -> None:
    """Else nobody sees why nothing is delivered: the message just waits for its next try."""
    lines = io.StringIO()
    road = Postroad(f"sqlite:///{tmp_path}/road.db", parts=Parts(log=make_log("info", lines)))

    @road.handler("async")
    async def on_async(message: Any) -> None:
        raise KeyError(message.body)

    @road.handler("plain")
    def on_plain(message: Any) -> None:
        raise KeyError(message.body)

    async def story() -> list[str]:
        async with road:
            sent = [await road.send(name, "nam") for name in ("async", "plain")]
            await road.run(until_idle=True)
            return [receipt.id for receipt in sent]

    ids = within(story())
    log = lines.getvalue().splitlines()
    for number, name in zip(ids, ("async", "plain"), strict=True):
        (place,) = [n for n, line in enumerate(log) if f"message={number} " in line]
        assert "a handler raised" in log[place]
        assert f"queue={name} " in log[place]
        trace = list(takewhile(lambda line: line.startswith("  "), log[place + 1 :]))
        assert any(line.endswith(f"in on_{name}") for line in trace)
        assert trace[-1] == "  KeyError: 'nam'"


def test_of_many_that_fail_alike_one_is_told_and_then_how_many_came() -> None:
    """A traceback for each would cost more than all else, and fill the disk."""
    lines = io.StringIO()

    async def story() -> None:
        failure_log = FailureLog(make_log("info", lines), LoopClock())
        message = Message(7, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, b"")

        def fail(text: str) -> None:
            try:
                int(text)
            except ValueError as error:
                failure_log.raised("work", message, error)

        for _ in range(1_000):
            fail("no")
        failure_log.cut("work", message, "cut after 1 s")
        assert lines.getvalue().count("a handler raised") == 1
        assert lines.getvalue().count("a handler was cut") == 1
        await asyncio.sleep(WINDOW_S + 1)
        assert "more=999 within_s=10" in lines.getvalue().splitlines()[-1]
        await asyncio.sleep(WINDOW_S)
        fail("x" * 1_000_000)
        assert len(lines.getvalue().splitlines()[-1]) < 3_000
        failure_log.close()

    with SimLoop(1) as loop:
        loop.run(story())


@pytest.mark.parametrize("watched", [False, True])
def test_a_handler_that_was_cut_is_in_the_log_like_one_that_raised(
    tmp_path: Path, within: Within, *, watched: bool
) -> None:
    lines = io.StringIO()
    road = Postroad(f"sqlite:///{tmp_path}/road.db", parts=Parts(log=make_log("info", lines)))
    road.meter = Meter() if watched else None  # as a server has it

    @road.handler("async", timeout=0.05)
    async def on_async(_message: Any) -> None:
        await asyncio.sleep(3_600)

    ended = threading.Event()

    @road.handler("plain", timeout=0.05)
    def on_plain(_message: Any) -> None:
        ended.wait(30)

    @road.handler("once", timeout=0.05, at_most_once=True)
    async def on_once(_message: Any) -> None:
        await asyncio.sleep(3_600)

    async def story() -> dict[str, str]:
        async with road:
            sent = {name: (await road.send(name, 1)).id for name in ("async", "plain", "once")}
            running = asyncio.create_task(road.run())
            while lines.getvalue().count('event="a handler was cut" ') < len(sent):
                await asyncio.sleep(0.01)
            ended.set()
            road.stop()
            await running
            return sent

    for name, number in within(story()).items():
        told = [line for line in lines.getvalue().splitlines() if f"message={number} " in line]
        (line,) = [line for line in told if "was cut" in line]
        assert f'level=warning event="a handler was cut" queue={name} ' in line
        assert "retry_level=0 attempt=1 " in line
        assert "cut after 0.05 s" in line
        assert "Traceback" not in line


def test_a_road_is_opened_once_and_run_once_at_a_time(road: Postroad, within: Within) -> None:
    """A second run would take the first one's stop, which then never ended."""
    road.handler("work")(nothing)

    async def story() -> None:
        async with road:
            with pytest.raises(BadInput, match="open already"):
                await road.__aenter__()
            first = asyncio.create_task(road.run())
            await asyncio.sleep(0)
            with pytest.raises(BadInput, match="runs already"):
                await road.run()
            receipt = await road.send("work", 1)
            while (await road.explain(receipt.id)).state != "delivered":
                await asyncio.sleep(0.01)
            road.stop()
            await first
            await road.run(until_idle=True)
        async with road:
            await road.send("work", 2)

    within(story())
