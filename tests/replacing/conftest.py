"""A road on either database."""

import pytest

from postroad import Postroad
from tests.campaigns.conftest import dsn
from tests.events.conftest import pytest_pyfunc_call

__all__ = ["dsn", "pytest_pyfunc_call"]


@pytest.fixture
def road(dsn: str) -> Postroad:
    """Not open yet: `async with road:`."""
    return Postroad(dsn)
