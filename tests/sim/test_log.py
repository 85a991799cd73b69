"""The log tells what happened, in few lines: an outage, held queues, deaths, lost workers."""

import asyncio
import io
import os
import re
import socket
from collections import Counter

import pytest

from postroad.model.outcome import DELIVERED, Outcome, rejected
from postroad.observe.log import make_log
from tests.rig import receivers
from tests.rig.world import World, simulate


def logged(world: World) -> io.StringIO:
    """Where all engines that start from now on log to."""
    lines = io.StringIO()
    world.log = make_log("info", lines, clock=world.clock)
    return lines


def events(lines: io.StringIO) -> list[str]:
    """The events of the log, in order, without those of the start."""
    found = re.findall(r' event=("[^"]*"|\S+)', lines.getvalue())
    return [
        event.strip('"') for event in found if "retry levels" not in event and "guard" not in event
    ]


def line_of(lines: io.StringIO, event: str) -> str:
    """The only line of an event."""
    (found,) = [line for line in lines.getvalue().splitlines() if f'event="{event}"' in line]
    return found


def test_the_outage_of_a_server_is_read_from_the_log_alone() -> None:
    async def story(world: World) -> None:
        lines = logged(world)
        world.behaviours["ash"] = receivers.away_until(world.clock.now_ms() + 600_000)
        world.start("one")
        for name in "abc":
            await world.send(f"sim://ash/{name}?key=hush")
        await world.settled(within_s=3_600)
        assert events(lines) == ["circuit opened", "circuit closed"]
        opened, closed = line_of(lines, "circuit opened"), line_of(lines, "circuit closed")
        assert "level=warning" in opened
        assert "server=ash" in opened
        assert "reason=refused" in opened
        assert "waiting=3" in opened
        assert "level=info" in closed
        assert re.search(r'away="1[0-9] min', closed)
        assert "hush" not in lines.getvalue()

    simulate(1, story)


@pytest.mark.wide
def test_hundreds_of_queues_that_are_held_at_once_are_a_handful_of_lines() -> None:
    async def story(world: World) -> None:
        lines = logged(world)
        full = receivers.quota_until(world.clock.now_ms() + 60_000)
        world.behaviours |= {f"host{number}": full for number in range(60)}
        world.start("one")
        for number in range(300):
            await world.send(f"sim://host{number % 60}/queue-{number}")
        await asyncio.sleep(60)
        held = [line for line in lines.getvalue().splitlines() if 'event="queue held"' in line]
        assert len(held) < 20
        assert all("because=quota" in line for line in held)
        told = sum("queue=" in line for line in held)
        counted = sum(int(more) for more in re.findall(r"more=(\d+)", "".join(held)))
        assert told + counted == 300
        await world.settled(within_s=3_600)
        assert Counter(events(lines)).keys() == {"queue held", "queue goes on"}
        assert len(lines.getvalue().splitlines()) < 60

    simulate(2, story)


def test_deaths_are_told_with_their_reason_and_counted() -> None:
    async def story(world: World) -> None:
        lines = logged(world)
        world.behaviours["ash"] = receivers.rejecting(1.0)
        world.start("one")
        for _ in range(200):
            await world.send("sim://ash/a")
        await world.settled(within_s=600)
        await asyncio.sleep(20)
        died = [line for line in lines.getvalue().splitlines() if 'event="message died"' in line]
        assert len(died) < 10
        assert all("reason=rejected" in line for line in died)
        assert re.search(r"queue=sim://ash/a message=msg_\w+ attempts=1 error=410", died[0])
        assert sum(int(more) for more in re.findall(r"more=(\d+)", "".join(died))) == 195

    simulate(3, story)


def test_a_queue_that_its_recipient_disabled_is_told() -> None:
    def gone(now_ms: int, draw: float) -> tuple[float, bool, Outcome]:
        return 0.01 + 0 * now_ms * draw, False, rejected("410 Gone", disables=True)

    async def story(world: World) -> None:
        lines = logged(world)
        world.behaviours["ash"] = gone
        for _ in range(3):  # in flight at the same time: all are answered alike
            await world.send("sim://ash/a")
        world.start("one")
        await asyncio.sleep(5)
        assert sorted(events(lines)) == [*["message died"] * 3, "queue disabled"]
        assert 'reason="410 Gone"' in line_of(lines, "queue disabled")

    simulate(4, story)


def test_lanes_of_a_lost_worker_are_told_by_who_takes_them_over() -> None:
    async def story(world: World) -> None:
        lines = logged(world)
        world.behaviours["ash"] = lambda _now_ms, _draw: (5.0, True, DELIVERED)
        world.start("one")
        await world.send("sim://ash/a")
        await asyncio.sleep(2)
        world.start("two")
        world.crash("one")
        await world.settled(within_s=600)
        assert events(lines) == [
            "a worker was lost, its lanes are free",
            "lane taken over from a lost worker",
        ]
        lost = line_of(lines, "a worker was lost, its lanes are free")
        assert f"host={socket.gethostname()} pid={os.getpid()} lanes=1" in lost
        assert "server=ash" in line_of(lines, "lane taken over from a lost worker")

    simulate(5, story)


def test_what_was_counted_is_told_when_the_engine_stops() -> None:
    async def story(world: World) -> None:
        lines = logged(world)
        world.behaviours["ash"] = receivers.rejecting(1.0)
        world.start("one")
        for _ in range(20):
            await world.send("sim://ash/a")
        await world.settled(within_s=6)
        await world.stop("one")
        assert "more=15" in lines.getvalue()

    simulate(6, story)


def test_a_limit_is_told_when_it_is_first_reached() -> None:
    async def story(world: World) -> None:
        lines = logged(world)
        world.start("one")
        await world.send("sim://ash/a")
        await world.client.limit("sim://ash/a", "5/s")
        for _ in range(200):
            await world.send("sim://ash/a")
        await world.settled(within_s=600)
        reached = [event for event in events(lines) if "limit is reached" in event]
        assert len(reached) == 1

    simulate(7, story)


@pytest.mark.wide
def test_a_thousand_pauses_and_a_broken_transport_are_a_handful_of_lines() -> None:
    def broken(now_ms: int, draw: float) -> tuple[float, bool, Outcome]:
        raise RuntimeError(f"no answer for {now_ms} {draw}")

    async def story(world: World) -> None:
        lines = logged(world)
        world.behaviours["ash"] = broken
        member = world.start("one")
        for number in range(200):
            await world.send(f"sim://birch/{number}", delay=600)
            await member.road.pause(f"sim://birch/{number}")
            await world.send("sim://ash/a")
        await asyncio.sleep(15)  # before the first are tried again, which is told anew
        told = Counter(events(lines))
        assert told["queue paused"] <= 7
        assert told["a transport raised"] <= 5
        assert lines.getvalue().count("Traceback") == 1
        paused = [line for line in lines.getvalue().splitlines() if 'event="queue paused"' in line]
        more = sum(int(found) for found in re.findall(r"more=(\d+)", "".join(paused)))
        assert sum("queue=" in line for line in paused) + more == 200

    simulate(8, story)
