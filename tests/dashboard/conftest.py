"""Pages over a road: asked in this process, or seen in a real browser."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

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


def pytest_itemcollected(item: pytest.Item) -> None:
    """What needs a browser is the heart of the pages, unless it takes long."""
    if "browser" in getattr(item, "fixturenames", ()) and not item.get_closest_marker("wide"):
        item.add_marker(pytest.mark.heart)


def _how_long(fixture_name: str, config: pytest.Config) -> Literal["session", "module"]:
    del fixture_name
    return "session" if config.option.markexpr == "heart" else "module"


@pytest.fixture(scope=_how_long)
def browser() -> Iterator[Browser]:
    """One for the tests of a file: it takes a second to start. Its event loop runs until it is
    closed, and a test of another file that is a coroutine could not run beside it; where only
    tests of the heart run, none is, and all of them have one."""
    with chromium() as found:
        yield found
