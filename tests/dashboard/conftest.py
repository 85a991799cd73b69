"""Pages over a road: asked in this process, or seen in a real browser."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.dashboard.stand import PageStand
from tests.opening import run_opened
from tests.servers.chromium import chromium


@pytest.fixture
def stand(tmp_path: Path) -> PageStand:
    """Not open yet: `async with stand:`."""
    return PageStand(tmp_path)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    return run_opened(pyfuncitem, PageStand)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One for the tests of a file: it takes a second to start. Its event loop runs until it is
    closed, and a test of another file that is a coroutine could not run beside it."""
    with chromium() as found:
        yield found
