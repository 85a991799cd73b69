"""Jobs over HTTP, through a road's window, and on the command line."""

import asyncio
from pathlib import Path

import msgspec
import pytest
from click.testing import Result

from postroad import Message, Postroad, Reject
from postroad.errors import JobFailed, ResultTimeout, UnknownMessage
from tests.cli.running import postroad
from tests.jobs.conftest import Within
from tests.jobs.test_results import running


def worker(folder: Path) -> Postroad:
    """A road with a handler that keeps results."""
    road = Postroad(f"sqlite:///{folder}/road.db")

    @road.handler("square", result_ttl=60)
    async def square(message: Message[int]) -> dict[str, int]:
        if message.body < 0:
            raise Reject("negative")
        return {"square": message.body**2}

    return road


def test_results_are_read_from_elsewhere(tmp_path: Path, within: Within) -> None:
    road = worker(tmp_path)

    async def ask(*words: str) -> Result:
        return await asyncio.to_thread(
            postroad, "message", "result", *words, "--dsn", f"sqlite:///{tmp_path}/road.db"
        )

    async def story() -> None:
        async with running(road), Postroad(f"road:///{tmp_path}/road.db") as far:
            receipt = await far.send("square", 7)
            assert await receipt.result(timeout=30) == {"square": 49}
            assert await far.jobs.result(receipt.id) == {"square": 49}
            said = await ask(receipt.id, "--wait", "30s")
            assert (said.exit_code, msgspec.json.decode(said.stdout)) == (0, {"square": 49})
            bad = await far.send("square", -7)
            with pytest.raises(JobFailed, match=r"dead \(rejected\): negative"):
                await bad.result(timeout=30)
            said = await ask(bad.id)
            assert (said.exit_code, said.stdout) == (1, f"{bad.id}: dead: negative\n")
            late = await far.send("square", 7, delay=3600)
            with pytest.raises(ResultTimeout):
                await late.result(timeout=0.05)
            said = await ask(late.id, "--json")
            assert (said.exit_code, msgspec.json.decode(said.stdout)["state"]) == (1, "waiting")
            with pytest.raises(UnknownMessage):
                await far.jobs.wait("msg_0ajpfmtjg0001", timeout=0)

    within(story())
