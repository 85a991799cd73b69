"""docs/guide/http.md and operating.md: what they show works."""

import asyncio
import re
from pathlib import Path

from tests.api.stand import Stand
from tests.reference.test_capabilities import routes

GUIDES = Path(__file__).parents[2] / "docs" / "guide"
BLOCK = re.compile(r"^```text\n((?:GET|POST|DELETE) .*?)^```$", re.MULTILINE | re.DOTALL)
ASKED = re.compile(r"^(GET|POST|DELETE) (\S+)\n(.*?)→ (\d+)$", re.MULTILINE | re.DOTALL)


def test_every_request_of_the_guide_is_answered_as_it_says(tmp_path: Path) -> None:
    text = (GUIDES / "http.md").read_text()
    requests = [match for block in BLOCK.findall(text) for match in ASKED.findall(block)]
    assert len(requests) >= 29

    async def ask_all() -> None:
        async with Stand(tmp_path) as stand:
            number = ""
            for method, target, body, status in requests:
                path, _, query = target.replace("{id}", number).partition("?")
                pairs = dict(pair.split("=") for pair in query.split("&") if pair)
                answer = await stand.say(method, path, body.encode() or None, query=pairs)
                assert answer.status == int(status), (method, target, answer.content)
                if path == "/v1/messages" and answer.status == 201:
                    number = answer.json()["id"]

    asyncio.run(ask_all())


def test_the_guides_name_only_routes_that_there_are() -> None:
    there = {route.split()[1].replace("{id}", "") for route in routes()} | {"/v1/openapi.json"}
    for name in ("http.md", "operating.md"):
        for path in re.findall(
            r"`(/(?:v1/|healthz|readyz|metrics)\S*?)`", (GUIDES / name).read_text()
        ):
            assert path in there, (name, path)
