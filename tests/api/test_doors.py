"""Whose word counts about a request: named proxies alone, and names that are this server's own."""

from pathlib import Path

import pytest
from msgspec import structs

from postroad.api.hosts import Hosts
from postroad.config import Settings, check
from postroad.model.errors import BadSetting, Forbidden
from postroad.model.tokens import Caller, Scope
from postroad.verbs.tokens import check_rank
from tests.api.served import Served
from tests.api.stand import Stand, kind

SOME = "/v1/messages/msg_0000000000000"


async def guesses(stand: Served) -> list[int]:
    """Wrong tokens from one machine, each with another word about where it comes from."""
    statuses = []
    for n in range(12):
        line = await stand.line()
        words = f"X-Forwarded-For: 10.0.0.{n}", f"Forwarded: for=10.1.0.{n}"
        line.send(stand.head("GET", SOME, *words, token=f"guess-{n}"))
        statuses.append((await line.answer())[0])
    return statuses


async def test_forwarded_headers_count_from_named_proxies_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")  # the web server's own way is not ours
    async with Served(tmp_path) as stand:
        assert await guesses(stand) == [401] * 10 + [429] * 2
    async with Served(tmp_path, trusted_proxies=("127.0.0.0/8",)) as stand:
        assert await guesses(stand) == [401] * 12


async def test_a_name_that_somebody_pointed_at_this_machine_is_refused(tmp_path: Path) -> None:
    async with Served(tmp_path, allowed_hosts=("ops.example.com",)) as stand:
        for host, status in {
            "evil.example": 403,
            "evil.example:8600": 403,
            "localhost.evil.example": 403,
            "127.0.0.1.evil.example": 403,
            "127.0.0.1": 200,
            f"127.0.0.1:{stand.port}": 200,
            "[::1]:8600": 200,
            "LOCALHOST:8600": 200,
            "ops.example.com": 200,
            "Ops.Example.Com.:443": 200,
        }.items():
            line = await stand.line()
            line.send(f"GET /healthz HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            assert (await line.answer())[0] == status, host


def test_only_a_port_of_this_machine_alone_knows_its_names_by_itself() -> None:
    for listens, any_name in {
        "127.0.0.1": False,
        "::1": False,
        "localhost": False,
        "0.0.0.0": True,
    }.items():
        assert Hosts((), listens).allows("road.internal") is any_name
        assert Hosts((), listens).allows("127.0.0.1:8600")
        assert Hosts(("*",), listens).allows("road.internal")
        assert not Hosts(("other",), listens).allows("road.internal")


@pytest.mark.parametrize(
    "bad",
    [
        {"trusted_proxies": ("*",)},
        {"trusted_proxies": ("proxy.internal",)},
        {"allowed_hosts": ("https://ops.example.com",)},
        {"allowed_hosts": ("ops.example.com:443",)},
        {"tls_cert_file": "cert.pem"},
        {"tls_key_file": "key.pem"},
    ],
)
def test_doors_that_make_no_sense_are_named(bad: dict[str, object]) -> None:
    with pytest.raises(BadSetting, match=next(iter(bad))):
        check(structs.replace(Settings(), **bad))


async def test_a_token_makes_none_that_outlives_or_outranks_it(stand: Stand) -> None:
    made = stand.road.tokens.make
    short = await made("short", scopes=["admin", "read"], tenant="a", lasts_s=3_600)
    ends = short.token.expires_at_ms

    async def ask(**wanted: object) -> tuple[int, object]:
        data = {"name": "x", "scopes": ["read"], **wanted}
        answer = await stand.say("POST", "/v1/tokens", data, token=short.secret)
        if answer.status != 201:
            return answer.status, kind(answer)
        return 201, answer.json()["token"]["expires_at_ms"]

    assert await ask(lasts_s=7_200) == (403, "forbidden")
    assert await ask(scopes=["send"]) == (403, "forbidden")
    assert await ask(scopes=["read", "manage"]) == (403, "forbidden")
    assert await ask(tenant="b") == (403, "forbidden")
    assert await ask(tenant="*") == (403, "forbidden")
    assert await ask() == (201, ends)
    status, until = await ask(lasts_s=60)
    assert status == 201
    assert ends is not None
    assert isinstance(until, int)
    assert until < ends
    lasting = await stand.say("POST", "/v1/tokens", {"name": "x"})
    assert lasting.json()["token"]["expires_at_ms"] is None


def test_rank_is_checked_whoever_calls() -> None:
    by = Caller("a", frozenset([Scope.admin]), "t", ends_at_ms=1_000)
    assert check_rank(by, "a", [Scope.admin], None) == 1_000
    with pytest.raises(Forbidden):
        check_rank(by, "a", [Scope.admin], 1_001)
