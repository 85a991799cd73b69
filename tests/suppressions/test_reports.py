"""What comes back about mails: read as others read it, believed only with our reference."""

import asyncio
import base64
import email
import quopri
from pathlib import Path
from typing import Any

import pytest
from flufl.bounce import all_failures

from postroad.model.ids import campaign_id, key_text
from postroad.model.mail_links import MailLinks
from postroad.model.mail_report import BYTES_MAX, ReportKind, read_reports
from postroad.model.states import State
from tests.api.stand import Stand
from tests.cli.running import data
from tests.suppressions.reports import arf, dsn

ANN = "Ann@example.com"
K = ReportKind
KINDS = {
    "5.1.1": K.hard_bounce,
    "5.1.2": K.hard_bounce,
    "5.1.10": K.hard_bounce,
    "5.2.1": K.hard_bounce,
    "5.1.8": K.soft_bounce,
    "5.2.2": K.soft_bounce,
    "4.4.7": K.soft_bounce,
    "5.7.1": K.policy,
    "5.7.26": K.policy,
    "": K.soft_bounce,
}


@pytest.mark.parametrize("status", KINDS)
def test_a_bounce_is_classified_by_its_code_and_policy_blames_nobody(status: str) -> None:
    (found,) = read_reports(dsn(ANN, status=status))
    assert (found.kind, found.recipients, found.code) == (KINDS[status], (ANN,), status)
    assert found.text.endswith("Recipient address rejected: User unknown")


def test_another_reader_finds_the_same_recipients() -> None:
    for status in ("5.1.1", "5.2.2", "4.4.7"):
        raw = dsn("ann@example.com", status=status)
        temporary, permanent = all_failures(email.message_from_bytes(raw))
        (ours,) = read_reports(raw)
        assert {one.encode() for one in ours.recipients} == temporary | permanent


def with_status(*lines: str, kind: str = "message/delivery-status", encoding: str = "") -> bytes:
    """A bounce whose report is written in another way."""
    said = "\r\n".join(("Reporting-MTA: dns; mx.example.net", "", *lines, ""))
    if encoding == "base64":
        said = base64.encodebytes(said.encode()).decode()
    elif encoding:
        said = quopri.encodestring(said.encode()).decode()
    head, _, rest = dsn(ANN).decode().partition("Content-Type: message/delivery-status\r\n")
    _, boundary, tail = rest.partition("\r\n--4Zq0")
    more = f"Content-Transfer-Encoding: {encoding}\r\n" if encoding else ""
    return f"{head}Content-Type: {kind}\r\n{more}\r\n{said}{boundary}{tail}".encode()


TO_ANN = f"Final-Recipient: rfc822; {ANN}"
UNKNOWN = "Diagnostic-Code: smtp; 550 5.1.1 no such user"


@pytest.mark.parametrize(
    "raw",
    [
        with_status(TO_ANN, "Action: failed", "Status: 5.0.0", UNKNOWN),
        with_status(TO_ANN, "Action: failed", UNKNOWN),
        with_status(TO_ANN, "Action: failed (no such user)", "Status: 5.1.1 (unknown)"),
        with_status(TO_ANN, "Action: Failed", "Status: 5.1.1(unknown)"),
        with_status(
            f"Final-Recipient: utf-8; {ANN}",
            "Action: failed",
            "Status: 5.1.1",
            kind="message/global-delivery-status",
        ),
        with_status(TO_ANN, "Action: failed", "Status: 5.1.1", encoding="base64"),
        with_status(TO_ANN, "Action: failed", "Status: 5.1.1", encoding="quoted-printable"),
        with_status(TO_ANN, "Action: failed", "Status: 5.1.1").replace(b"boundary=", b"Boundary="),
    ],
)
def test_a_bounce_is_read_in_the_ways_in_which_servers_write_it(raw: bytes) -> None:
    (found,) = read_reports(raw)
    assert (found.kind, found.recipients, found.code) == (K.hard_bounce, (ANN,), "5.1.1")


def test_what_a_server_said_does_not_outweigh_a_status_that_says_more() -> None:
    said = (TO_ANN, "Action: failed")
    (found,) = read_reports(with_status(*said, "Status: 5.2.2", UNKNOWN))
    assert (found.kind, found.code) == (K.soft_bounce, "5.2.2")
    (found,) = read_reports(with_status(*said, "Status: 5.0.0", "Diagnostic-Code: x; 15.1.1.9"))
    assert (found.kind, found.code) == (K.soft_bounce, "5.0.0")


def test_delays_deliveries_and_other_mail_are_no_bounces() -> None:
    assert read_reports(dsn(ANN, action="delayed", status="4.4.1")) == []
    (found,) = read_reports(dsn(ANN, action="delivered", status="2.1.5"))
    assert found.kind is K.delivered
    for other in (b"", b"\n\n", b"Subject: I am away\n\nBack on Monday", dsn(ANN)[:300]):
        assert read_reports(other) == []


def test_a_complaint_is_no_bounce_and_not_spam_is_no_complaint() -> None:
    (found,) = read_reports(arf(ANN))
    assert (found.kind, found.recipients) == (K.complaint, (ANN,))
    assert read_reports(arf(ANN, kind="not-spam")) == []


@pytest.mark.parametrize(
    "raw",
    [
        b"a: b\n" * 100_000,
        b"Content-Type: multipart/report; boundary=x\n\n" + b"--x\n" * 50_000,
        b"Content-Type: multipart/report; boundary=\n\n--\n",
        dsn(ANN).replace(b"\r\n\r\nFinal", b"\r\n\r\n" + b"Final-Recipient: x\r\n\r\n" * 9_000),
        b"\xff\xfe" * 200_000,
        dsn(ANN) + b"x" * (20 << 20),
        b"Content-Type: multipart/mixed; boundary=a\n\n"
        + b"--a\nContent-Type: multipart/mixed; boundary=a\n\n" * 5_000,
    ],
)
def test_hostile_reports_are_bounded(raw: bytes) -> None:
    assert len(read_reports(raw)) <= 100
    assert BYTES_MAX < 1 << 20


def told(folder: Path, story: Any) -> None:
    async def run() -> None:
        async with Stand(folder) as stand:
            await story(stand)

    asyncio.run(run())


def links(stand: Stand) -> MailLinks:
    return MailLinks(stand.road.keys, "", "bounces.example.com")


async def sent(stand: Stand) -> str:
    """An uncertain message, as a mail would be whose answer was lost."""
    said = await stand.send("doubtful")
    await stand.road.run(until_idle=True)
    assert (await stand.road.explain(said)).state is State.uncertain
    return said


async def report(stand: Stand, raw: bytes, **query: str) -> dict[str, int]:
    headers = {"content-type": "message/rfc822"}
    answer = await stand.say("POST", "/v1/suppressions:report", raw, query=query, headers=headers)
    assert answer.status == 200, answer.content
    found: dict[str, int] = answer.json()
    return found


def test_a_bounce_to_its_return_path_settles_and_suppresses_once(tmp_path: Path) -> None:
    async def story(stand: Stand) -> None:
        ref = await sent(stand)
        path = links(stand).return_path(ref, ANN)
        raw = dsn(ANN, to=path)
        assert await report(stand, raw) == {"reports": 1, "suppressed": 1, "ignored": 0}
        assert (await stand.road.explain(ref)).state is State.delivered
        assert await report(stand, raw) == {"reports": 1, "suppressed": 0, "ignored": 0}, "twice"
        (found,) = (await stand.road.suppressions.list()).suppressions
        assert (found.recipient, found.reason, found.message) == (
            "ann@example.com",
            "hard_bounce",
            ref,
        )
        assert found.note.startswith("5.1.1 550 5.1.1")

    told(tmp_path, story)


def test_envelope_message_id_and_case_lead_to_the_message_too(tmp_path: Path) -> None:
    async def story(stand: Stand) -> None:
        ref = await sent(stand)
        made = links(stand)
        by_envelope = await report(stand, dsn(ANN), to=made.return_path(ref, ANN).upper())
        assert by_envelope["suppressed"] == 1
        assert (await report(stand, arf(ANN, mark=made.reference(ref, ANN))))["suppressed"] == 1
        reasons = {one.reason for one in (await stand.road.suppressions.list()).suppressions}
        assert reasons == {"hard_bounce", "complaint"}

    told(tmp_path, story)


def test_what_is_forged_or_about_somebody_else_changes_nothing(tmp_path: Path) -> None:
    async def story(stand: Stand) -> None:
        ref = await sent(stand)
        own = links(stand).return_path(ref, ANN)
        nobody = key_text(campaign_id(999, 1))
        forged = [
            dsn("bob@example.com", to=own),
            dsn(ANN),
            dsn(ANN, to=own.replace(own[5], "a" if own[5] != "a" else "b", 1)),
            dsn(ANN, to=links(stand).return_path(nobody, ANN)),
            arf("bob@example.com", mark=links(stand).reference(ref, ANN)),
        ]
        for raw in forged:
            assert (await report(stand, raw)) == {"reports": 1, "suppressed": 0, "ignored": 1}
        other = (await stand.road.tokens.make("b", tenant="b")).secret
        answer = await stand.say("POST", "/v1/suppressions:report", dsn(ANN, to=own), token=other)
        assert answer.json()["ignored"] == 1, "the message is another tenant's"
        assert (await stand.road.explain(ref)).state is State.uncertain
        for tenant in ("default", "b"):
            assert not (await stand.road.suppressions.list(tenant=tenant)).suppressions

    told(tmp_path, story)


def test_a_policy_refusal_or_a_full_mailbox_never_suppresses(tmp_path: Path) -> None:
    async def story(stand: Stand) -> None:
        ref = await sent(stand)
        path = links(stand).return_path(ref, ANN)
        for status in ("5.7.1", "5.7.26", "5.2.2", "4.4.7"):
            said = await report(stand, dsn(ANN, to=path, status=status))
            assert said == {"reports": 1, "suppressed": 0, "ignored": 0}
        assert not (await stand.road.suppressions.list()).suppressions

    told(tmp_path, story)


def test_a_mail_server_can_pipe_a_bounce_to_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made: list[str] = []

    async def story(stand: Stand) -> None:
        made.append(links(stand).return_path(await sent(stand), ANN))

    told(tmp_path, story)
    file = tmp_path / "bounce.eml"
    file.write_bytes(dsn(ANN))
    road = ("--dsn", f"sqlite:///{tmp_path}/road.db")
    said = data("suppression", "report", str(file), "--to", made[0], *road)
    assert said == {"reports": 1, "suppressed": 1, "ignored": 0}
