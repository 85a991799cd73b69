"""Handlers that compute leave the loop to others, and a freed call has one lane ask, not all."""

import asyncio
import time
from pathlib import Path

import pytest

from postroad import Message, Postroad
from postroad.engine import runners, turnstile
from postroad.engine.lane_worker import LaneWorker
from postroad.engine.runners import Runners
from postroad.engine.waiting_lanes import WaitingLanes

MESSAGES = 320
LANES = 16
COMPUTE_NS = 1_200_000


async def most_in_one_turn(folder: Path) -> int:
    """The most calls of a computing handler between two turns of the loop."""
    road = Postroad(f"sqlite:///{folder}/road.db")
    calls = [0]

    @road.handler("compute")
    async def compute(_message: Message[int]) -> None:
        calls[-1] += 1
        end_ns = time.thread_time_ns() + COMPUTE_NS
        while time.thread_time_ns() < end_ns:
            pass

    async def turn() -> None:
        while True:
            await asyncio.sleep(0)
            calls.append(0)

    async with road:
        await road.send_many([("compute", n) for n in range(MESSAGES)])
        turning = asyncio.create_task(turn())
        await road.run(until_idle=True)
        turning.cancel()
    assert sum(calls) == MESSAGES
    return max(calls)


def test_handlers_that_compute_leave_the_loop_to_others(tmp_path: Path) -> None:
    assert asyncio.run(most_in_one_turn(tmp_path)) <= 3 * LANES


def test_otherwise_they_keep_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runners, "YIELD_S", 1e9)
    monkeypatch.setattr(turnstile, "ALONE", MESSAGES)
    assert asyncio.run(most_in_one_turn(tmp_path)) > 3 * LANES


async def looks(folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """How often somebody looks whether a lane of a handler with one call at a time can go on."""
    count, serve = 0, Runners._serve

    async def counted(runners: Runners, worker: LaneWorker, task: "asyncio.Task[None]") -> None:
        nonlocal count
        count += 1
        await serve(runners, worker, task)

    monkeypatch.setattr(Runners, "_serve", counted)
    road = Postroad(f"sqlite:///{folder}/road.db")

    @road.handler("single", concurrency=1)
    async def single(_message: Message[int]) -> None:
        await asyncio.sleep(0)

    async with road:
        await road.send_many([("single", n) for n in range(MESSAGES)])
        await road.run(until_idle=True)
    return count


def test_a_freed_call_has_one_lane_ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert asyncio.run(looks(tmp_path, monkeypatch)) < 5 * MESSAGES


def test_otherwise_it_has_all_of_them_ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runners, "KEEP_S", 0.0)
    monkeypatch.setattr(WaitingLanes, "has_place", lambda *_: True)
    monkeypatch.setattr("postroad.engine.capacity.Capacity.left_in", lambda *_: 1 << 30)
    assert asyncio.run(looks(tmp_path, monkeypatch)) > 5 * MESSAGES


async def runners_of(folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many runners carry messages whose lanes wait for two calls at a time."""
    count, made = 0, Runners._new_task

    def counted(runners: Runners, worker: LaneWorker | None) -> None:
        nonlocal count
        count += 1
        made(runners, worker)

    monkeypatch.setattr(Runners, "_new_task", counted)
    road = Postroad(f"sqlite:///{folder}/road.db")

    @road.handler("pair", concurrency=2)
    async def pair(_message: Message[int]) -> None:
        await asyncio.sleep(0)

    async with road:
        await road.send_many([("pair", n) for n in range(MESSAGES)])
        await road.run(until_idle=True)
    return count


def test_a_lane_keeps_its_place_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runners, "KEEP_S", 60.0)  # the machine may be slow
    assert asyncio.run(runners_of(tmp_path, monkeypatch)) < MESSAGES / 2


def test_otherwise_each_message_has_a_runner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runners, "KEEP_S", 0.0)
    assert asyncio.run(runners_of(tmp_path, monkeypatch)) > MESSAGES / 2
