"""Whether this program traces. OpenTelemetry is loaded only then: the program brings it."""

import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager


def active() -> bool:
    """Whether this program has set up tracing: an SDK, as `opentelemetry-instrument` does."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:
        return False
    unset = (trace.ProxyTracerProvider, trace.NoOpTracerProvider)
    return not isinstance(trace.get_tracer_provider(), unset)


def sending(count: int) -> AbstractContextManager[Mapping[str, str]]:
    """A span around handing messages over, where this program traces."""
    from postroad.observe import traces

    return traces.sending(count)
