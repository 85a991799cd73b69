"""Mail straight to the servers of a domain: found by a real resolver, at a name server of our own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from postroad.model.mail_settings import MailSettings
from postroad.model.outcome import Kind
from postroad.transports.smtp import resolver as resolving
from postroad.transports.webhook.resolving import Unresolved
from tests.mail.certificates import Authority
from tests.mail.mail_server import MailServer, Moods
from tests.mail.name_server import NameServer, Zone, name_server
from tests.mail.sessions import LANE, Line, channel, credential

SERVFAIL = 2
LOCAL = ("127.0.0.0/8",)


@asynccontextmanager
async def direct(
    zone: Zone, port: int, allow: tuple[str, ...] = LOCAL, relay: str = "mx", **parts: Any
) -> AsyncIterator[tuple[Line, NameServer]]:
    async with name_server(zone) as (names, resolver):
        made = channel(MailSettings(relay, "", allow), resolver=resolver, port=port, **parts)
        session = await made.connect(LANE, credential())
        try:
            yield Line(session), names
        finally:
            await session.close()


async def test_mail_goes_to_the_server_that_the_domain_names() -> None:
    zone: Zone = {("a.example", "MX"): ["10 mx.b.example."], ("mx.b.example", "A"): ["127.0.0.1"]}
    with MailServer() as server:
        async with direct(zone, server.port) as (road, names):
            kinds = [(await road.send(f"ann{n}@a.example")).kind for n in range(3)]
    assert (kinds, len(server.mails), server.book.sessions) == ([Kind.delivered] * 3, 3, 1)
    assert len(names.asked) == len(set(names.asked))


async def test_the_next_server_is_asked_where_the_first_is_away() -> None:
    zone: Zone = {
        ("a.example", "MX"): ["10 dead.b.example.", "20 mx.b.example.", "30 worse.b.example."],
        ("dead.b.example", "A"): ["127.0.0.2"],
        ("mx.b.example", "A"): ["127.0.0.3"],
        ("worse.b.example", "A"): ["127.0.0.4"],
    }
    with MailServer(host="127.0.0.3") as server:
        async with direct(zone, server.port) as (road, _):
            outcome = await road.send("ann@a.example")
    assert outcome.kind is Kind.delivered
    assert outcome.details is not None
    assert outcome.details.address.startswith("mx.b.example[127.0.0.3]")


async def test_a_domain_without_mx_is_its_own_server() -> None:
    with MailServer() as server:
        async with direct({("a.example", "A"): ["127.0.0.1"]}, server.port) as (road, _):
            assert (await road.send("ann@a.example")).kind is Kind.delivered


@pytest.mark.parametrize(
    ("zone", "kind", "code"),
    [
        ({("a.example", "MX"): ["0 ."]}, Kind.rejected, "5.1.10"),
        ({}, Kind.rejected, "5.1.2"),
        ({("a.example", "MX"): SERVFAIL}, Kind.failed, ""),
        ({("a.example", "MX"): ["5 mx.b.example."]}, Kind.failed, ""),
        (
            {("a.example", "MX"): ["5 mx.b.example."], ("mx.b.example", "A"): SERVFAIL},
            Kind.failed,
            "",
        ),
        ({("a.example", "MX"): ["5 127.0.0.1."]}, Kind.failed, ""),
    ],
    ids=["null MX", "no such domain", "no answer", "no address", "no answer for it", "a number"],
)
async def test_a_domain_that_takes_no_mail(zone: Zone, kind: Kind, code: str) -> None:
    async with direct(zone, 1) as (road, _):
        outcome = await road.send("ann@a.example")
    assert (outcome.kind, outcome.provider.code) == (kind, code)
    assert not outcome.answered


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1"])
async def test_private_networks_are_shut(address: str) -> None:
    kind = "AAAA" if ":" in address else "A"
    zone: Zone = {("a.example", "MX"): ["5 mx.b.example."], ("mx.b.example", kind): [address]}
    with MailServer() as server:
        async with direct(zone, server.port, allow=()) as (road, _):
            outcome = await road.send("ann@a.example")
    assert (outcome.kind, outcome.provider.sub_type) == (Kind.failed, "forbidden")
    assert "settings.mail.allow" in outcome.error
    assert server.book.sessions == 0


async def test_one_bad_server_is_left_out_and_the_others_are_used() -> None:
    zone: Zone = {
        ("a.example", "MX"): ["5 localhost.", "10 mx.b.example."],
        ("localhost", "A"): ["10.0.0.1"],
        ("mx.b.example", "A"): ["127.0.0.1"],
    }
    with MailServer() as server:
        async with direct(zone, server.port) as (road, _):
            assert (await road.send("ann@a.example")).kind is Kind.delivered


async def test_an_old_answer_is_used_while_there_is_no_new_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(resolving, "KEPT_MIN_S", 0.0)
    monkeypatch.setattr(resolving, "KEPT_MAX_S", 0.0)
    async with name_server({("a.example", "MX"): ["10 mx.b.example."]}) as (names, resolver):
        first = await resolver.mx("a.example")
        names.zone["a.example", "MX"] = SERVFAIL
        assert await resolver.mx("a.example") == first
        names.zone["b.example", "MX"] = SERVFAIL
        with pytest.raises(Unresolved):
            await resolver.mx("b.example")


async def test_domains_of_one_provider_share_a_site() -> None:
    zone: Zone = {
        ("a.example", "MX"): ["10 a-example.mail.provider.example.", "20 b.provider.example."],
        ("b.example", "MX"): ["10 b-example.mail.provider.example."],
        ("c.example", "MX"): ["10 mx.c.example.", "20 mx.other.example."],
        ("d.example", "MX"): SERVFAIL,
    }
    async with name_server(zone) as (_, resolver):
        made = channel(MailSettings("mx"), resolver=resolver)
        sites = [await made.site(f"ann@{name}.example", credential()) for name in "abcde"]
    assert sites == [
        "provider.example",
        "provider.example",
        "mx.c.example,mx.other.example",
        "d.example",
        "e.example",
    ]


async def test_the_site_of_a_relay_is_its_name() -> None:
    made = channel(MailSettings("smtp://relay.example:587"))
    assert await made.site("ann@example.com", credential()) == "relay.example"


# MTA-STS

STS: Zone = {
    ("a.example", "MX"): ["10 mx.b.example."],
    ("mx.b.example", "A"): ["127.0.0.1"],
    ("_mta-sts.a.example", "TXT"): ['"v=STSv1; id=1;"'],
}


def policy(mode: str, host: str = "mx.b.example") -> Any:
    async def fetch(domain: str) -> bytes:
        assert domain == "a.example"
        return f"version: STSv1\nmode: {mode}\nmx: {host}\nmax_age: 86400\n".encode()

    return fetch


@pytest.mark.parametrize(
    ("mode", "named", "certified", "kind"),
    [
        ("enforce", "mx.b.example", "mx.b.example", Kind.delivered),
        ("enforce", "mx.b.example", "other.example", Kind.unreachable),
        ("enforce", "mx.b.example", "", Kind.unreachable),
        ("enforce", "mx.other.example", "mx.b.example", Kind.failed),
        ("testing", "mx.b.example", "other.example", Kind.delivered),
        ("testing", "mx.other.example", "", Kind.delivered),
        ("none", "mx.b.example", "", Kind.delivered),
    ],
)
async def test_what_a_domain_says_about_its_servers_is_kept_to(
    mode: str,
    named: str,
    certified: str,
    kind: Kind,
    tmp_path: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    authority = Authority(tmp_path)
    context = authority.context(certified) if certified else None
    with authority.trusted(monkeypatch), MailServer(Moods(tls=context)) as server:
        async with direct(STS, server.port, fetch=policy(mode, named)) as (road, _):
            outcome = await road.send("ann@a.example")
    assert outcome.kind is kind, outcome
    assert len(server.mails) == (kind is Kind.delivered)


async def test_without_the_policy_the_wrong_certificate_would_do(tmp_path: Any) -> None:
    context = Authority(tmp_path).context("other.example")
    zone = {place: records for place, records in STS.items() if place[1] != "TXT"}
    with MailServer(Moods(tls=context)) as server:
        async with direct(zone, server.port, fetch=policy("enforce")) as (road, _):
            outcome = await road.send("ann@a.example")
    assert outcome.kind is Kind.delivered
