"""OpenTelemetry spans, through its API alone: without an SDK there are none.

A try is a span of its own, linked to the send and not its child: a retry hours later must not
stretch a trace. Names follow the messaging conventions, pinned here."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import msgspec
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import (
    Link,
    Span,
    SpanKind,
    StatusCode,
)
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from postroad.model.entities import Message
from postroad.model.ids import to_text
from postroad.model.outcome import Kind, Outcome

HEADER: Final = "traceparent"
STATE: Final = "tracestate"
STATE_CHARACTERS_MAX: Final = 512
PROPAGATOR: Final = TraceContextTextMapPropagator()
HEADERS: Final = msgspec.json.Decoder(dict[str, str])


@contextmanager
def asked(method: str, route: str, headers: Mapping[str, str]) -> Iterator[Span]:
    """Open a span around one API request, inside the caller's trace if it sends one."""
    tracer = trace.get_tracer("postroad")
    parent = PROPAGATOR.extract(_carried(headers))
    with tracer.start_as_current_span(f"{method} {route}", parent, SpanKind.SERVER) as span:
        yield span


@contextmanager
def sending(count: int) -> Iterator[Mapping[str, str]]:
    """Open a span around a send; what it yields goes with each message."""
    tracer = trace.get_tracer("postroad")
    with tracer.start_as_current_span("send", kind=SpanKind.PRODUCER) as span:
        carried: dict[str, str] = {}
        if span.get_span_context().is_valid:
            PROPAGATOR.inject(carried)
        if span.is_recording():
            _tell(span, "send")
            span.set_attribute("messaging.batch.message_count", count)
        yield {HEADER: carried[HEADER]} if HEADER in carried else {}


@contextmanager
def trying(transport: str, message: Message) -> Iterator[Span]:
    """Open a span around one try, linked to the send."""
    tracer = trace.get_tracer("postroad")
    links = _links(message) if HEADER.encode() in message.headers else ()
    with tracer.start_as_current_span(
        f"deliver {transport}", Context(), SpanKind.CONSUMER, links=links
    ) as span:
        if span.is_recording():
            _tell(span, "process")
            span.set_attribute("messaging.message.id", to_text(message.id))
            span.set_attribute("messaging.destination.template", transport)
            span.set_attribute("postroad.level", message.level)
            span.set_attribute("postroad.attempt", message.attempts + 1)
        yield span


def ended(span: Span, outcome: Outcome) -> None:
    """Write the outcome into the span. Its error text stays out, since it may hold a recipient's
    words."""
    if not span.is_recording():
        return
    span.set_attribute("postroad.outcome", outcome.kind)
    if outcome.status:
        span.set_attribute("http.response.status_code", outcome.status)
    if outcome.kind is not Kind.delivered:
        span.set_attribute("error.type", str(outcome.status or outcome.kind))
        span.set_status(StatusCode.ERROR)


def _tell(span: Span, kind: str) -> None:
    span.set_attribute("messaging.system", "postroad")
    span.set_attribute("messaging.operation.type", kind)


def _carried(headers: Mapping[str, str]) -> dict[str, str]:
    """Pick the trace headers. OpenTelemetry's patterns are quadratic in blanks, so that no more is
    read than W3C asks everybody to accept."""
    given = {name: headers[name] for name in (HEADER, STATE) if name in headers}
    return {name: value for name, value in given.items() if len(value) <= STATE_CHARACTERS_MAX}


def _links(message: Message) -> tuple[Link, ...]:
    carried = PROPAGATOR.extract(_carried(HEADERS.decode(message.headers)))
    context = trace.get_current_span(carried).get_span_context()
    return (Link(context),) if context.is_valid else ()
