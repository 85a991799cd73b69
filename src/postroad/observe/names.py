"""Every metric by its name: stable, documented in docs/reference/metrics.md. Labels are few: no
queue, tenant, address or message is ever one."""

from typing import Final, Literal

from msgspec import Struct


class Metric(Struct, frozen=True):
    """One metric: its name, kind and labels, and what it measures."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    labels: tuple[str, ...]
    text: str
    fleet: bool = False
    """Whether it is about the whole road, and the same from every process; else it is about one
    process, and is to be summed up."""


MESSAGES: Final = Metric(
    "postroad_messages",
    "gauge",
    ("transport", "level", "state"),
    "Unfinished messages by kind of lane, retry level and state: waiting, held, uncertain",
    fleet=True,
)
OLDEST: Final = Metric(
    "postroad_oldest_due_age_seconds",
    "gauge",
    ("transport", "state"),
    "How long the message that is due for longest has been due, by state; 0 when none is due",
    fleet=True,
)
DEAD: Final = Metric(
    "postroad_dead", "gauge", ("reason",), "Messages in the dead set by reason", fleet=True
)
CIRCUITS: Final = Metric(
    "postroad_open_circuits", "gauge", (), "Lanes whose circuit is open", fleet=True
)
BLOCKED: Final = Metric(
    "postroad_blocked_queues",
    "gauge",
    (),
    "Queues with a block: quota, rule, handler, setup, unreachable or disabled",
    fleet=True,
)
PAUSED: Final = Metric(
    "postroad_paused_queues", "gauge", (), "Queues that somebody paused", fleet=True
)
UNCERTAIN_RECIPIENTS: Final = Metric(
    "postroad_uncertain_recipients",
    "gauge",
    (),
    "Recipients of campaigns of whom nobody knows whether they were sent to",
    fleet=True,
)
FLEET_TRIES: Final = Metric(
    "postroad_fleet_tries_per_second",
    "gauge",
    ("outcome",),
    "Tries a second of all processes in the last minute, by outcome",
    fleet=True,
)
FLEET_LATENESS: Final = Metric(
    "postroad_fleet_lateness_seconds",
    "gauge",
    ("quantile",),
    "How late messages were first tried in the last minute, by all processes: 0.5 and 0.99",
    fleet=True,
)
WORKERS: Final = Metric(
    "postroad_fleet_workers",
    "gauge",
    ("state",),
    "Processes that deliver: working, idle; and lost within the last day",
    fleet=True,
)
TRIES: Final = Metric(
    "postroad_tries_total",
    "counter",
    ("transport", "level", "outcome"),
    "Tries of this process by kind of lane, retry level and outcome",
)
TRY_SECONDS: Final = Metric(
    "postroad_try_seconds", "histogram", ("transport",), "How long tries took"
)
QUERIES: Final = Metric(
    "postroad_store_queries_total",
    "counter",
    ("operation",),
    "Statements of this process to the store by what for: `level 0` to `level 6`, `safety poll`, …",
)
LANES: Final = Metric("postroad_lanes_owned", "gauge", (), "Lanes that this process owns now")
ACCEPTED: Final = Metric(
    "postroad_accepted_total", "counter", (), "Messages that this server accepted and stored"
)
EVENTS: Final = Metric(
    "postroad_events_total",
    "counter",
    ("matched",),
    "Events that this server published: `yes`, or `no` where no endpoint matched",
)
SHED: Final = Metric(
    "postroad_shed_total", "counter", (), "Messages refused since they could not be stored in time"
)
REQUESTS: Final = Metric(
    "postroad_requests_total", "counter", ("method", "route", "status"), "Answers of the API"
)
REQUEST_SECONDS: Final = Metric(
    "postroad_request_seconds", "histogram", ("method", "route"), "How long answers took"
)
HUB: Final = Metric(
    "postroad_hub",
    "gauge",
    ("what",),
    "The hub of this process: clients, subscriptions, pending, oldest_pending_s, unacked, "
    "oldest_unacked_s, takeovers, awaited, polls, buffered_bytes",
)
BROKER: Final = Metric(
    "postroad_rabbitmq",
    "gauge",
    ("what",),
    "RabbitMQ as this process sees it: blocked, workers, shards, dead_waiting, lost_waiting, "
    "lost_sent_on, lost_dead; the last three should be 0",
)
BUILD: Final = Metric("postroad_build_info", "gauge", ("version",), "Always 1")

METRICS: Final = (
    MESSAGES, OLDEST, DEAD, CIRCUITS, BLOCKED, PAUSED, UNCERTAIN_RECIPIENTS, FLEET_TRIES,
    FLEET_LATENESS, WORKERS, TRIES, TRY_SECONDS, QUERIES, LANES,
    ACCEPTED, EVENTS, SHED, REQUESTS, REQUEST_SECONDS, HUB, BROKER, BUILD,
)  # fmt: skip
