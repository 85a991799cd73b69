"""docs/guide/hub.md: its conversation and its Python, played to a real hub."""

import asyncio
import contextlib
import io
import json
import re
from pathlib import Path
from typing import Any

import uvloop

from tests.hub.raw import dial, hear
from tests.hub.serving import CREATE, SEND, Served, serving, some_boxes

GUIDE = (Path(__file__).parents[2] / "docs" / "guide" / "hub.md").read_text()


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)


def filled(text: str, known: dict[str, str]) -> Any:
    for word, value in known.items():
        text = text.replace(f'"{word}"', json.dumps(value))
    return json.loads(text)


def compare(shown: Any, heard: Any, known: dict[str, str]) -> None:
    """The same, but that what the guide calls by a word is learned from the answer."""
    assert set(shown) == set(heard), (shown, heard)
    for name, value in shown.items():
        if isinstance(value, dict):
            compare(value, heard[name], known)
        elif value == "AT":
            assert heard[name] > 1_700_000_000_000
        elif isinstance(value, str) and value.isupper():
            known.setdefault(value, heard[name])
        else:
            assert value == heard[name], (shown, heard)


async def play(served: Served, lines: list[str]) -> int:
    known = {"CREATE": CREATE}
    async with dial(served) as ws:
        for line in lines:
            mark, text = line[0], line[2:]
            if mark == "→":
                await ws.send(json.dumps(filled(text, known)))
            else:
                compare(filled(text, known), await hear(ws), known)
    return len(lines)


def test_the_conversation_goes_as_the_guide_shows(tmp_path: Path) -> None:
    async def story() -> None:
        async with serving(tmp_path / "hub.db") as served:
            (conversation,) = blocks("frames")
            assert await play(served, conversation.splitlines()) > 25

    uvloop.run(asyncio.wait_for(story(), 100))


def test_the_python_examples_print_what_the_guide_shows(tmp_path: Path) -> None:
    talk, deliver = blocks("python")
    _drawing, shown = blocks("text")
    names: dict[str, Any] = {}
    exec(talk, names)
    exec(deliver.replace("sqlite:///road.db", f"sqlite:///{tmp_path}/road.db"), names)
    printed = io.StringIO()

    async def story() -> None:
        async with serving(tmp_path / "hub.db") as served, served.client() as client:
            (box, other) = await some_boxes(client, 2)
            with contextlib.redirect_stdout(printed):
                await names["talk"](served.url, box.box, box.sender_token, box.recipient_token)
            await names["deliver"](f"127.0.0.1:{served.port}", other.box, SEND)
            message = await client.get(other.box, other.recipient_token)
            assert message is not None
            assert json.loads(message.body) == {"hello": "mailbox"}

    uvloop.run(asyncio.wait_for(story(), 100))
    assert printed.getvalue() == shown
