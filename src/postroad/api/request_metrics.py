"""Around the application: every answer is counted, and traced where the program traces."""

from typing import Any

from postroad.api.in_process import ASGI
from postroad.observe import tracing
from postroad.observe.metrics import Meter
from postroad.ports.clock import Clock


class RequestMetrics:
    """An ASGI application that counts and traces the requests to another one."""

    def __init__(self, app: ASGI, meter: Meter, clock: Clock) -> None:
        self._app = app
        self._meter = meter
        self._clock = clock

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass on one request, and count it."""
        start_s, status = self._clock.steady_s(), 0

        async def tell(event: Any) -> None:
            nonlocal status
            if event["type"] == "http.response.start":
                status = event["status"]
                if _unread(scope):
                    event["headers"] = [*event["headers"], (b"connection", b"close")]
            await send(event)

        if tracing.active():
            from postroad.observe import traces

            headers = {name.decode(): text.decode("latin-1") for name, text in scope["headers"]}
            with traces.asked(scope["method"], "request", headers) as span:
                await self._app(scope, receive, tell)
                span.update_name(f"{scope['method']} {route_of(scope)}")
                span.set_attribute("http.response.status_code", status)
        else:
            await self._app(scope, receive, tell)
        took_s = self._clock.steady_s() - start_s
        self._meter.answered(method_of(scope), route_of(scope), status, took_s)


def _unread(scope: Any) -> bool:
    """Whether the body has not arrived whole: an answer given now is the last on its connection."""
    exchange = scope.get("exchange")
    return exchange is not None and exchange.more_body


def route_of(scope: Any) -> str:
    """The path of the route, never of the request: an id must not become a label."""
    return str(scope.get("path_template") or "none")


def method_of(scope: Any) -> str:
    """The method, or `other`: a client may make up methods."""
    known = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
    return scope["method"] if scope["method"] in known else "other"
