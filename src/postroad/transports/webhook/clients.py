"""HTTP clients, one for each vetted address of a server. Building one takes 6 ms with the whole
process standing still, so they outlive the sessions that use them."""

import asyncio
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Final

from pyreqwest.client import Client, ClientBuilder

from postroad.transports.webhook.target import Target

KEPT_MAX: Final = 512
IDLE_S: Final = 4.0
"""Many servers close an idle connection after 5 s; sent at that moment a request is in doubt."""
IDLE_MAX: Final = 64

Key = tuple[str, str, int]


class Clients:
    """The clients of a road; those that were not used for longest are given up first."""

    def __init__(self) -> None:
        self._ready: OrderedDict[Key, Client] = OrderedDict()
        self._building: dict[Key, asyncio.Task[Client]] = {}
        self._threads = ThreadPoolExecutor(2, "postroad-client")

    async def get(self, target: Target, address: str, connect_ms: int) -> Client:
        """The client for one address; a few who ask at once wait for the same one."""
        key = (target.server, address, connect_ms)
        client = self._ready.get(key)
        if client is not None:
            self._ready.move_to_end(key)
            return client
        loop = asyncio.get_running_loop()
        building = self._building.get(key)
        if building is None or building.get_loop() is not loop:
            building = self._building[key] = loop.create_task(self._build(key, target))
        return await asyncio.shield(building)

    async def _build(self, key: Key, target: Target) -> Client:
        loop = asyncio.get_running_loop()
        _, address, connect_ms = key
        try:
            client = await loop.run_in_executor(
                self._threads, build_client, target, address, connect_ms
            )
        finally:
            self._building.pop(key, None)
        self._ready[key] = client
        if len(self._ready) > KEPT_MAX:
            self._ready.popitem(last=False)  # what is in flight with it goes on
        return client


def build_client(target: Target, address: str, connect_ms: int) -> Client:
    """A client that can reach this one address only: no proxies, no redirects, no name server."""
    builder = (
        ClientBuilder()
        .no_proxy()
        .follow_redirects(enable=False)
        .gzip(enable=False)
        .brotli(enable=False)
        .zstd(enable=False)
        .deflate(enable=False)
        .referer(enable=False)
        .http1_only()
        .user_agent("postroad")
        .connect_timeout(timedelta(milliseconds=connect_ms))
        .pool_idle_timeout(timedelta(seconds=IDLE_S))
        .pool_max_idle_per_host(IDLE_MAX)
    )
    if target.literal is None:
        builder = builder.resolve(target.host, address, target.port)
    return builder.build()
