"""The portal: what a link opens, for whom, and what it does not."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
from markupsafe import escape

from postroad import Send
from postroad.api.app import ROUTES
from postroad.dashboard.portal.colours import CONTRAST, DARK, LIGHT, contrast, look
from postroad.dashboard.rendering import pretty
from postroad.model.errors import BadInput, Unauthorized
from postroad.model.facts import COUNTED_MAX
from postroad.model.portal import LOOKING, OPERATIONS, PortalRight
from tests.dashboard.portal import OPEN, Visitor, embedding_site, visit
from tests.dashboard.stand import HOST, PageStand

URL = "https://hooks.example.com/a"
SECRETS = re.compile(r"whsec_[\w+/=-]+")


@pytest.fixture
def stand(tmp_path: Path) -> PageStand:
    return PageStand(tmp_path, OPEN)


async def test_a_link_opens_once(stand: PageStand) -> None:
    made = (await stand.say("POST", "/v1/portal-links", {"tenant": "acme", "minutes": 5})).json()
    assert made["url"] == f"http://{HOST}{made['path']}"
    visitors = [Visitor(stand, made["path"]) for _ in range(2)]
    both = await asyncio.gather(*(one.open() for one in visitors))
    assert sorted(answer.status for answer in both) == [201, 401]
    refused = next(answer for answer in both if answer.status == 401)
    assert "opened before" in refused.json()["detail"]
    first = next(one for one in visitors if one.token)
    assert (await first.page("endpoints")).status == 200
    assert (await first.say("GET", "/v1/endpoints")).status == 200


async def test_a_link_ends(stand: PageStand) -> None:
    made = await stand.road.portal.link("acme", minutes=1)
    assert abs(made.ends_at_ms - stand.road.store.clock.now_ms() - 60_000) < 30_000
    await stand.road.store.token_sweep(made.ends_at_ms)
    late = Visitor(stand, made.path)
    assert (await late.open()).status == 401
    shown = await stand.get(late.base)
    assert shown.status == 404
    assert b"This link has ended" in shown.content
    with pytest.raises(Unauthorized, match="opened before"):
        await stand.road.portal.open("prt_nonsense")


async def test_a_revoked_link_does_nothing_more(stand: PageStand) -> None:
    visitor = await visit(stand)
    (link,) = (await stand.say("GET", "/v1/portal-links")).json()
    assert (link["tenant"], link["kind"]) == ("acme", "portal")
    assert (await stand.say("DELETE", f"/v1/portal-links/{link['id']}")).status == 204
    assert (await visitor.page("endpoints")).status == 401
    assert (await stand.say("GET", "/v1/portal-links")).json() == []
    assert (await stand.say("DELETE", f"/v1/portal-links/{link['id']}")).status == 404


async def test_a_link_shows_one_tenant_and_is_refused_for_another(stand: PageStand) -> None:
    theirs = await stand.road.endpoints.create(URL, tenant="other", description="not-yours")
    sent = await stand.road.publish("a", {"x": "not-yours"}, tenant="other")
    visitor = await visit(stand, "acme")
    assert b"No endpoints yet" in (await visitor.page("endpoints")).content
    for path in (f"endpoints/{theirs.id}", f"messages/{sent.messages[0]}"):
        refused = await visitor.page(path)
        assert refused.status == 404
        assert b"not-yours" not in refused.content
    told = await visitor.do("endpoint-delete", id=theirs.id)
    assert told["bad"]
    for header in ("other", "*"):
        other = {"postroad-tenant": header}
        assert (await visitor.say("GET", "/v1/endpoints", headers=other)).status == 403
    assert (await stand.road.endpoints.get(theirs.id, tenant="other")).state == "enabled"


async def test_a_token_is_of_its_own_link_and_of_no_other_page(stand: PageStand) -> None:
    one, two = await visit(stand, "acme"), await visit(stand, "other")
    two.token = one.token
    assert (await two.page("endpoints")).status == 401
    strange = Visitor(stand, one.base)
    strange.token = stand.token  # even the operator's
    assert (await strange.page("endpoints")).status == 401
    stand.cookies["postroad_session_8600"] = one.token
    assert (await stand.get("/queues")).status == 403  # the operator's pages have others


async def test_what_is_not_there_is_told_and_no_fault(stand: PageStand) -> None:
    visitor = await visit(stand)
    headers = {"authorization": f"Bearer {visitor.token}"}
    for path in ("", "/do", "/do/nothing", "/do/again/1", "/pages"):
        assert (await stand.post(visitor.base + path, headers)).status == 404, path
    for path in ("/pages", "/pages/nothing", "/pages/types/1", "/nothing"):
        assert (await stand.get(visitor.base + path, headers)).status == 404, path


async def test_only_what_the_link_allows_can_be_done(stand: PageStand) -> None:
    made = await stand.road.endpoints.create(URL, tenant="acme")
    visitor = await visit(stand, "acme", allow=[])
    page = (await visitor.page(f"endpoints/{made.id}")).content.decode()
    assert "data-do" not in page
    for name in ("create", "change", "disable", "enable", "delete", "rotate", "recover", "test"):
        told = await visitor.do(f"endpoint-{name}", id=made.id, url=URL)
        assert told["bad"], name
    assert (await visitor.say("POST", "/v1/endpoints", {"url": URL})).status == 403
    assert (await stand.road.endpoints.get(made.id, tenant="acme")).state == "enabled"
    assert len((await stand.road.endpoints.list(tenant="acme")).endpoints) == 1


@pytest.mark.parametrize("right", [None, *PortalRight])
async def test_a_right_gives_its_operations_and_no_others(
    stand: PageStand, right: PortalRight | None
) -> None:
    visitor = await visit(stand, "acme", allow=[right] if right else [])
    allowed = {*LOOKING, *OPERATIONS.get(right, ())} if right else {*LOOKING}
    names = {route.handler.__name__ for route in ROUTES}
    assert allowed <= names
    for route in ROUTES:
        name = route.handler.__name__
        if route.facts.is_public or name in allowed or name == "logout":
            continue
        path = re.sub(r"\{\w+\}", "1", route.path)
        assert (await visitor.say(route.method, path)).status == 403, name


async def test_counts_that_end_at_a_number_say_so(stand: PageStand) -> None:
    visitor = await visit(stand)
    made = await stand.road.endpoints.create(URL, tenant="acme")
    queue = f"endpoint:{made.id}"
    many = [Send(queue, n, tenant="acme") for n in range(COUNTED_MAX + 1)]
    await stand.road.send_many(many)
    page = (await visitor.page(f"endpoints/{made.id}")).content.decode()
    assert '<span class="figure">10\u2009000+</span>' in page


async def test_a_customer_looks_after_endpoints(stand: PageStand) -> None:
    visitor = await visit(stand)
    told = await visitor.do(
        "endpoint-create", url=URL, types="order.paid, order.sent", description="<b>mine</b>"
    )
    (secret,) = set(SECRETS.findall(told["html"]))
    assert ">Copy</button>" in told["html"]
    (made,) = (await stand.road.endpoints.list(tenant="acme")).endpoints
    assert (made.types, made.description) == (("order.paid", "order.sent"), "<b>mine</b>")
    page = (await visitor.page(f"endpoints/{made.id}")).content.decode()
    assert "&lt;b&gt;mine" in page
    assert secret not in page
    await visitor.do("endpoint-change", id=made.id, url=URL + "2", types="", description="x")
    await visitor.do("endpoint-disable", id=made.id)
    now = await stand.road.endpoints.get(made.id, tenant="acme")
    assert (now.url, now.types, now.state, now.disabled_by) == (URL + "2", (), "disabled", "owner")
    await visitor.do("endpoint-enable", id=made.id)
    rotated = await visitor.do("endpoint-rotate", id=made.id)
    (second,) = set(SECRETS.findall(rotated["html"]))
    assert second != secret
    assert (await stand.road.endpoints.get(made.id, tenant="acme")).secrets == 2
    refused = await visitor.do("endpoint-create", url="ftp://x")
    assert refused["bad"]
    assert "http" in refused["said"]
    told = await visitor.do("endpoint-delete", id=made.id)
    assert told["go"] == "/endpoints"


async def test_a_customer_who_rotates_too_often_is_told_so(stand: PageStand) -> None:
    made = await stand.road.endpoints.create(URL, tenant="acme")
    visitor = await visit(stand)
    for _ in range(9):
        assert "bad" not in await visitor.do("endpoint-rotate", id=made.id)
    told = await visitor.do("endpoint-rotate", id=made.id)
    assert (told["bad"], "when the oldest ends" in told["said"]) == (True, True)


async def test_a_customer_is_told_of_events_that_there_are_not(stand: PageStand) -> None:
    await stand.road.event_types.set("order.paid")
    visitor = await visit(stand)
    await visitor.do("endpoint-create", url=URL, types="order.paid order.payd")
    (made,) = (await stand.road.endpoints.list(tenant="acme")).endpoints
    page = (await visitor.page(f"endpoints/{made.id}")).content.decode()
    assert '<span class="badge warn">order.payd</span>' in page
    await visitor.do("endpoint-change", id=made.id, url=URL, types="order.paid")
    page = (await visitor.page(f"endpoints/{made.id}")).content.decode()
    assert "badge warn" not in page


async def test_a_customer_sends_a_test_event(stand: PageStand) -> None:
    made = await stand.road.endpoints.create(URL, tenant="acme", types=("order.paid",))
    visitor = await visit(stand, allow=["endpoints"])
    assert b"Send a test event" in (await visitor.page(f"endpoints/{made.id}")).content
    said = await visitor.do("endpoint-test", id=made.id)
    assert "order.paid" in said["said"]
    (sent,) = (await stand.road.messages.list(queue=made.queue, tenant="acme")).messages
    assert said["go"] == f"/messages/{sent.id}"


async def test_messages_tries_and_sending_again(stand: PageStand) -> None:
    with embedding_site() as site:
        url = f"{site.near}/400"
        made = await stand.road.endpoints.create(url, tenant="acme", reject=(400,))
        sent = await stand.road.publish("a", {"x": "<script>alert(1)</script>"}, tenant="acme")
        await stand.road.send("good", 1, tenant="acme")
        await stand.road.run(until_idle=True)
    visitor = await visit(stand)
    page = (await visitor.page("messages")).content.decode()
    assert page.count("#/messages/") == 1  # what is no webhook of theirs is not listed
    one = (await visitor.page(f"messages/{sent.messages[0]}")).content.decode()
    assert "&lt;script&gt;alert(1)" in one
    assert "<script" not in one
    assert "not delivered" in one
    told = await visitor.do("again", id=sent.messages[0])
    assert told["go"].startswith("/messages/")
    assert (await visitor.page(told["go"][1:])).status == 200
    told = await visitor.do("endpoint-recover", id=made.id, since="2020-01-01T00:00")
    assert told["said"] == "Messages that are sent again: 1."
    blind = await visit(stand, allow=["send_again"])
    assert "alert(1)" not in (await blind.page(f"messages/{sent.messages[0]}")).content.decode()


async def test_messages_that_are_no_webhooks_of_theirs_are_nothing_of_customers(
    stand: PageStand,
) -> None:
    """A tenant has jobs and mails as well: with no page and no request are they seen or sent."""
    job = (await stand.road.send("bad", {"card": "4111"}, tenant="acme")).id
    endpoint = await stand.road.endpoints.create(URL, tenant="acme")
    await stand.road.send(f"endpoint:{endpoint.id}", 1, tenant="acme")
    await stand.road.run(until_idle=True)
    visitor = await visit(stand)
    for path in (f"messages/{job}", "messages?endpoint=bad", "messages?endpoint=*"):
        assert (await visitor.page(path)).status in (403, 404), path
    assert (await visitor.do("again", id=job))["bad"]
    for part in ("", "/attempts", "/body"):
        assert (await visitor.say("GET", f"/v1/messages/{job}{part}")).status == 404, part
    for name, text in (("queue", "bad"), ("queue", "*"), ("queue", "end*"), ("prefix", "b")):
        listed = await visitor.say("GET", "/v1/messages", query={name: text})
        assert listed.status == 403, text
    again = "/v1/messages:send-again"
    assert (await visitor.say("POST", again, {"ids": [job]})).status == 404
    for meant in ({"queue": "bad"}, {"state": "dead"}, {"count": 9}, {"prefix": "endpoint:"}):
        assert (await visitor.say("POST", again, meant)).status == 403, meant
    for query in ({}, {"queue": "endpoint:*"}, {"prefix": "endpoint:"}):
        (one,) = (await visitor.say("GET", "/v1/messages", query=query)).json()["messages"]
        assert one["queue"] == f"endpoint:{endpoint.id}", query
    assert len((await stand.road.messages.list(tenant="acme")).messages) == 2


async def test_what_was_not_kept_is_told_to_customers(stand: PageStand) -> None:
    with embedding_site() as site:
        await stand.road.endpoints.create(f"{site.near}/200", tenant="acme")
        sent = await stand.road.publish("a", {"x": 1}, tenant="acme")
        await stand.road.run(until_idle=True)
    visitor = await visit(stand)
    page = (await visitor.page(f"messages/{sent.messages[0]}")).content.decode()
    assert "What was sent is not kept any more" in page
    assert "Send again" not in page
    assert "postroad" not in page
    told = await visitor.do("again", id=sent.messages[0])
    assert told["bad"]
    assert told["said"] == "Its body was not kept: it cannot be sent again."
    blind = await visit(stand, allow=["send_again"])
    page = (await blind.page(f"messages/{sent.messages[0]}")).content.decode()
    assert "Send again" not in page
    noted = await stand.road.audit.list(tenant="acme", verb="send_again")
    assert len(noted.lines) == 1  # what was pressed, and not that the page was looked at


async def test_event_types_have_schemas_and_examples(stand: PageStand) -> None:
    schema: dict[str, object] = {
        "type": "object",
        "properties": {"total": {"type": "integer"}, "mail": {"const": "<i>"}},
    }
    await stand.road.event_types.set("order.paid", description="Paid", schema=schema)
    page = (await (await visit(stand)).page("types")).content.decode()
    assert "&#34;total&#34;: 1" in page
    assert "&lt;i&gt;" in page


async def test_an_example_is_what_a_test_event_sends(stand: PageStand) -> None:
    schema: dict[str, object] = {
        "type": "object",
        "properties": {"total": {"type": "number"}, "on": {"$ref": "#/$defs/day"}},
        "$defs": {"day": {"type": "string", "format": "date"}},
    }
    await stand.road.event_types.set("order.paid", schema=schema)
    made = await stand.road.endpoints.create("https://example.com/x", tenant="acme")
    visitor = await visit(stand)
    sent = await stand.road.endpoints.test(made.id, tenant="acme")
    body = (await stand.road.messages.body(sent.message, tenant="acme")).body
    shown = (await visitor.page("types")).content.decode()
    assert str(escape(pretty(json.loads(body)))) in shown


async def test_a_message_names_its_endpoint(stand: PageStand) -> None:
    made = await stand.road.endpoints.create("https://example.com/x", tenant="acme")
    sent = await stand.road.publish("order.paid", {"x": 1}, tenant="acme")
    visitor = await visit(stand)
    page = (await visitor.page(f"messages/{sent.messages[0]}")).content.decode()
    assert f'<a href="#/endpoints/{made.id}">https://example.com/x</a>' in page


async def test_who_may_embed_it_stands_in_the_policy(stand: PageStand) -> None:
    given = ["https://app.example.com", "http://localhost:3000"]
    made = await stand.road.portal.link("acme", origins=given)
    page = await stand.get(made.path.partition("#")[0])
    policy = page.headers["content-security-policy"]
    assert "frame-ancestors https://app.example.com http://localhost:3000;" in policy
    assert "unsafe" not in policy
    assert page.headers["cache-control"] == "no-store"
    text = page.content.decode()
    assert text.count("<script") == 1
    assert not re.search(r"\s(on\w+|style)=", text)
    assert "acme" not in text  # the frame is for everybody
    alone = await stand.road.portal.link("acme")
    page = await stand.get(alone.path.partition("#")[0])
    assert "frame-ancestors 'none'" in page.headers["content-security-policy"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"origins": ["https://a.example; script-src *"]},
        {"origins": ["*"]},
        {"origins": ["https://*.example.com"]},
        {"origins": ["https://a.example/path"]},
        {"origins": ["javascript://a"]},
        {"origins": [f"https://{n}.example" for n in range(21)]},
        {"accent": "red"},
        {"accent": "#12345}"},
        {"theme": "pink"},
        {"title": "x" * 61},
        {"title": "a\nb"},
        {"minutes": 0},
        {"minutes": 1_441},
        {"allow": ["admin"]},
    ],
)
async def test_bad_links_are_refused(stand: PageStand, wrong: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        await stand.road.portal.link("acme", **wrong)
    answer = await stand.say("POST", "/v1/portal-links", {"tenant": "acme", **wrong})
    assert answer.status in (400, 422)
    for tenant in ("*", "a b"):
        assert (await stand.say("POST", "/v1/portal-links", {"tenant": tenant})).status >= 400


async def test_nobody_gives_more_than_he_has(stand: PageStand) -> None:
    weak = (await stand.road.tokens.make("weak", scopes=["admin", "read"], tenant="acme")).secret
    link = {"tenant": "acme"}
    assert (await stand.say("POST", "/v1/portal-links", link, token=weak)).status == 403
    looking = {"tenant": "acme", "allow": []}
    assert (await stand.say("POST", "/v1/portal-links", looking, token=weak)).status == 201
    other = {"tenant": "other", "allow": []}
    assert (await stand.say("POST", "/v1/portal-links", other, token=weak)).status == 403
    plain = (await stand.road.tokens.make("plain", role="operate", tenant="acme")).secret
    assert (await stand.say("POST", "/v1/portal-links", looking, token=plain)).status == 403


async def test_links_and_what_is_done_with_them_are_in_the_audit_log(stand: PageStand) -> None:
    visitor = await visit(stand)
    await visitor.do("endpoint-create", url=URL)
    lines = (await stand.say("GET", "/v1/audit")).json()["lines"]
    assert [line["verb"] for line in lines] == ["endpoint_create", "portal_open", "portal_link"]
    assert (lines[0]["name"], lines[0]["tenant"]) == ("portal", "acme")
    assert lines[2]["what"]["tenant"] == "acme"
    assert visitor.code not in str(lines)


@pytest.mark.parametrize(
    "accent", ["#ffff00", "#000000", "#ffffff", "#2c56c9", "#808080", "#ff0000"]
)
def test_every_colour_is_made_readable(accent: str) -> None:
    sheet = look(accent).decode()
    light, dark, ground, text = (
        tuple(bytes.fromhex(found)) for found in re.findall(r"#([0-9a-f]{6})", sheet)
    )
    assert contrast(light, LIGHT) >= CONTRAST
    assert contrast(dark, DARK) >= CONTRAST
    assert contrast(ground, text) >= 4.5


async def test_webhook_rules_hold_here_too(tmp_path: Path) -> None:
    async with PageStand(tmp_path) as strict:
        told = await (await visit(strict)).do("endpoint-create", url="http://127.0.0.1/x")
        assert told["bad"]
        assert "address is not taken" in told["said"]
        assert "settings" not in told["said"]
