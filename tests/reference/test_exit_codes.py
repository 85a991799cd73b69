"""A command ends with the code that the page of errors says."""

import asyncio
import re
from pathlib import Path

from postroad import Postroad
from tests.cli.running import postroad

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "errors.md"
ROW = re.compile(r"^\| `(\w+)` \| \d+ \| `\S+` \| (\d) \|", re.MULTILINE)


async def leave_a_message(dsn: str) -> None:
    async with Postroad(dsn) as road:
        road.handler("good")(print)
        await road.send("good", 1, tenant="acme")


def test_a_command_ends_with_the_code_that_the_page_of_errors_says(tmp_path: Path) -> None:
    """Those of conflicts were told as bad input."""
    codes = dict(ROW.findall(PAGE.read_text()))
    at = ("--dsn", f"sqlite:///{tmp_path}/road.db")
    asyncio.run(leave_a_message(at[1]))
    for words, error in (
        (("tenant", "remove", "acme", "--yes"), "TenantInUse"),
        (("tenant", "show", "nobody"), "UnknownTenant"),
    ):
        refused = postroad(*words, *at)
        assert refused.exit_code == int(codes[error]), refused.stderr
    assert (codes["TenantInUse"], codes["UnknownTenant"], codes["StoreError"]) == ("1", "2", "3")
