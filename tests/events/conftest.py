"""A road on either database that may call the loopback, and a receiver with a log."""

from uuid import uuid4

import pytest

from postroad import Postroad
from postroad.config import Settings
from tests.campaigns.conftest import dsn
from tests.opening import run_opened
from tests.webhook.conftest import LOCAL, receiver

__all__ = ["dsn", "receiver"]


@pytest.fixture
def road(dsn: str) -> Postroad:
    """Not open yet: `async with road:`."""
    return Postroad(dsn, settings=Settings(webhooks=LOCAL))


@pytest.fixture
def mark() -> str:
    """A text of this test alone: the receiver has a log for all."""
    return uuid4().hex


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    return run_opened(pyfuncitem, Postroad)
