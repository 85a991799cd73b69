"""Secret headers go through the broker sealed, and reach the receiver in clear."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from postroad import Reject
from postroad.model.keyring import new_key
from tests.rabbitmq.roads import a_road, running, until_state

GIVEN = {"authorization": "Bearer hush", "x-plain": "seen"}


def test_secret_headers_are_sealed_in_the_broker_and_beside_it(
    dsn: str, tmp_path: Path, within: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dead letter has the headers that its copy carried through the broker."""
    monkeypatch.setenv("POSTROAD_KEYS", new_key("k1", os.urandom))
    got: list[dict[str, str]] = []

    async def story() -> None:
        road = a_road(dsn, tmp_path, "&shards=1")

        @road.handler("inbox")
        async def inbox(message: Any) -> None:
            got.append(message.headers)
            if len(got) == 1:
                raise Reject("no")

        async with road, running(road):
            number = (await road.send("inbox", 1, headers=GIVEN)).id
            await until_state(road, number, "dead")
            file = apsw.Connection(str(tmp_path / "state.db"))
            rows: list[Any] = file.execute("select headers from dead").fetchall()
            file.close()
            assert b"seen" in rows[0][0]
            assert b"hush" not in rows[0][0]
            assert (await road.dead.show(number)).headers == {**GIVEN, "authorization": "…"}
            await road.dead.replay(ids=[number])
            await until_state(road, number, "delivered")
        assert got == [GIVEN, GIVEN]

    within(story())
