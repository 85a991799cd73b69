"""Relays as they are written, sites of servers, and policies of domains."""

import pytest

from postroad.model.errors import BadInput
from postroad.model.relay import MailRelay, RelayOptions, Tls, read_relay
from postroad.transports.smtp.mta_sts import NO_POLICY, Mode, StsPolicy, read_id, read_policy
from postroad.transports.smtp.routes import registered, site_of


@pytest.mark.parametrize(
    ("text", "relay"),
    [
        ("mx", MailRelay()),
        ("mx?sessions=2&mails=7", MailRelay(options=RelayOptions(sessions=2, mails=7))),
        ("smtp://mail.example.com", MailRelay("mail.example.com", 25)),
        (
            "smtp://u:p%40ss@mail.example.com",
            MailRelay("mail.example.com", 587, user="u", password="p@ss"),
        ),
        ("smtps://u:p@[::1]:4650/", MailRelay("::1", 4650, wrapped=True, user="u", password="p")),
        (
            "smtp://127.0.0.1:2525?tls=none",
            MailRelay("127.0.0.1", 2525, options=RelayOptions(Tls.none)),
        ),
    ],
)
def test_a_relay_is_read(text: str, relay: MailRelay) -> None:
    assert read_relay(text) == relay


@pytest.mark.parametrize(
    "text",
    [
        "",
        "mail.example.com",
        "http://user:secret@example.com",
        "smtp://user:secret@",
        "smtp://:secret@example.com",
        "smtp://user:secret@example.com:port",
        "smtp://user:secret@example.com:99999",
        "smtp://user:secret@exa mple.com",
        "smtp://user:secret@example.com?tls=maybe",
        "smtp://user:secret@example.com?sessions=0",
        "smtp://user:secret@example.com?colour=blue",
        "smtp://user:secret@example.com\r\nRCPT",
        "mx?hello=a%0d%0ab",
        "smtp://user:secret@" + "x" * 3_000,
    ],
)
def test_a_relay_that_cannot_be_read_is_refused_without_its_password(text: str) -> None:
    with pytest.raises(BadInput, match="relay") as refused:
        read_relay(text)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("hosts", "site"),
    [
        (("aspmx.l.google.com", "alt1.aspmx.l.google.com"), "google.com"),
        (("a-com.mail.protection.outlook.com",), "outlook.com"),
        (("mx1.mail.example.co.uk", "mx2.example.co.uk"), "example.co.uk"),
        (("mx.b.example", "mx.a.example"), "mx.a.example,mx.b.example"),
        (("localhost",), "localhost"),
    ],
)
def test_servers_of_one_owner_are_one_site(hosts: tuple[str, ...], site: str) -> None:
    assert site_of(hosts) == site


def test_many_servers_of_many_owners_have_a_short_name() -> None:
    hosts = [f"mx.owner{n}.example" for n in range(40)]
    assert len(site_of(hosts)) <= 100
    assert site_of(hosts) == site_of(hosts[::-1]) != site_of(hosts[1:])
    assert registered("example.de") == "example.de"


POLICY = b"version: STSv1\r\nmode: enforce\r\nmx: mail.example.com\r\nmx: *.example.net\r\nmax_age: 86400\r\n"


def test_a_policy_names_servers() -> None:
    policy = read_policy(POLICY)
    assert policy == StsPolicy(Mode.enforce, ("mail.example.com", "*.example.net"), 86_400)
    named = ["mail.example.com", "a.example.net"]
    others = ["example.net", "a.b.example.net", "mail.example.com.evil.example"]
    assert [policy.names(host) for host in named + others] == [True, True, False, False, False]


@pytest.mark.parametrize(
    "file",
    [b"", b"\xff" * 100, POLICY.replace(b"STSv1", b"STSv2"), POLICY.replace(b"86400", b"9" * 50)],
)
def test_a_file_that_is_no_policy_asks_for_nothing(file: bytes) -> None:
    assert read_policy(file) is NO_POLICY


def test_the_id_of_a_policy() -> None:
    assert read_id(["v=spf1 -all", "v=STSv1; id=20240101T000000;"]) == "20240101T000000"
    assert read_id(["v=STSv1; id=a;", "v=STSv1; id=b;"]) == ""
    assert read_id(["v=STSv1; id=../../x"]) == ""
