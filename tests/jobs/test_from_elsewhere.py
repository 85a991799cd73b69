"""Jobs over HTTP, through a road's window, and on the command line."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from click.testing import Result

from postroad import Message, Postroad, Reject
from postroad.errors import Forbidden, JobFailed, ResultTimeout, UnknownMessage
from postroad.remote.api_request import ApiAnswer
from postroad.verbs import waits
from tests.api.served import Served
from tests.api.stand import Stand
from tests.cli.running import PROGRAM, postroad
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


@asynccontextmanager
async def command(folder: Path, *words: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """The real command, as a process of its own."""
    dsn = ("--dsn", f"sqlite:///{folder}/road.db")
    env = {**os.environ, "PYTHONUNBUFFERED": "1"}
    made = await asyncio.create_subprocess_exec(
        *PROGRAM, *words, *dsn, stdout=asyncio.subprocess.PIPE, env=env
    )
    try:
        yield made
    finally:
        if made.returncode is None:
            made.kill()
        _ = await made.wait()


def test_the_command_watches_a_job_and_lists_those_that_run(tmp_path: Path, within: Within) -> None:
    road, go_on = worker(tmp_path), asyncio.Event()

    @road.handler("resize", timeout=150)
    async def resize(message: Message[int]) -> None:
        message.progress(3, 12, "photos")
        _ = await go_on.wait()
        message.progress(12, 12, "photos")

    async def story() -> None:
        async with running(road):
            sent = await road.send("resize", 1)
            async with command(tmp_path, "message", "watch", sent.id) as watching:
                assert watching.stdout is not None
                assert await watching.stdout.readline() == b"3 of 12 photos\n"
                async with command(tmp_path, "jobs", "--plain") as listing:
                    said, _ = await listing.communicate()
                    assert [
                        sent.id,
                        "resize",
                        "3 of 12",
                        "25",
                        "photos",
                    ] == said.decode().strip().split("\t")
                async with command(tmp_path, "top", "--once") as top:
                    said, _ = await top.communicate()
                    assert f"resize  {sent.id}  3 of 12  25  photos" in said.decode()
                go_on.set()
                rest = (await watching.stdout.read()).decode().splitlines()
                assert rest[-1] == f"{sent.id}: delivered"
                assert await watching.wait() == 0

    within(story())


async def _result(stand: Stand, id: str, scope: str, wait_s: float = 0) -> ApiAnswer:  # noqa: A002
    token = (await stand.road.tokens.make("t", scopes=["read", scope])).secret
    path = f"/v1/messages/{id}/result"
    return await stand.say("GET", path, token=token, query={"wait_s": str(wait_s)})


def test_results_are_shown_only_with_the_scope_for_bodies(tmp_path: Path, within: Within) -> None:
    async def story() -> None:
        async with Served(tmp_path) as stand:

            @stand.road.handler("pins", result_ttl=60)
            async def pins(message: Message[int]) -> str:
                message.progress(1, 2, "pin 4711")
                return "pin 4711"

            sent = await stand.road.send("pins", 1)
            await stand.road.run(until_idle=True)
            shown = (await _result(stand, sent.id, "bodies")).json()
            assert (shown["result"], shown.get("hidden", "")) == ("pin 4711", "")
            said = await _result(stand, sent.id, "send")
            assert said.json()["state"] == "delivered"
            assert b"4711" not in said.content
            assert "scope 'bodies'" in said.json()["hidden"]
            token = (await stand.road.tokens.make("far", scopes=["read"])).secret
            async with Postroad(stand.server.url, token=token) as far:
                with pytest.raises(Forbidden, match="scope 'bodies'"):
                    await far.jobs.result(sent.id)

    within(story())


def test_only_so_many_requests_wait_for_results(
    tmp_path: Path, within: Within, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waits, "WAITS_MAX", 2)

    async def story() -> None:
        async with Stand(tmp_path) as stand:
            id = await stand.send()  # noqa: A001
            waiting = asyncio.create_task(_result(stand, id, "bodies", 40))
            while not stand.context.waits.count:
                await asyncio.sleep(0.01)
            assert (await _result(stand, id, "bodies", 40)).status == 503
            assert (await _result(stand, id, "bodies")).status == 200  # it does not wait
            await stand.road.run(until_idle=True)
            assert (await waiting).json()["state"] == "delivered"
            assert stand.context.waits.count == 0

    within(story())
