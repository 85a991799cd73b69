"""An OpenID provider that gives no good answer is left alone for a while."""

import asyncio
import json

import pytest

from postroad.api.login_file import OpenId
from postroad.dashboard.logins import provider
from postroad.ports.clock import SystemClock

DOORS = dict.fromkeys(("authorization_endpoint", "token_endpoint", "jwks_uri"), "")
OTHER = {**DOORS, "issuer": "https://x.example"}


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("", "does not answer"),
        ("500 No\r\n\r\n{}", "answers 500"),
        ("200 OK\r\n\r\n{]", "cannot be read"),
        ("200 OK\r\n\r\n" + json.dumps(OTHER), "another issuer"),
    ],
)
async def test_a_provider_that_gave_no_good_answer_is_not_asked_again_at_once(
    monkeypatch: pytest.MonkeyPatch, said: str, told: str
) -> None:
    asked = 0
    status, _, body = said.partition("\r\n\r\n")
    head = f"HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {len(body)}\r\n\r\n"

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal asked
        asked += 1
        if said:
            await reader.readuntil(b"\r\n\r\n")
            writer.write((head + body).encode())
        writer.close()

    async def refuse(one: provider.Provider) -> int:
        with pytest.raises(provider.ProviderAway, match=told):
            await one.published()
        return asked

    monkeypatch.setattr(provider, "AWAY_S", 3_600.0)
    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        issuer = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        one = provider.Provider(OpenId(issuer, "c"), SystemClock())
        first = await refuse(one)
        assert [await refuse(one) for _ in range(3)] == [first] * 3
        monkeypatch.setattr(provider, "AWAY_S", 0.0)
        assert await refuse(one) > first
