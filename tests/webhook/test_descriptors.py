"""A process has few file descriptors, and many servers to send to."""

import asyncio
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.webhook.conftest import ROOT
from tests.webhook.descriptors_process import Story, Told

pytestmark = pytest.mark.wide

Within = Callable[[Coroutine[Any, Any, Any]], Any]
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
LACKS = (
    "later this process has no file descriptor left (Too many open files): raise `ulimit -n`, or "
    "lower `limits.in_flight_max`"
)


async def told(folder: Path, story: Story, answer_s: float = 0.0) -> Told:
    """What a process tells of its story, sending to a server of ours."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(65_536):
            await asyncio.sleep(answer_s)
            writer.write(OK)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=1_024)
    port = str(server.sockets[0].getsockname()[1])
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "tests.webhook.descriptors_process", str(folder), port),
        msgspec.json.encode(story).decode(),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        said, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
        server.close()
    return msgspec.json.decode(said, type=Told)


def test_idle_connections_leave_descriptors_to_others(tmp_path: Path, within: Within) -> None:
    """Each server is sent to once, and its connection is kept for seconds, but not all are."""
    story = Story(descriptors=256, servers=400, room=64)
    said = within(told(tmp_path, story))
    assert said.states == {"delivered": 400}
    assert said.tries == {"delivered": 400}
    assert said.most < 224  # 64 in flight, 64 idle, and the process's own


def test_without_that_they_use_up_all_and_nobody_is_blamed(tmp_path: Path, within: Within) -> None:
    story = Story(descriptors=256, servers=400, room=64, kept=True)
    said = within(told(tmp_path, story))
    # That a try lacked one shows that all were in use; the peak is too short to be sampled.
    assert said.tries.keys() == {"delivered", LACKS}
    assert (said.states, said.levels, said.blamed) == ({"delivered": 400}, [0], 0)
    assert said.counted == said.tries[LACKS]


def test_with_more_in_flight_than_descriptors_all_are_sent_in_the_end(
    tmp_path: Path, within: Within
) -> None:
    said = within(told(tmp_path, Story(descriptors=72, servers=120, room=512), answer_s=2.0))
    assert said.tries.keys() == {"delivered", LACKS}
    assert said.tries["delivered"] == 120
    assert (said.states, said.levels, said.blamed) == ({"delivered": 120}, [0], 0)


def test_a_process_without_descriptors_blames_and_trusts_nobody(within: Within) -> None:
    """What looks like an unknown name, somebody else's address or a server that is away is not."""

    async def story() -> dict[str, str]:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.webhook.lacking_process"),
            cwd=ROOT,
            stdout=asyncio.subprocess.PIPE,
        )
        said, _ = await process.communicate()
        return msgspec.json.decode(said, type=dict[str, str])

    assert within(story()) == {
        "guard": "Shortage",
        "resolver": "Shortage",
        "certificates": "Shortage",
        "webhook": "Shortage",
        "hub": "Shortage",
        "campaign to webhooks": "Shortage",
        "campaign by SMS": "Shortage",
        "certificates that are kept": "0",
    }
