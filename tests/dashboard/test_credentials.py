"""Credentials on their pages: made, changed, checked and deleted through the forms; no secret is
ever in a page."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from postroad.dashboard.views.credential_fields import KINDS
from postroad.transports.sms.channel import SmsChannel, WhatsAppChannel
from postroad.transports.smtp.channel import SmtpChannel
from postroad.transports.webhook.channel import WebhookChannel
from tests.campaigns.provider import ACCOUNT, TOKEN, Provider
from tests.campaigns.stories import LOCAL
from tests.dashboard.looks import check_access
from tests.dashboard.site import Site, seen
from tests.dashboard.stand import PageStand
from tests.dashboard.test_actions import act
from tests.servers import free_port

PATH, ONE = "/credentials", "/credential?name=main"
QUIET = {"postroad-fetch": "1"}
WHSEC = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


@pytest.fixture(scope="module")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Provider]:
    with Provider(tmp_path_factory.mktemp("provider")) as found:
        yield found


@pytest.fixture
def stand(tmp_path: Path, provider: Provider) -> PageStand:
    provider.begin(tmp_path)
    return PageStand(tmp_path, LOCAL)


def account(provider: Provider, /, **changes: str) -> dict[str, str]:
    """What somebody fills in."""
    given = {"provider": provider.server, "account": ACCOUNT, "sender": "+15550000"}
    return {"kind": "sms", "name": "main", **given, "rate": "50/s", "secret": TOKEN, **changes}


async def refused(stand: PageStand, path: str, **fields: str) -> str:
    answer = await stand.post(path, QUIET, **fields)
    assert answer.json()["bad"], answer.content
    return str(answer.json()["notice"])


@pytest.mark.parametrize("channel", [SmsChannel, WhatsAppChannel, SmtpChannel, WebhookChannel])
def test_a_form_asks_for_what_its_kind_has(channel: Any) -> None:
    asked = {field.name: field for field in KINDS[channel.name].fields}
    for field in channel.fields:
        shown = asked["provider" if field.name == "server" else field.name]
        assert (shown.needed, shown.secret) == (field.needed, field.sealed), field.name


async def test_every_kind_has_a_form(stand: PageStand) -> None:
    await stand.login()
    answer = await stand.say("POST", "/v1/credentials", {"name": "x", "kind": "pigeon"})
    told = answer.json()["detail"]
    assert told.partition("there are ")[2].split(", ") == sorted(KINDS, key=told.index)
    for kind, each in KINDS.items():
        page = (await stand.get(f"{PATH}?kind={kind}")).content.decode()
        form = page.partition(f'action="{PATH}/create"')[2].partition("</form>")[0]
        for field in each.fields:
            assert f'name="{field.name}"' in form, (kind, field.name)
        assert f'name="kind" value="{kind}"' in form


async def test_a_credential_is_made_and_shown_without_its_secret(
    stand: PageStand, provider: Provider
) -> None:
    await stand.login()
    empty = (await stand.get("/campaigns")).content
    assert b'href="/credentials">make one' in empty
    assert b"No credentials yet" in (await stand.get(PATH)).content
    assert "is checked and stored" in await act(stand, f"{PATH}/create", **account(provider))
    for path in (PATH, ONE, "/campaigns", "/system", "/access"):
        page = (await stand.get(path)).content.decode()
        assert TOKEN not in page, path
    for path in (PATH, ONE):
        page = (await stand.get(path)).content.decode()
        for text in (provider.server, ACCOUNT, "50/s", "ready"):
            assert text in page, (path, text)
    stored = await stand.road.credentials.get("main", "default")
    assert stand.road.credentials.with_secrets(stored).secret == TOKEN
    told = await stand.say("GET", "/v1/audit")
    (line,) = [line for line in told.json()["lines"] if line["verb"] == "credential_put"]
    assert line["name"] == "Ada"
    assert TOKEN not in told.content.decode()
    assert "already" in await refused(stand, f"{PATH}/create", **account(provider, rate="1/s"))
    assert (await stand.road.credentials.show("main")).rate == "50/s"


async def test_a_credential_is_changed_and_needs_its_secret_again(
    stand: PageStand, provider: Provider
) -> None:
    await stand.login()
    await act(stand, f"{PATH}/create", **account(provider, price="0.5", segments_max="3"))
    change = account(provider, rate="7/s", price="0.5", segments_max="2", sender="+15550009")
    told = await refused(stand, f"{PATH}/change", **{**change, "secret": ""})
    assert "give it again" in told
    assert (await stand.road.credentials.show("main")).rate == "50/s"
    await act(stand, f"{PATH}/change", **change, expires_at="2999-01-02T03:04")
    found = await stand.road.credentials.show("main")
    assert (found.rate, found.price, found.segments_max) == ("7/s", 0.5, 2)
    assert (found.sender, found.expires_at_ms) == ("+15550009", 32_472_241_440_000)
    page = (await stand.get(ONE)).content.decode()
    assert 'value="2999-01-02T03:04:00"' in page
    assert 'value="7/s"' in page
    assert TOKEN not in page


async def test_a_stored_secret_is_dropped_only_where_that_is_ticked(stand: PageStand) -> None:
    await stand.login()
    given = {"name": "hooks/.. a", "kind": "smtp", "provider": "mx", "sender": "a@example.com"}
    more = {"callbacks": "mailgun", "callback_key": "a key of sixteen letters"}
    await act(stand, f"{PATH}/create", **given, **more)
    path = "/credential?name=hooks/.. a"
    page = (await stand.get(path)).content.decode()
    assert "<dd>Key of the provider&#39;s reports</dd>" in page
    assert "a key of sixteen" not in page
    assert "give it again" in await refused(stand, f"{PATH}/change", **given)
    await act(stand, f"{PATH}/change", **given, without="yes")
    found = await stand.road.credentials.show("hooks/.. a")
    assert (found.secrets, found.options, found.provider) == ((), {}, "mx")
    assert "works: mx" in await act(stand, f"{PATH}/check", name="hooks/.. a")
    assert "deleted" in await act(stand, f"{PATH}/delete", name="hooks/.. a")
    assert await stand.road.credentials.list() == []


async def test_what_is_wrong_is_told_in_place_and_stores_nothing(
    stand: PageStand, provider: Provider
) -> None:
    await stand.login()
    for wrong, told in (
        ({"secret": ""}, "needs secret"),
        ({"secret": "short"}, "the secret has 5 characters"),
        ({"secret": "not the token of anybody"}, "does not know this account"),
        ({"name": ""}, "name is empty"),
        ({"kind": "pigeon"}, "there are sms"),
        ({"rate": "fast"}, "fast"),
        ({"price": "cheap"}, "is no number"),
        ({"segments_max": "many"}, "is no whole number"),
        ({"expires_at": "2020-01-01T00:00"}, "expired"),
        ({"provider": "ftp://example.com"}, "ftp"),
        ({"account": ""}, "needs account"),
    ):
        said = await refused(stand, f"{PATH}/create", **account(provider, **wrong))
        assert told in said, (wrong, said)
        assert TOKEN not in said
    assert await stand.road.credentials.list() == []
    assert "no credential" in await refused(stand, f"{PATH}/change", **account(provider))
    assert (await stand.get("/credential?name=main")).status == 404
    assert (await stand.get("/credential")).status == 400


async def test_what_holds_a_credential_is_told(stand: PageStand, provider: Provider) -> None:
    await stand.login()
    await act(stand, f"{PATH}/create", **account(provider))
    await act(stand, "/queues/pause", queue="sms:main")
    for path in (PATH, ONE):
        page = (await stand.get(path)).content
        assert b">paused</span>" in page
        assert b'href="/queue?name=sms%3Amain"' in page
    await act(stand, "/queues/resume", queue="sms:main")
    assert b">ready</span>" in (await stand.get(PATH)).content
    store = stand.road.campaign_service.store
    number = (await stand.road.credentials.get("main", "default")).id
    until_ms = stand.road.store.clock.now_ms() + 3_600_000
    await store.block_credential(number, until_ms, "401: <b>who are you</b>", 1)
    for path in (f"{PATH}?kind=smtp", f"{ONE}&fresh=1"):  # no region of these is kept yet
        page = (await stand.get(path)).content
        assert b">refused</span>" in page, path
        assert b"401: &lt;b&gt;who are you" in page


async def test_who_only_reads_sees_no_form_and_changes_nothing(
    stand: PageStand, provider: Provider
) -> None:
    await stand.login()
    await act(stand, f"{PATH}/create", **account(provider))
    await stand.login(role="read")
    for path in (PATH, ONE):
        page = (await stand.get(path)).content
        assert b"50/s" in page
        assert b"password" not in page
        assert b"/credentials/" not in page
    for name in ("create", "change", "check", "delete"):
        assert await refused(stand, f"{PATH}/{name}", **account(provider))
    assert (await stand.road.credentials.show("main")).rate == "50/s"


async def test_a_tenant_sees_and_changes_its_own_alone(
    stand: PageStand, provider: Provider
) -> None:
    await stand.login()
    await act(stand, f"{PATH}/create", **account(provider))
    await stand.login(role="tenant", tenant="shop")
    assert b"No credentials yet" in (await stand.get(PATH)).content
    assert (await stand.get(ONE)).status == 404
    for name in ("change", "check", "delete"):
        assert "main" in await refused(stand, f"{PATH}/{name}", **account(provider))
    hooks = {"name": "main", "kind": "webhook", "secret": WHSEC, "rate": "1/s"}
    await act(stand, f"{PATH}/create", **hooks)
    assert (await stand.road.credentials.show("main", tenant="shop")).kind == "webhook"
    assert (await stand.road.credentials.show("main")).rate == "50/s"


@pytest.mark.wide
@pytest.mark.parametrize("scripts", [True, False])
def test_a_credential_is_made_in_a_browser(
    browser: Browser, tmp_path: Path, *, scripts: bool
) -> None:
    place = Site(tmp_path, free_port())
    with place.up(), seen(browser, place, java_script_enabled=scripts) as (page, _):
        place.login(page)
        page.set_viewport_size({"width": 360, "height": 740})
        page.goto(place.url + "/campaigns")
        page.get_by_role("link", name="make one").click()
        page.get_by_role("link", name="Webhook", exact=True).click()
        page.get_by_label("Name of the credential").fill("hooks")
        page.get_by_label("Limit, empty for none").fill("5/s")
        secret = page.get_by_label("Secret that requests are signed with")
        assert secret.get_attribute("type") == "password"
        assert secret.get_attribute("autocomplete") == "off"
        secret.fill(WHSEC)
        page.get_by_role("button", name="Check and store").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("hooks")
        assert WHSEC not in page.content()
        page.get_by_label("Limit, empty for none").fill("6/s")
        secret.fill(WHSEC)
        page.get_by_role("button", name="Check and change").click()
        expect(page.get_by_text("hooks is checked and changed")).to_be_visible()
        expect(secret).to_have_value("")
        place.ask("POST", "/v1/queues:pause", {"queue": "webhook:hooks"})
        for path in ("/credential?name=hooks", *(f"/credentials?kind={kind}" for kind in KINDS)):
            page.goto(place.url + path)
            if scripts:
                check_access(page)
            assert page.evaluate("document.documentElement.scrollWidth") <= 360, path
        page.goto(place.url + "/credential?name=hooks")
        page.get_by_text("Delete…").click()
        page.get_by_role("button", name="Delete this credential").click()
        expect(page.get_by_text("No credentials yet")).to_be_visible()
