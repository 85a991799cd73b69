"""A real Postfix that cannot deliver our mail, and brings it back to the listener."""

import asyncio
from pathlib import Path

import pytest

from tests.mail.bounce_client import DOMAIN, listening_road, running
from tests.servers import free_port
from tests.servers.postfix import PrivatePostfix

ANSWERS = {"gone": "5.1.1 no such user", "spam": "5.7.1 refused for its content"}
"""What happens to mail for `DOMAIN.example`."""


def ways(scheme: str, port: int) -> str:
    """Postfix's own configuration: two domains that it refuses, and ours, which is the listener's."""
    errors = ", ".join(f"{{{name}.example = error:{said}}}" for name, said in ANSWERS.items())
    taken = "smtpd_reject_unlisted_recipient = no"
    return f"{taken}\ntransport_maps = inline:{{{errors}, {DOMAIN}={scheme}:[127.0.0.1]:{port}}}"


@pytest.mark.parametrize("scheme", ["lmtp", "smtp"])
async def test_postfix_brings_bounces_back(tmp_path: Path, scheme: str) -> None:
    port = free_port()
    with PrivatePostfix(ways(scheme, port)) as postfix:
        road = listening_road(tmp_path, scheme=scheme, port=port, relay=postfix.url)
        async with road, running(road):
            mail = {"subject": "Hi", "text": "Hello"}
            for name in (*ANSWERS, "com"):
                who = f"ann@{name}.example" if name in ANSWERS else "ann@example.com"
                await road.send(f"mailto:{who}", mail)
            async with asyncio.timeout(60):
                while postfix.log().count(f"@{DOMAIN}>, relay=") < len(ANSWERS):
                    await asyncio.sleep(0.05)
            found = (await road.suppressions.list()).suppressions
            said = postfix.log()
    assert [(one.recipient, one.reason) for one in found] == [("ann@gone.example", "hard_bounce")]
    assert found[0].note.startswith("5.1.1")
    assert said.count("250 2.0.0 stored") == len(ANSWERS), "the policy refusal came, too"
