"""Endpoints that are made for a while, as `postroad listen --endpoint` makes one."""

import asyncio
import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from postroad import Postroad
from postroad.config import Settings
from postroad.model.errors import BadInput, UnknownEndpoint
from tests.cli.running import start
from tests.webhook.conftest import LOCAL

HOOK = "http://127.0.0.1:9/hook"


async def test_an_endpoint_is_deleted_when_it_expires_and_what_waits_is_cancelled(
    road: Postroad,
) -> None:
    made = await road.endpoints.create(HOOK, expires_in=3_600)
    hasty = await road.endpoints.create(HOOK, expires_in=60)
    kept = await road.endpoints.change(hasty.id, expires_in=0)
    assert made.expires_at_ms is not None
    assert kept.expires_at_ms is None
    await road.pause(made.queue)
    waiting = await road.publish("order.paid", 1)
    running = asyncio.create_task(road.run())
    await road.endpoints.change(made.id, expires_in=0.2)
    await _gone(road, made.id)
    assert (await road.explain(waiting.messages[0])).state == "cancelled"
    assert [each.id for each in (await road.endpoints.list()).endpoints] == [kept.id]
    assert len((await road.publish("order.paid", 2)).messages) == 1
    road.stop()
    await running


async def test_one_that_expired_while_nothing_ran_gets_no_events_and_is_deleted_at_the_next_run(
    road: Postroad,
) -> None:
    made = await road.endpoints.create(HOOK, expires_in=0.05)
    while (await road.publish("order.paid", 1)).messages:
        await asyncio.sleep(0.05)
    running = asyncio.create_task(road.run())
    await _gone(road, made.id)
    road.stop()
    await running


async def test_times_that_are_none_are_refused(road: Postroad) -> None:
    for bad in (-1, 1e12, "soon"):
        with pytest.raises(BadInput, match="expires_in"):
            await road.endpoints.create(HOOK, expires_in=bad)  # type: ignore[arg-type]


async def _gone(road: Postroad, number: str) -> None:
    while True:
        try:
            await road.endpoints.get(number)
        except UnknownEndpoint:
            return
        await asyncio.sleep(0.02)


def _line(process: "subprocess.Popen[str]") -> Any:
    assert process.stdout is not None
    return json.loads(process.stdout.readline())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.wide
async def test_listen_is_an_endpoint_while_it_runs(tmp_path: Path, number: signal.Signals) -> None:
    dsn = f"sqlite:///{tmp_path}/road.db"
    async with Postroad(dsn, settings=Settings(webhooks=LOCAL, log_level="error")) as road:
        running = asyncio.create_task(road.run())
        words = ("listen", "0", "--endpoint", "--type", "order.*", "--tenant", "acme", "--json")
        process = await asyncio.to_thread(start, tmp_path, *words, "--dsn", dsn)
        try:
            while not (there := (await road.endpoints.list(tenant="acme")).endpoints):
                assert process.poll() is None
                await asyncio.sleep(0.05)
            assert there[0].expires_at_ms is not None
            await road.publish("refund.asked", 1, tenant="acme")
            await road.publish("order.paid", 2, tenant="acme")
            heard = await asyncio.to_thread(_line, process)
            assert (heard["signature"], heard["body"]) == ("verified", "Mg==")
            process.send_signal(number)
            assert await asyncio.to_thread(process.wait, 30) in (0, 130, -signal.SIGKILL)
            left = (await road.endpoints.list(tenant="acme")).endpoints
            assert len(left) == (number == signal.SIGKILL)
        finally:
            process.kill()
            process.communicate()
        road.stop()
        await running


async def test_a_road_that_may_not_call_this_machine_is_told_so(tmp_path: Path) -> None:
    dsn = f"sqlite:///{tmp_path}/road.db"
    async with Postroad(dsn):
        process = start(tmp_path, "listen", "0", "--endpoint", "--dsn", dsn)
        said = (await asyncio.to_thread(process.communicate))[1]
    assert process.returncode == 2
    assert "webhooks.allow" in said
