"""The connection that listens."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import asyncpg
import pytest

from postroad import Postroad

Within = Callable[[Coroutine[Any, Any, Any]], Any]


def test_a_road_that_is_given_up_while_it_begins_to_listen_leaves_no_connection(
    dsn: str, within: Within, monkeypatch: pytest.MonkeyPatch
) -> None:
    began: asyncio.Future[Any] | None = None

    async def listen(self: Any, *_: object) -> None:
        assert began is not None
        began.set_result(self)
        await asyncio.Event().wait()

    async def story() -> None:
        nonlocal began
        began = asyncio.get_running_loop().create_future()
        opening = asyncio.create_task(Postroad(dsn).__aenter__())
        raw = await began
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
        assert raw.is_closed()

    monkeypatch.setattr(asyncpg.Connection, "add_listener", listen)
    within(story())
