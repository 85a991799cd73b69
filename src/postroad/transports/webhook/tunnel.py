"""Tunnels through an egress proxy: HTTP CONNECT, and a bounded reading of what it answers."""

import asyncio
from typing import Final, cast

from postroad.model.egress import EgressProxy
from postroad.model.errors import Shortage
from postroad.transports.webhook.faults import Fault
from postroad.transports.webhook.reading import BadAnswer, Reader
from postroad.transports.webhook.target import Target

AWAY: Final = (502, 503, 504)


class TunnelRequest(asyncio.Protocol):
    """Asks for one tunnel, and hears whether it is there."""

    def __init__(self, request: bytes) -> None:
        self._request = request
        self._reader = Reader(0)
        self.status: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The proxy is there: ask it."""
        cast("asyncio.Transport", transport).write(self._request)

    def data_received(self, data: bytes) -> None:
        """Read the head of its answer. Behind it nothing may come: the server does not speak
        first."""
        if self.status.done():
            return
        try:
            _ = self._reader.read(data)  # what follows the head of a refusal does not matter
        except BadAnswer as error:
            self._fail(str(error))
            return
        if self._reader.status:
            self.status.set_result(self._reader.status)

    def connection_lost(self, _error: Exception | None) -> None:
        """The proxy closed the connection."""
        self._fail("it closed the connection")
        self._reader.close()

    def _fail(self, said: str) -> None:
        if not self.status.done():
            self.status.set_exception(Fault("proxy", said, sent=False))


async def open_tunnel(proxy: EgressProxy, target: Target) -> asyncio.Transport:
    """Have a proxy connect to a target. Raises Fault: `proxy` where it is the proxy's doing."""
    loop = asyncio.get_running_loop()
    try:
        transport, asked = await loop.create_connection(
            lambda: TunnelRequest(_request(proxy, target)), proxy.host, proxy.port
        )
    except OSError as error:
        if lacks := Shortage.of(error):
            raise lacks from None
        raise Fault("proxy", f"{proxy.server} cannot be reached: {error}", sent=False) from None
    try:
        status = await asked.status
    except BaseException:
        transport.abort()
        raise
    if not 200 <= status < 300:
        transport.abort()
        raise _refused(proxy, status)
    return transport


def _request(proxy: EgressProxy, target: Target) -> bytes:
    place = f"{target.bracketed}:{target.port}"
    lines = f"CONNECT {place} HTTP/1.1\r\nhost: {place}\r\n"
    if proxy.authorization:
        lines += f"proxy-authorization: {proxy.authorization}\r\n"
    return f"{lines}\r\n".encode()


def _refused(proxy: EgressProxy, status: int) -> Fault:
    if status in AWAY:
        return Fault("proxied", f"{proxy.server} cannot reach it ({status})", sent=False)
    if status == 407:
        return Fault("proxy", f"{proxy.server} does not take its password (407)", sent=False)
    return Fault("proxy", f"{proxy.server} refuses a tunnel ({status})", sent=False)
