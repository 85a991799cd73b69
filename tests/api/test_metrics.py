"""Metrics, traces and logs."""

import io
import json
import re

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import ProxyTracerProvider

from postroad.api.in_process import ask
from postroad.api.request_metrics import RequestMetrics
from postroad.model.errors import StoreUnavailable
from postroad.model.states import DeadReason
from postroad.observe.log import make_log
from postroad.observe.names import METRICS
from postroad.remote.api_request import ApiRequest
from tests.api.stand import Stand

SAMPLE = re.compile(r"^(\w+?)(?:_bucket|_sum|_count|_created)?(?:\{(.*)\})? (\S+)$", re.MULTILINE)


async def scraped(stand: Stand) -> str:
    stand.context.looked_s = None
    answer = await stand.say("GET", "/metrics", token="")
    assert answer.status == 200
    return answer.content.decode()


async def test_metrics_tell_what_was_tried_and_how_all_messages_stand(stand: Stand) -> None:
    app = RequestMetrics(stand.app, stand.context.meter, stand.road.store.clock)
    headers = {"authorization": f"Bearer {stand.token}"}
    for queue in ("good", "good", "bad", "nope"):
        data = json.dumps({"queue": queue, "body": 1}).encode()
        await ask(app, ApiRequest("POST", "/v1/messages", content=data, headers=headers))
    await stand.road.run(until_idle=True)
    await stand.send()
    await stand.say("POST", "/v1/queues:pause", {"queue": "good"})
    text = await scraped(stand)
    for line in (
        'postroad_tries_total{level="0",outcome="delivered",transport="handler"} 2.0',
        'postroad_tries_total{level="0",outcome="rejected",transport="handler"} 1.0',
        'postroad_messages{level="0",state="held",transport="handler"} 1.0',
        'postroad_dead{reason="rejected"} 1.0',
        "postroad_paused_queues 1.0",
        "postroad_accepted_total 4.0",
        'postroad_requests_total{method="POST",route="/v1/messages",status="201"} 3.0',
        'postroad_requests_total{method="POST",route="/v1/messages",status="404"} 1.0',
        'postroad_try_seconds_count{transport="handler"} 3.0',
    ):
        assert line in text
    assert 'postroad_oldest_due_age_seconds{state="held",transport="handler"}' in text
    assert 'postroad_store_queries_total{operation="accept"}' in text


async def test_the_dead_set_is_told_also_while_it_is_empty(stand: Stand) -> None:
    """A rule that compares with an hour ago found nothing there, and told nobody."""
    text = await scraped(stand)
    assert [f'postroad_dead{{reason="{reason}"}} 0.0' in text for reason in DeadReason] == [
        True
    ] * 8
    await stand.send("bad")
    await stand.road.run(until_idle=True)
    assert 'postroad_dead{reason="rejected"} 1.0' in await scraped(stand)


async def test_metrics_have_the_names_of_the_list_and_tell_no_tenant_or_queue(stand: Stand) -> None:
    await stand.send(headers={"postroad-tenant": "acme-secret"})
    text = await scraped(stand)
    found = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE postroad")}
    listed = {metric.name.removesuffix("_total") for metric in METRICS}
    assert {name.removesuffix("_created").removesuffix("_total") for name in found} == listed
    assert "acme-secret" not in text
    assert "good" not in text


async def test_a_try_is_a_span_of_its_own_linked_to_the_send(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    spans = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    app = RequestMetrics(stand.app, stand.context.meter, stand.road.store.clock)
    mine = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    headers = {"authorization": f"Bearer {stand.token}", "traceparent": mine}
    data = b'{"queue": "good", "body": "secret-body", "key": "k"}'
    first = await ask(app, ApiRequest("POST", "/v1/messages", content=data, headers=headers))
    again = await ask(app, ApiRequest("POST", "/v1/messages", content=data, headers=headers))
    assert (first.status, again.status) == (201, 200)  # the trace is no part of what a key means
    await stand.road.run(until_idle=True)
    by_name = {span.name: span for span in spans.get_finished_spans()}
    asked = next(s for s in spans.get_finished_spans() if s.name == "POST /v1/messages")
    sent = next(s for s in spans.get_finished_spans() if s.name == "send")
    tried = by_name["deliver handler"]
    assert f"{asked.context.trace_id:032x}" == mine.split("-")[1]
    assert sent.context.trace_id == asked.context.trace_id
    assert tried.context.trace_id != sent.context.trace_id
    assert [link.context.span_id for link in tried.links] == [sent.context.span_id]
    assert tried.attributes is not None
    assert tried.attributes["messaging.message.id"] == first.json()["id"]
    assert tried.attributes["postroad.outcome"] == "delivered"
    assert "secret-body" not in "".join(span.to_json() for span in spans.get_finished_spans())


def test_without_an_sdk_nothing_is_traced() -> None:
    assert isinstance(trace.get_tracer_provider(), ProxyTracerProvider)


def test_logs_are_lines_of_text_or_of_json() -> None:
    text, data = io.StringIO(), io.StringIO()
    make_log("info", text).info("an event", level_of=1)
    make_log("info", data, form="json").info("an event", level_of=1)
    assert 'event="an event"' in text.getvalue()
    said = json.loads(data.getvalue())
    assert (said["event"], said["level"], said["level_of"]) == ("an event", "info", 1)


async def test_a_try_that_is_cut_where_a_second_is_not_allowed_is_counted(stand: Stand) -> None:
    await stand.send("doubtful")
    await stand.road.run(until_idle=True)
    text = await scraped(stand)
    assert 'postroad_tries_total{level="0",outcome="unknown",transport="handler"} 1.0' in text


async def test_only_what_was_stored_counts_as_accepted(stand: Stand) -> None:
    good = b'{"queue": "good", "body": 1, "key": "k"}'
    for _ in range(2):
        await stand.say("POST", "/v1/messages:batch", b"\n".join([good, b"broken", good]))
        await stand.say("POST", "/v1/messages", good)
    assert "postroad_accepted_total 1.0" in await scraped(stand)


async def test_metrics_are_told_while_the_store_is_away(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    await stand.send()

    async def away(_tenant: str | None) -> None:
        raise StoreUnavailable("away")

    monkeypatch.setattr(stand.road.store, "overview", away)
    assert "postroad_accepted_total 1.0" in await scraped(stand)
