"""What a portal link may ask about messages: those of endpoints, and no others of its tenant."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import fields

from postroad import Reject
from postroad.api.app import ROUTES
from postroad.api.routes.lists import ListQuery, SendAgainRequest
from postroad.config import Settings
from postroad.model.mail_settings import MailSettings
from postroad.model.portal import LOOKING, OPERATIONS
from postroad.remote.api_request import ApiAnswer
from tests.dashboard.portal import LOCAL, Visitor, embedding_site, visit
from tests.dashboard.stand import PageStand

MAIL = "mailto:ann@example.com"
OTHERS = ("charge-card", "refuse-card", MAIL, "smtp:", "ann@example.com", "https://1.1.1.1")
ALLOWED = {*LOOKING, *(name for names in OPERATIONS.values() for name in names)}
KNOWN = ("endpoint_", "event_type_", "logout")
"""What operations are called that are about no message that exists."""


class Shop:
    """A tenant with messages of every kind, and who opened a link of it."""

    def __init__(self, stand: PageStand, visitor: Visitor, own: str, others: dict[str, str]):
        self.stand, self.visitor, self.own, self.others = stand, visitor, own, others

    async def states(self) -> dict[str, tuple[str, int]]:
        """Every message that is not an endpoint's, by its id."""
        found = (await self.stand.road.messages.list(tenant="acme")).messages
        return {
            one.id: (one.state, one.attempts)
            for one in found
            if not one.queue.startswith("endpoint:")
        }

    def check(self, said: ApiAnswer) -> None:
        """Nothing of other messages is in an answer, but what the request itself named."""
        text = said.content.decode()
        for name in (*self.others.values(), *OTHERS, "card-4711"):
            assert said.status == 404 or name not in text, (name, text)


@pytest.fixture
def stand(tmp_path: Path) -> PageStand:
    mail = MailSettings("smtp://127.0.0.1:9", sender="shop@example.com")
    stand = PageStand(tmp_path, Settings(webhooks=LOCAL, mail=mail))

    @stand.road.handler("charge-card", keep_bodies=86_400)
    async def charge(_body: Any) -> None:
        """Charge it."""

    @stand.road.handler("refuse-card")
    async def refuse(_body: Any) -> None:
        raise Reject("never: card-4711")

    return stand


async def opened(stand: PageStand) -> Shop:
    road = stand.road
    with embedding_site() as site:
        await road.endpoints.create(f"{site.near}/200", tenant="acme", keep_bodies=86_400)
        own = (await road.publish("a", {"n": 1}, tenant="acme")).messages[0]
        bare = await road.send(f"{site.near}/400", "card-4711", tenant="acme")
        job = await road.send("charge-card", {"card": "card-4711"}, tenant="acme")
        dead = await road.send("refuse-card", "card-4711", tenant="acme")
        await road.run(until_idle=True)
    mailed = await road.send(MAIL, {"subject": "card-4711", "text": "x"}, tenant="acme")
    others = {"job": job, "bare": bare, "dead": dead, "mail": mailed}
    ids = {name: receipt.id for name, receipt in others.items()}
    return Shop(stand, await visit(stand), own, ids)


async def test_a_message_that_is_no_endpoints_is_unknown_to_a_link(stand: PageStand) -> None:
    shop = await opened(stand)
    before, visitor = await shop.states(), shop.visitor
    unknown = "msg_0000000000001"
    for route in ROUTES:
        if route.handler.__name__ in ALLOWED and route.path.startswith("/v1/messages/{id}"):
            for one in shop.others.values():
                said = await visitor.say(route.method, route.path.format(id=one))
                none = await visitor.say(route.method, route.path.format(id=unknown))
                assert (said.status, none.status) == (404, 404)
                assert said.content.decode().replace(one, unknown) == none.content.decode()
            said = await visitor.say(route.method, route.path.format(id=shop.own))
            assert said.status == 200
    for one in shop.others.values():
        for ids in ([one], [shop.own, one]):
            said = await visitor.say("POST", "/v1/messages:send-again", {"ids": ids})
            assert said.status == 404
        assert (await visitor.page(f"messages/{one}")).status == 404
        assert (await visitor.do("again", id=one))["bad"]
    assert await shop.states() == before


async def test_no_filter_of_a_link_finds_other_messages(stand: PageStand) -> None:
    """Every field of the list, and of sending again, with what other messages have."""
    shop = await opened(stand)
    before, own = await shop.states(), shop.own
    values: dict[str, list[Any]] = {
        "queue": ["charge-card", "refuse-card", "*", "c*", "smtp:*", "https://*", "e*", MAIL],
        "prefix": ["", "c", "charge-card", "smtp:", "http", "endpoint"],
        "state": ["waiting", "held", "delivered", "dead", "cancelled", "sending"],
        "level": [0, 1],
        "order_key": [""],
        "recipient": [MAIL, "ann@example.com"],
        "text": ["card", "never", "4"],
        "since": ["2020-01-01T00:00:00Z"],
        "until": ["2199-01-01T00:00:00Z"],
    }
    assert set(values) == {field.name for field in fields(ListQuery)}
    more = {"ids", "count", "key", "dry_run"}
    assert {field.name for field in fields(SendAgainRequest)} == {*values, *more}
    asked = [{}, *({name: value} for name, given in values.items() for value in given)]
    for query in asked:
        for limit in (1, 100):
            said = await shop.visitor.say("GET", "/v1/messages", query={**query, "limit": limit})
            shop.check(said)
        for extra in ({}, {"count": 10}, {"dry_run": True}):
            said = await shop.visitor.say("POST", "/v1/messages:send-again", {**query, **extra})
            shop.check(said)
            assert said.status == 403  # by ids alone
    assert {one: before[one] for one in before} == await shop.states()
    listed = (await shop.visitor.say("GET", "/v1/messages")).json()
    assert listed["looked_at"] == 0  # a search goes through the others' messages too
    assert own in {one["id"] for one in listed["messages"]}


async def test_a_link_names_as_many_messages_as_others_may(stand: PageStand) -> None:
    shop = await opened(stand)
    many = [f"msg_{n:013d}" for n in range(101)]
    said = await shop.visitor.say("POST", "/v1/messages:send-again", {"ids": many})
    assert (said.status, "up to 100" in said.json()["detail"]) == (400, True)


async def test_pages_of_a_link_show_nothing_of_other_messages(stand: PageStand) -> None:
    shop = await opened(stand)
    for path in ("messages", "messages?endpoint=charge-card", "messages?endpoint=*", "endpoints"):
        shop.check(await shop.visitor.page(path))
    listed = (await shop.visitor.say("GET", "/v1/endpoints")).json()["endpoints"]
    for one in listed:
        shop.check(await shop.visitor.say("GET", f"/v1/endpoints/{one['id']}/stats"))
        shop.check(await shop.visitor.page(f"endpoints/{one['id']}"))


async def test_recovering_sends_none_of_other_messages_again(stand: PageStand) -> None:
    shop = await opened(stand)
    before = await shop.states()
    (made,) = (await shop.visitor.say("GET", "/v1/endpoints")).json()["endpoints"]
    path, since = f"/v1/endpoints/{made['id']}/recover", {"since": "2020-01-01T00:00:00Z"}
    said = await shop.visitor.say("POST", path, since)
    assert said.json()["messages"] == 0
    assert await shop.states() == before


def test_every_operation_of_a_link_is_about_endpoints_or_messages() -> None:
    """One that is added to a link's must be confined too, and tried here."""
    tried = {"message_list", "show", "attempts", "message_body", "send_again"}
    rest = ALLOWED - tried
    assert all(name.startswith(KNOWN) for name in rest), json.dumps(sorted(rest))
