"""No text makes the server break: small twin of `make proof ITEM=hostile-text`."""

from pathlib import Path

import pytest

from tests.api.hostile import faults
from tests.api.served import Served


@pytest.fixture(params=["sqlite", "postgres"])
def dsn(request: pytest.FixtureRequest) -> str:
    """A database without anything in it."""
    if request.param == "postgres":
        return str(request.getfixturevalue("server").create_road())
    return ""


async def test_no_text_is_answered_with_a_fault(
    tmp_path: Path, dsn: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with Served(tmp_path, dsn) as stand:
        asked, broken = await faults(stand, every=7)
    assert broken == []
    assert asked > 500
    assert "request failed" not in caplog.text
