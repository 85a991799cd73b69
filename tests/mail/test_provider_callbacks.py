"""Callbacks of SES, Mailgun and Postmark: believed when signed, late, twice and out of order; forged
ones change nothing."""

import time
from base64 import b64encode
from pathlib import Path
from typing import Any

import msgspec
import pytest

from postroad import Postroad
from postroad.config import Settings
from postroad.model.credential import CredentialSpec
from postroad.model.errors import BadInput
from postroad.model.mail_links import MailLinks
from postroad.model.mail_report import ReportKind
from postroad.model.mail_settings import MailSettings
from postroad.transports.mail_providers.postmark import postmark_reports
from postroad.transports.mail_providers.ses import ses_reports
from postroad.transports.mail_providers.sns import from_amazon
from postroad.verbs.parts import Parts
from tests.api.stand import Stand
from tests.mail.mail_server import MailServer
from tests.mail.provider_calls import (
    CERT_URL,
    HOST,
    MAILGUN_KEY,
    POSTMARK_KEY,
    SUBSCRIBE_URL,
    TOPIC,
    Amazon,
    mailgun,
    mailgun_event,
    postmark,
    ses_event,
)
from tests.suppressions.test_reports import sent, told

ANN = "ann@example.com"
KEYS = {"ses": TOPIC, "mailgun": MAILGUN_KEY, "postmark": POSTMARK_KEY}
BASIC = {"authorization": f"Basic {b64encode(POSTMARK_KEY.encode()).decode()}"}


class Provider:
    """A stand with a credential of one provider, and a message to Ann that was sent."""

    def __init__(self, stand: Stand, name: str, amazon: Amazon | None = None) -> None:
        self.stand = stand
        self.name = name
        self.amazon = amazon or Amazon()

    async def ready(self) -> str:
        """The mark of the message."""
        spec = CredentialSpec("smtp://127.0.0.1:9", options={"callbacks": self.name})
        road = self.stand.road
        secrets = {"callback_key": KEYS[self.name]}
        await road.credentials.put(self.name, spec, secrets=secrets, kind="smtp", check=False)
        channel: Any = road.campaign_service.channels["smtp"].channel
        channel._provider._sns._get = self.amazon.get
        self.ref = await sent(self.stand)
        return MailLinks(road.keys).reference(self.ref, ANN)

    async def call(self, body: bytes, **more: Any) -> int:
        path = f"/v1/callbacks/default/{more.pop('name', self.name)}"
        answer = await self.stand.say("POST", path, body, token="", **more)
        return answer.status

    async def suppressed(self) -> list[str]:
        found = (await self.stand.road.suppressions.list()).suppressions
        return sorted(str(one.reason) for one in found)

    async def kinds(self) -> list[str]:
        return [str(one.kind) for one in await self.stand.road.store.reports_of(self.number)]

    @property
    def number(self) -> int:
        from postroad.model.ids import to_number

        return to_number(self.ref)


def played(folder: Path, name: str, story: Any, amazon: Amazon | None = None) -> None:
    async def run(stand: Stand) -> None:
        provider = Provider(stand, name, amazon)
        await story(provider, await provider.ready())

    told(folder, run)


@pytest.mark.parametrize("version", ["1", "2"])
def test_ses_reports_through_sns_are_taken_once_and_out_of_order(
    tmp_path: Path, version: str
) -> None:
    async def story(ses: Provider, mark: str) -> None:
        for kind in ("Complaint", "Bounce", "Delivery", "Bounce"):
            body = ses.amazon.message(ses_event(kind, ANN, mark), version)
            assert await ses.call(body) == 204
        assert await ses.suppressed() == ["complaint", "hard_bounce"]
        assert await ses.kinds() == ["complaint", "hard_bounce"]
        assert ses.amazon.got == [CERT_URL], "kept"
        lines = (await ses.stand.road.audit.list()).lines
        actors = [line.actor for line in lines if line.verb == "suppression_add"]
        assert actors == ["callback of ses"] * 2

    played(tmp_path, "ses", story)


def test_what_ses_calls_transient_or_refused_for_its_content_blames_nobody(tmp_path: Path) -> None:
    async def story(ses: Provider, mark: str) -> None:
        person = {"emailAddress": ANN, "status": "5.7.1"}
        for more in (
            {"bounceType": "Transient", "bounceSubType": "MailboxFull"},
            {"bounceType": "Transient", "bounceSubType": "ContentRejected"},
            {"bouncedRecipients": [person]},
        ):
            assert await ses.call(ses.amazon.message(ses_event("Bounce", ANN, mark, **more))) == 204
        assert await ses.suppressed() == []

    played(tmp_path, "ses", story)


def test_forged_sns_messages_change_nothing(tmp_path: Path) -> None:
    amazon, eve = Amazon(), Amazon()

    async def story(ses: Provider, mark: str) -> None:
        event = ses_event("Bounce", ANN, mark)
        good = amazon.message(event)
        forged = [
            eve.message(event),
            good.replace(b"5.1.1", b"5.1.2"),
            amazon.message(event, TopicArn=TOPIC.replace("123456789012", "210987654321")),
            amazon.message(
                event, SigningCertURL="https://sns.us-west-2.amazonaws.com.evil.example/x"
            ),
            amazon.message(event, SigningCertURL="http://sns.us-west-2.amazonaws.com/x.pem"),
            amazon.message(event, SigningCertURL=f"{HOST}/?Action=GetEndpointAttributes"),
            amazon.message(event, SigningCertURL=f"{CERT_URL}?x=1"),
            amazon.message(event, SignatureVersion="3"),
            amazon.message(event, Type="Other"),
            amazon.confirmation("https://evil.example/?Action=ConfirmSubscription"),
            b"[" * 100_000,
            b"{}",
        ]
        for body in forged:
            assert await ses.call(body) == 403
        assert await ses.call(good, name="nobody") == 403
        assert set(amazon.got) == {CERT_URL}, "nothing else was fetched"
        assert (await ses.suppressed(), await ses.kinds()) == ([], [])
        assert await ses.call(good) == 204

    played(tmp_path, "ses", story, amazon)


def test_a_certificate_that_is_too_old_signs_nothing_and_is_not_asked_for_again_and_again(
    tmp_path: Path,
) -> None:
    amazon = Amazon(days=-1)

    async def story(ses: Provider, mark: str) -> None:
        for _ in range(5):
            assert await ses.call(amazon.message(ses_event("Bounce", ANN, mark))) == 403
        assert amazon.got == [CERT_URL]

    played(tmp_path, "ses", story, amazon)


def test_while_amazon_is_away_sns_is_asked_to_say_it_again(tmp_path: Path) -> None:
    """It repeats what is answered with 503, and drops what is answered with 403."""

    async def story(ses: Provider, mark: str) -> None:
        amazon, bounce = ses.amazon, ses.amazon.message(ses_event("Bounce", ANN, mark))
        amazon.away = {CERT_URL}
        assert [await ses.call(bounce) for _ in range(3)] == [503] * 3
        assert amazon.got == [CERT_URL], "it is left alone for a while"
        assert (await ses.suppressed(), await ses.kinds()) == ([], [])
        amazon.away = {SUBSCRIBE_URL}
        channel: Any = ses.stand.road.campaign_service.channels["smtp"].channel
        channel._provider._sns._away.clear()  # as after a while
        assert await ses.call(amazon.confirmation()) == 503
        amazon.away = set()
        assert [await ses.call(each) for each in (amazon.confirmation(), bounce)] == [204, 204]
        assert await ses.kinds() == ["hard_bounce"]

    played(tmp_path, "ses", story)


def test_a_subscription_is_confirmed_by_its_link(tmp_path: Path) -> None:
    async def story(ses: Provider, _mark: str) -> None:
        assert await ses.call(ses.amazon.confirmation()) == 204
        assert ses.amazon.got == [CERT_URL, SUBSCRIBE_URL]

    played(tmp_path, "ses", story)


@pytest.mark.parametrize(
    "url",
    [
        f"{HOST}:444/x.pem",
        "https://sns.us-west-2.amazonaws.com@evil.example/x.pem",
        "https://evil.example/sns.us-west-2.amazonaws.com",
        "https://xsns.us-west-2.amazonaws.com/",
        "https://s3.us-west-2.amazonaws.com/x.pem",
        "https://sns.us-west-2.amazonaws.com.evil.example/",
        "https://[::1/x.pem",
        f"{HOST}/\n",
        "",
    ],
)
def test_only_addresses_of_sns_are_called(url: str) -> None:
    assert not from_amazon(url)
    assert from_amazon(CERT_URL)
    assert from_amazon("https://sns.cn-north-1.amazonaws.com.cn/x.pem")


async def test_what_is_fetched_goes_through_the_guard(tmp_path: Path) -> None:
    async def inside(_name: str) -> list[str]:
        return ["10.0.0.7"]

    parts = Parts(resolve=inside)
    async with Postroad(f"sqlite:///{tmp_path}/road.db", parts=parts) as road:
        channel: Any = road.campaign_service.channels["smtp"].channel
        with pytest.raises(BadInput, match=r"may not call \(private\)"):
            await channel._provider._sns._get(CERT_URL)


def test_mailgun_events_are_taken_late_and_twice_but_a_token_with_one_body_only(
    tmp_path: Path,
) -> None:
    async def story(gun: Provider, mark: str) -> None:
        now_s = int(time.time())
        bounce = mailgun(mailgun_event("failed", ANN, mark), now_s - 3_600)
        assert [await gun.call(bounce) for _ in range(2)] == [204, 204]
        assert await gun.suppressed() == ["hard_bounce"]
        complaint = mailgun_event("complained", ANN, mark)
        assert await gun.call(mailgun(complaint, now_s - 3_600)) == 403, "the token was used"
        assert await gun.call(mailgun(complaint, now_s, "t2")) == 204
        assert await gun.call(mailgun(mailgun_event("delivered", ANN, mark), now_s, "t3")) == 204
        assert await gun.suppressed() == ["complaint", "hard_bounce"]
        assert await gun.kinds() == ["hard_bounce", "complaint"]

    played(tmp_path, "mailgun", story)


def test_forged_and_old_mailgun_calls_change_nothing(tmp_path: Path) -> None:
    async def story(gun: Provider, mark: str) -> None:
        now_s, event = int(time.time()), mailgun_event("failed", ANN, mark)
        for body in (
            mailgun(event, now_s, key="key-of-somebody-else"),
            mailgun(event, now_s - 86_400),
            mailgun(event, now_s + 86_400),
            mailgun(event, now_s).replace(b'"token":"a8', b'"token":"b8'),
            b"null",
        ):
            assert await gun.call(body) == 403
        other = mailgun_event("failed", "bob@example.com", mark)
        assert await gun.call(mailgun(other, now_s, "t4")) == 204, "about nobody that it was for"
        assert (await gun.suppressed(), await gun.kinds()) == ([], [])

    played(tmp_path, "mailgun", story)


@pytest.mark.parametrize(
    ("more", "kind"),
    [
        ({"severity": "temporary"}, ""),
        ({"event": "opened"}, ""),
        ({"reason": "espblock"}, "policy"),
        ({"delivery-status": {"code": 550, "message": "550 5.7.1 blocked"}}, "policy"),
        (
            {
                "reason": "generic",
                "delivery-status": {"code": 550, "message": "550 host [15.1.1.4] refused"},
            },
            "soft_bounce",
        ),
        ({"reason": "old", "delivery-status": {"code": 602}}, "soft_bounce"),
        ({"reason": "delayed-bounce", "delivery-status": {}}, "hard_bounce"),
        ({"reason": "suppress-bounce", "delivery-status": {"code": 605}}, "hard_bounce"),
    ],
)
def test_mailguns_words_for_failures(tmp_path: Path, more: dict[str, Any], kind: str) -> None:
    async def story(gun: Provider, mark: str) -> None:
        event = mailgun_event("failed", ANN, mark, **more)
        assert await gun.call(mailgun(event, int(time.time()))) == 204
        assert await gun.kinds() == ([kind] if kind else [])

    played(tmp_path, "mailgun", story)


def test_postmark_calls_know_a_secret_and_words_of_theirs_are_read(tmp_path: Path) -> None:
    async def story(mark: Provider, name: str) -> None:
        bounce = postmark(ANN, name)
        wrong = {"authorization": f"Basic {b64encode(b'postmark:guess').decode()}"}
        for more in ({}, {"headers": wrong}, {"query": {"key": "x"}}):
            assert await mark.call(bounce, **more) == 403
        assert await mark.kinds() == []
        for kind in ("Transient", "AutoResponder"):
            assert await mark.call(postmark(ANN, name, Type=kind), headers=BASIC) == 204
        assert await mark.call(postmark(ANN, name, Type="Blocked"), headers=BASIC) == 204
        assert await mark.suppressed() == []
        for _ in range(2):
            assert await mark.call(bounce, headers=BASIC) == 204
        complaint = postmark(ANN, name, RecordType="SpamComplaint", Type="SpamComplaint")
        assert await mark.call(complaint, query={"key": POSTMARK_KEY}) == 204
        assert await mark.kinds() == ["policy", "hard_bounce", "complaint"]
        noted = await mark.stand.road.store.reports_of(mark.number)
        assert [one.code for one in noted][:2] == ["5.1.1", "5.1.1"], "as the server said"
        assert await mark.suppressed() == ["complaint", "hard_bounce"]

    played(tmp_path, "postmark", story)


async def test_mails_through_postmark_carry_their_reference_as_metadata(tmp_path: Path) -> None:
    with MailServer() as server:
        settings = Settings(mail=MailSettings(server.url, allow=("127.0.0.0/8",)))
        async with Postroad(f"sqlite:///{tmp_path}/road.db", settings=settings) as road:
            spec = CredentialSpec(sender="shop@example.com", options={"callbacks": "postmark"})
            secrets = {"callback_key": POSTMARK_KEY}
            await road.credentials.put("smtp", spec, secrets=secrets, kind="smtp", check=False)
            receipt = await road.send(f"mailto:{ANN}", {"subject": "Hi", "text": "Hello"})
            await road.run(until_idle=True)
            mark = MailLinks(road.keys).reference(receipt.id, ANN)
    assert f"X-PM-Metadata-postroad: {mark}\r\n".encode() in server.mails[0].content


@pytest.mark.parametrize(
    ("provider", "key"),
    [
        ("sendmail", "x" * 20),
        ("ses", "x" * 20),
        ("mailgun", "short"),
        ("postmark", ""),
        ("", "k" * 20),
    ],
)
async def test_a_credential_with_wrong_callbacks_is_refused(
    tmp_path: Path, provider: str, key: str
) -> None:
    async with Postroad(f"sqlite:///{tmp_path}/road.db") as road:
        options = {"callbacks": provider} if provider else {}
        spec = CredentialSpec("smtp://127.0.0.1:9", options=options)
        secrets = {"callback_key": key} if key else {}
        with pytest.raises(BadInput, match="callback"):
            await road.credentials.put("x", spec, secrets=secrets, kind="smtp", check=False)


async def test_a_password_in_a_servers_address_is_refused_since_addresses_are_shown(
    tmp_path: Path,
) -> None:
    async with Postroad(f"sqlite:///{tmp_path}/road.db") as road:
        for server in ("smtp://lee:hush@127.0.0.1:9", "smtps://lee:hush@[::1]?sessions=2"):
            with pytest.raises(BadInput, match="give account and secret") as refused:
                await road.credentials.put("x", CredentialSpec(server), kind="smtp", check=False)
            assert "hush" not in str(refused.value)
        assert await road.credentials.list() == []


def test_fields_that_are_null_or_of_another_kind_lose_no_report() -> None:
    """As providers' own samples have them: `complaintSubType` null, numbers in metadata."""
    told = msgspec.json.decode(ses_event("Bounce", ANN, "mark"))
    told["bounce"]["bouncedRecipients"] = [
        {"emailAddress": ANN, "action": None, "status": None, "diagnosticCode": None}
    ]
    told["bounce"] |= {"bounceSubType": "OnAccountSuppressionList", "reportingMTA": None}
    told["mail"] |= {"headers": None, "commonHeaders": None, "tags": {"ses:operation": ["x"]}}
    (report,) = ses_reports(msgspec.json.encode(told).decode())
    assert (report.kind, report.recipients) == (ReportKind.hard_bounce, (ANN,))
    assert (report.code, report.text) == ("", "OnAccountSuppressionList")
    told = {"eventType": "Complaint", "mail": {"source": None}, "complaint": {
        "feedbackId": None, "complaintSubType": None, "complainedRecipients": [{"emailAddress": ANN}],
    }}  # fmt: skip
    (report,) = ses_reports(msgspec.json.encode(told).decode())
    assert (report.kind, report.recipients) == (ReportKind.complaint, (ANN,))
    for metadata in ({"user_id": 43, "postroad": "mark"}, {"user_id": 43}, None):
        (report,) = postmark_reports(postmark(ANN, "mark", Metadata=metadata, Tag=None))
        assert (report.kind, report.recipients) == (ReportKind.hard_bounce, (ANN,))
        assert report.marks == ("mark" if metadata and "postroad" in metadata else "",)
