"""A road with its application, asked in this process; coroutines are run in a loop of their own."""

from pathlib import Path

import pytest

from tests.api.stand import Stand
from tests.opening import run_opened


@pytest.fixture
def stand(tmp_path: Path) -> Stand:
    """Not open yet: `async with stand:`."""
    return Stand(tmp_path)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    return run_opened(pyfuncitem, Stand)
