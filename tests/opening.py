"""Runs the coroutines of a folder's tests, with what each is given open meanwhile."""

import asyncio
import inspect
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any

import pytest

WAIT_S = 150.0


def run_opened(
    item: pytest.Function, *kinds: type[AbstractAsyncContextManager[Any]]
) -> bool | None:
    """As asyncio.run would, for some time at most; what is of these kinds is entered first."""
    if not inspect.iscoroutinefunction(item.obj):
        return None
    given = {name: item.funcargs[name] for name in inspect.signature(item.obj).parameters}

    async def story() -> None:
        async with asyncio.timeout(WAIT_S), AsyncExitStack() as stack:
            for value in given.values():
                if isinstance(value, kinds):
                    await stack.enter_async_context(value)
            await item.obj(**given)

    asyncio.run(story())
    return True
