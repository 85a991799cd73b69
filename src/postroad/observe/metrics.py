"""The metrics of one process, in a registry of their own."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Final

from msgspec import Struct, structs

from postroad.model.block import BlockKind
from postroad.model.broker import BrokerFacts
from postroad.model.extras import Needing
from postroad.model.outcome import Outcome
from postroad.model.overview import Overview
from postroad.model.rollup import TRIES, Total, Worker, WorkerState
from postroad.model.states import DeadReason, State
from postroad.observe import names
from postroad.observe.names import METRICS, Metric
from postroad.version import VERSION

SUMMED: Final = {
    each.name.removesuffix("_total") for each in METRICS if not each.fleet and each != names.BUILD
}
BUCKETS_S: Final = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class CountedSample(Struct):
    """One value that a process has counted; `total`: it never goes down."""

    name: str
    labels: dict[str, str]
    value: float
    total: bool

    @property
    def key(self) -> tuple[str, tuple[tuple[str, str], ...]]:
        """What values of several processes have in common."""
        return self.name, tuple(sorted(self.labels.items()))


def added(*counted: list[CountedSample]) -> list[CountedSample]:
    """Add up what several processes have counted."""
    sums: dict[object, CountedSample] = {}
    for each in chain.from_iterable(counted):
        found = sums.setdefault(each.key, structs.replace(each, value=0.0))
        found.value += each.value
    return list(sums.values())


class Uncounted:
    """A metric where prometheus_client is not installed: it counts nothing."""

    def labels(self, *_labels: object) -> "Uncounted":
        """Return the same for all labels."""
        return self

    def inc(self, amount: float = 1) -> None:
        """Count nothing."""

    set = observe = inc

    def clear(self) -> None:
        """Do nothing: there is nothing to clear."""


class Meter:
    """Counts as things happen; what lies in the store is asked for when somebody looks. Without the
    extra `server` it counts nothing: then nobody can look either."""

    def __init__(self) -> None:
        try:
            import prometheus_client
        except ModuleNotFoundError:
            self._library: Any = None
            self._registry: Any = None
            self.media_type = ""
        else:
            self._library = prometheus_client
            self._registry = prometheus_client.CollectorRegistry()
            self.media_type = prometheus_client.CONTENT_TYPE_LATEST
        self._all: dict[str, Any] = {each.name: self._make(each) for each in METRICS}
        self._of(names.BUILD).labels(VERSION).set(1)
        self._asked: dict[str, int] = {}

    def _make(self, metric: Metric) -> Any:
        if self._library is None:
            return Uncounted()
        how: dict[str, Any] = {"registry": self._registry}
        match metric.kind:
            case "counter":
                return self._library.Counter(metric.name, metric.text, metric.labels, **how)
            case "gauge":
                return self._library.Gauge(metric.name, metric.text, metric.labels, **how)
            case "histogram":
                return self._library.Histogram(
                    metric.name, metric.text, metric.labels, buckets=BUCKETS_S, **how
                )

    def _of(self, metric: Metric) -> Any:
        return self._all[metric.name]

    def tried(self, transport: str, level: int, outcome: Outcome, took_s: float) -> None:
        """Count a try and its duration."""
        counted = BlockKind.setup if outcome.lacks_setup else outcome.kind
        self._of(names.TRIES).labels(transport, level, counted).inc()
        self._of(names.TRY_SECONDS).labels(transport).observe(took_s)

    def cut(self, transport: str, level: int, outcome: Outcome) -> None:
        """Count a try that was cut at its deadline."""
        self._of(names.TRIES).labels(transport, level, outcome.kind).inc()

    def answered(self, method: str, route: str, status: int, took_s: float) -> None:
        """Count an API request and its duration."""
        self._of(names.REQUESTS).labels(method, route, status).inc()
        self._of(names.REQUEST_SECONDS).labels(method, route).observe(took_s)

    def accepted(self, count: int) -> None:
        """Count stored messages."""
        self._of(names.ACCEPTED).inc(count)

    def published(self, endpoints: int) -> None:
        """Count an event by whether any endpoint matched."""
        self._of(names.EVENTS).labels("yes" if endpoints else "no").inc()

    def shed(self, count: int) -> None:
        """Count messages that were refused for lack of time or memory."""
        self._of(names.SHED).inc(count)

    def stands(self, said: Overview, now_ms: int) -> None:
        """Set the gauges of the whole road."""
        amounts, oldest = self._of(names.MESSAGES), self._of(names.OLDEST)
        amounts.clear()
        oldest.clear()
        ages: dict[tuple[str, State], int] = {}
        for each in said.counts:
            amounts.labels(each.transport, each.level, each.state).set(each.count)
            key = (each.transport, each.state)
            ages[key] = max(ages.get(key, 0), now_ms - each.oldest_due_ms)
        for (transport, state), age_ms in ages.items():
            oldest.labels(transport, state).set(max(0, age_ms) / 1000)
        for reason in DeadReason:  # also those of none: a rule compares with an hour ago
            self._of(names.DEAD).labels(reason).set(said.dead.get(reason, 0))
        self._of(names.CIRCUITS).set(said.open_circuits)
        self._of(names.BLOCKED).set(said.blocked_queues)
        self._of(names.PAUSED).set(said.paused_queues)
        self._of(names.UNCERTAIN_RECIPIENTS).set(said.uncertain_recipients)

    def fleet(self, minute: Total, workers: Iterable[Worker]) -> None:
        """Set the gauges of all processes together."""
        tries, lateness = self._of(names.FLEET_TRIES), self._of(names.FLEET_LATENESS)
        lateness.clear()
        for outcome in TRIES:
            tries.labels(outcome).set(minute.tries.get(outcome, 0) / minute.seconds)
        for quantile, late_ms in (("0.5", minute.late_p50_ms), ("0.99", minute.late_p99_ms)):
            if late_ms is not None:
                lateness.labels(quantile).set(late_ms / 1000)
        states = [worker.state for worker in workers]
        for state in WorkerState:
            self._of(names.WORKERS).labels(state).set(states.count(state))

    def works(self, lanes: int, asked: Mapping[str, int]) -> None:
        """Set what this process does: lanes that it owns, statements so far."""
        self._of(names.LANES).set(lanes)
        for operation, count in asked.items():
            more = count - self._asked.get(operation, 0)
            self._of(names.QUERIES).labels(operation).inc(max(0, more))
            self._asked[operation] = count

    def hub(self, shown: Mapping[str, float]) -> None:
        """Set the hub's gauges."""
        for what, value in shown.items():
            self._of(names.HUB).labels(what).set(value)

    def broker(self, facts: BrokerFacts) -> None:
        """Set the broker's gauges."""
        shown = {**structs.asdict(facts), "blocked": int(bool(facts.blocked))}
        del shown["version"]
        for what, value in shown.items():
            self._of(names.BROKER).labels(what).set(value)

    def counts(self) -> list[CountedSample]:
        """What this process has counted of metrics that are summed up over processes."""
        return [
            CountedSample(sample.name, sample.labels, sample.value, family.type != "gauge")
            for family in self._registry.collect()
            if family.name in SUMMED
            for sample in family.samples
            if not sample.name.endswith("_created")
        ]

    def text(self, others: list[CountedSample] | None = None) -> bytes:
        """Write all metrics as Prometheus reads them, with what others have counted added."""
        with Needing("/metrics"):
            from prometheus_client import generate_latest

        return generate_latest(Summed(self._registry, others) if others else self._registry)


class Summed:
    """A registry whose counts have those of other processes added."""

    def __init__(self, registry: Any, others: list[CountedSample]) -> None:
        self._registry = registry
        self._others = {each.key: each for each in others}

    def collect(self) -> Iterator[Any]:
        """Give one family of samples after the other."""
        for family in self._registry.collect():
            family.samples = [self._with_others(sample) for sample in family.samples]
            family.samples += self._of_others_alone(family.name)
            yield family

    def _with_others(self, sample: Any) -> Any:
        other = self._others.pop(CountedSample(sample.name, sample.labels, 0, total=True).key, None)
        return sample if other is None else sample._replace(value=sample.value + other.value)

    def _of_others_alone(self, family: str) -> Iterator[Any]:
        from prometheus_client.core import Sample

        suffixes = ("", "_total", "_bucket", "_count", "_sum")
        for each in list(self._others.values()):
            if each.name in {family + suffix for suffix in suffixes}:
                yield Sample(each.name, each.labels, each.value)
