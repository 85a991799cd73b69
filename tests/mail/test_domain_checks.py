"""`postroad doctor mail`: what it finds in a domain's records, by a name server of our own."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from postroad import Postroad
from postroad.transports.smtp import domain_checks
from postroad.transports.smtp.domain_checks import DomainFinding, check_domain
from tests.cli.running import data, postroad
from tests.mail.name_server import Zone, name_server
from tests.mail.signing import RSA, pem

GOOD: dict[tuple[str, str], list[str] | int] = {
    ("shop.test", "TXT"): ['"v=spf1 include:relay.test mx -all"', '"other"'],
    ("relay.test", "TXT"): ['"v=spf1 ip4:192.0.2.0/24 -all"'],
    ("_dmarc.shop.test", "TXT"): ['"v=DMARC1; p=reject; rua=mailto:a@shop.test"'],
    ("s1._domainkey.shop.test", "TXT"): ['"v=DKIM1; k=rsa; p=MIIB"'],
    ("shop.test", "MX"): ["10 mx.shop.test."],
    ("mx.shop.test", "A"): ["192.0.2.7"],
    ("7.2.0.192.in-addr.arpa", "PTR"): ["mx.shop.test."],
}
MANY = " ".join(f"include:i{n}.test" for n in range(11))
LOOP = {("loop.test", "TXT"): ['"v=spf1 include:loop.test -all"']}
SERVFAIL = 2


def look(
    zone: Zone, domain: str = "shop.test", selectors: tuple[str, ...] = ("s1",)
) -> dict[str, DomainFinding]:
    async def story() -> list[DomainFinding]:
        async with name_server(zone) as (_, resolver):
            return await check_domain(domain, selectors, resolver)

    return {one.part: one for one in asyncio.run(story())}


def test_a_domain_in_order_is_told_so() -> None:
    found = look(GOOD)
    assert {one.state for one in found.values()} == {"ok"}
    assert set(found) == {"SPF", "DMARC", "DKIM s1", "MX", "reverse name of mx.shop.test"}


@pytest.mark.parametrize(
    ("place", "records", "part", "state", "says"),
    [
        (("shop.test", "TXT"), ['"x"'], "SPF", "fail", "no SPF record"),
        (("shop.test", "TXT"), ['"v=spf1 -all"', '"v=spf1 mx -all"'], "SPF", "fail", "2 SPF"),
        (("shop.test", "TXT"), [f'"v=spf1 {MANY} -all"'], "SPF", "fail", "more than 10"),
        (("shop.test", "TXT"), ['"v=spf1 +all"'], "SPF", "fail", "everybody"),
        (("shop.test", "TXT"), ['"v=spf1 mx ?all"'], "SPF", "warn", "?all"),
        (("shop.test", "TXT"), ['"v=spf1"'], "SPF", "warn", "v=spf1"),
        (("shop.test", "TXT"), ['"v=spf1 include:loop.test -all"'], "SPF", "ok", "loop"),
        (("shop.test", "TXT"), SERVFAIL, "SPF", "fail", "has no TXT now"),
        (("_dmarc.shop.test", "TXT"), ['"x"'], "DMARC", "fail", "0 DMARC"),
        (("_dmarc.shop.test", "TXT"), ['"v=DMARC1; p=none"'], "DMARC", "warn", "none"),
        (("_dmarc.shop.test", "TXT"), ['"v=DMARC1;;=;p"'], "DMARC", "fail", "policy"),
        (("s1._domainkey.shop.test", "TXT"), ['"v=DKIM1; p="'], "DKIM s1", "fail", "empty"),
        (("s1._domainkey.shop.test", "TXT"), ['"=;;;"'], "DKIM s1", "fail", "no key"),
        (("shop.test", "MX"), [], "MX", "warn", "no MX"),
        (("shop.test", "MX"), SERVFAIL, "MX", "fail", "has no MX now"),
        (("mx.shop.test", "A"), ["192.0.2.8"], "reverse name of mx.shop.test", "warn", "192.0.2.8"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_how_to_mend_it(
    place: tuple[str, str], records: list[str] | int, part: str, state: str, says: str
) -> None:
    found = look(GOOD | LOOP | {place: records})[part]
    assert (found.state, says in found.found) == (state, True), found
    assert bool(found.mend) == (state != "ok")


def test_a_domain_that_does_not_exist_and_no_selector() -> None:
    found = look(GOOD, "nobody.test", ())
    assert (found["MX"].state, found["DKIM"].state, found["SPF"].state) == ("fail", "warn", "fail")


def test_a_name_that_is_none_is_refused_by_the_command() -> None:
    done = postroad("doctor", "mail", "no domain")
    assert done.exit_code == 2


def test_the_selectors_are_those_of_the_credential(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Sequence[str]] = []

    async def checked(_name: str, selectors: Sequence[str], _resolver: object) -> list[object]:
        asked.append(selectors)
        return []

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("POSTROAD_SECRET", "")
    monkeypatch.setattr(domain_checks, "check_domain", checked)
    (tmp_path / "key.pem").write_text(pem(RSA))
    (tmp_path / "road").mkdir(mode=0o700)

    async def new_road() -> None:
        async with Postroad("sqlite:///road/road.db"):
            pass

    asyncio.run(new_road())
    signs = ("--with", "dkim_selector=r", "--secret", "dkim_key=@key.pem")
    words = ("--kind", "smtp", "--provider", "mx", "--sender", "Shop <shop@example.com>")
    _ = data("credential", "put", "signs", *words, *signs)
    _ = data("credential", "put", "plain", *words)
    assert postroad("doctor", "mail", "example.com", "--credential", "signs").exit_code == 0
    assert asked == [["r"]]
    for domain, name in (("example.com", "plain"), ("other.example", "signs"), ("a.test", "no")):
        assert postroad("doctor", "mail", domain, "--credential", name).exit_code == 2
    assert len(asked) == 1
