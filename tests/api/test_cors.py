"""Pages of the origins that the settings name may use the API from a browser, and no others."""

from pathlib import Path

import pytest

from postroad.config import Settings
from tests.api.stand import Stand

OURS, OTHER = "https://app.example.com", "https://evil.example.com"
ASKS = {"access-control-request-method": "POST", "access-control-request-headers": "authorization"}


@pytest.fixture
def stand(tmp_path: Path) -> Stand:
    return Stand(tmp_path, Settings(origins=(OURS, "https://second.example.com")))


async def test_a_preflight_of_a_named_origin_is_answered(stand: Stand) -> None:
    said = await stand.say("OPTIONS", "/v1/messages", token="", headers={"origin": OURS, **ASKS})
    assert said.status == 204
    told = {name: text for name, text in said.headers.items() if name.startswith("access-control")}
    assert told == {
        "access-control-allow-origin": OURS,
        "access-control-allow-methods": "GET, HEAD, OPTIONS, POST",
        "access-control-allow-headers": (
            "authorization, content-type, idempotency-key, postroad-tenant"
        ),
        "access-control-max-age": "600",
        "access-control-expose-headers": "location, retry-after",
    }
    assert said.headers["vary"] == "origin"


async def test_its_pages_read_answers_and_problems_without_cookies(stand: Stand) -> None:
    for token, status in ((stand.token, 201), ("wrong", 401)):
        data = {"queue": "good", "body": 1}
        said = await stand.say("POST", "/v1/messages", data, token=token, headers={"origin": OURS})
        assert said.status == status
        assert said.headers["access-control-allow-origin"] == OURS
        assert "access-control-allow-credentials" not in said.headers


async def test_other_origins_are_refused_and_told_nothing(stand: Stand) -> None:
    for origin in (OTHER, "null", "*", OURS + ":8443", OURS.replace("https", "http"), OURS + "."):
        for method in ("OPTIONS", "GET"):
            said = await stand.say(method, "/v1/messages", headers={"origin": origin, **ASKS})
            assert said.status == 403, origin
            assert not [name for name in said.headers if name.startswith("access-control")]
            assert said.headers["vary"] == "origin"


async def test_a_request_without_an_origin_gets_no_such_headers(stand: Stand) -> None:
    said = await stand.say("OPTIONS", "/v1/messages", headers=ASKS)
    assert said.status == 204
    assert not [name for name in said.headers if name.startswith("access-control")]
