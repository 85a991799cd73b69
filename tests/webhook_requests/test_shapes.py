"""CloudEvents 1.0, as JSON and in headers, of events and of messages that were sent."""

import json
import re
from base64 import b64decode
from pathlib import Path

import pytest
from standardwebhooks import Webhook

from postroad import Postroad, Settings, WebhookRules
from postroad.model.errors import BadInput, BadSetting
from tests.api.stand import Stand as Api
from tests.api.stand import kind
from tests.webhook.conftest import LOCAL
from tests.webhook_requests.servers import Stand

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


async def test_an_event_is_a_cloud_event_as_json(road: Postroad, stand: Stand) -> None:
    made = await road.endpoints.create(stand.url, shape="cloudevents")
    assert made.shape == "cloudevents"
    told = await road.publish("order.paid", {"total": 20, "text": "é"})
    await road.run(until_idle=True)
    (got,) = stand.got
    assert got.headers["content-type"] == "application/cloudevents+json"
    event = Webhook(made.secret).verify(got.body, got.headers)
    assert TIME.fullmatch(event.pop("time"))
    assert event == {
        "specversion": "1.0",
        "id": told.id,
        "source": "postroad",
        "type": "order.paid",
        "datacontenttype": "application/json",
        "data": {"total": 20, "text": "é"},
    }


async def test_an_event_is_a_cloud_event_in_headers(road: Postroad, stand: Stand) -> None:
    await road.endpoints.create(f"{stand.url}/plain")
    made = await road.endpoints.create(f"{stand.url}/binary", shape="cloudevents-binary")
    told = await road.publish("order.paid", {"total": 20})
    await road.run(until_idle=True)
    plain, binary = sorted(stand.got, key=lambda one: one.path, reverse=True)
    assert plain.body == binary.body == b'{"total":20}'
    assert not [name for name in plain.headers if name.startswith("ce-")]
    assert binary.headers["content-type"] == "application/json"
    assert TIME.fullmatch(binary.headers["ce-time"])
    facts = {name: binary.headers[f"ce-{name}"] for name in ("specversion", "id", "source", "type")}
    assert facts == {
        "specversion": "1.0",
        "id": told.id,
        "source": "postroad",
        "type": "order.paid",
    }
    assert Webhook(made.secret).verify(binary.body, binary.headers) == {"total": 20}
    number = next(one for one in told.messages if one == binary.headers["webhook-id"])
    (one,) = await road.webhooks.attempts(number)
    assert one.headers["ce-type"] == "order.paid"


async def test_what_is_sent_and_what_is_no_json_has_a_shape_too(
    road: Postroad, stand: Stand
) -> None:
    await road.webhooks.set(stand.url, shape="cloudevents")
    sent = await road.send(stand.url, {"n": 1})
    raw = await road.send(stand.url, b"\x00\xff")
    claimed = await road.send(stand.url, b"{", headers={"Content-Type": "application/json"})
    await road.run(until_idle=True)
    events = {event["id"]: event for event in (json.loads(one.body) for one in stand.got)}
    assert (events[sent.id]["type"], events[sent.id]["data"]) == ("postroad.message", {"n": 1})
    assert events[raw.id]["datacontenttype"] == "application/octet-stream"
    assert b64decode(events[raw.id]["data_base64"]) == b"\x00\xff"
    assert b64decode(events[claimed.id]["data_base64"]) == b"{"
    assert "time" not in events[sent.id]


async def test_a_shape_is_changed_and_a_wrong_one_refused(road: Postroad, stand: Stand) -> None:
    made = await road.endpoints.create(stand.url, shape="cloudevents")
    left = await road.endpoints.change(made.id, description="the rest stays")
    assert left.shape == "cloudevents"
    assert (await road.endpoints.change(made.id, shape="plain")).shape == "plain"
    with pytest.raises(BadInput, match="plain, cloudevents"):
        await road.endpoints.change(made.id, shape="xml")  # type: ignore[arg-type]


async def test_shapes_over_http(tmp_path: Path) -> None:
    async with Api(tmp_path, Settings(webhooks=LOCAL)) as api:
        asked = {"url": "http://127.0.0.1:9/hook", "shape": "cloudevents-binary"}
        made = (await api.say("POST", "/v1/endpoints", asked)).json()
        assert made["shape"] == "cloudevents-binary"
        assert (await api.say("PUT", "/v1/webhooks", asked)).json()["shape"] == asked["shape"]
        bad = await api.say("PATCH", f"/v1/endpoints/{made['id']}", {"shape": "xml"})
        assert (bad.status, kind(bad)) == (400, "bad-request")


def test_a_source_that_no_header_carries_is_refused() -> None:
    for source in ("", "two words", "a\r\nb", "é"):
        with pytest.raises(BadSetting, match=r"webhooks\.source"):
            Postroad(settings=Settings(webhooks=WebhookRules(source=source)))
