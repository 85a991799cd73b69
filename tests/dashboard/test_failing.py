"""What fails without being blocked is seen as trouble, and what a server answered can be read."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from postroad.config import Settings
from postroad.dashboard.asking import PageApi
from postroad.dashboard.plots import parts_of
from postroad.model.webhook import WebhookRules
from tests.dashboard.stand import PageStand


@pytest.fixture
def stand(tmp_path: Path) -> PageStand:
    rules = WebhookRules(allow=("127.0.0.0/8",), http=True, ports=())
    return PageStand(tmp_path, Settings(webhooks=rules))


async def gone(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A server that refuses everything and says why."""
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 400 Bad\r\ncontent-length: 9\r\nconnection: close\r\n\r\nno <b>you")
    writer.close()


async def test_a_queue_whose_tries_all_fail_is_in_trouble(stand: PageStand) -> None:
    server = await asyncio.start_server(gone, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook"
    number = await stand.send(url)
    await stand.send("good")
    await stand.road.run(until_idle=True)
    server.close()
    await stand.login()
    table = (await stand.get("/queues")).content.decode()
    assert table.count("failing</span>") == 1
    assert "all 1 try since" in table
    assert ">open</span>" in table  # the good one
    one = (await stand.get(f"/queue?name={url}")).content.decode()
    assert "failing</span>" in one
    assert "400" in one.partition("All 1 try since")[2]
    assert "fails: all 1 try since" in (await stand.get("/")).content.decode()
    told = (await stand.get(f"/messages/{number}")).content.decode()
    log = told.partition("Request and answer")[2]
    assert f"POST {url}" in log
    assert "webhook-id" in log
    assert "Status after" in log
    assert "made in" in log  # its connection
    assert "no &lt;b&gt;you" in log
    await stand.login(role="read")
    shown = (await stand.get(f"/messages/{number}")).content.decode()
    assert "webhook-id" not in shown
    assert "no &lt;b&gt;you" not in shown


async def test_each_block_of_a_queue_is_told_with_its_own_reason_and_end(
    stand: PageStand, monkeypatch: pytest.MonkeyPatch
) -> None:
    await stand.send("good")
    await stand.login()
    get = PageApi.get
    quota = {"block": "quota", "block_reason": "429 Slow down", "block_until_ms": 600_000}

    async def both(self: PageApi, path: str, **query: object) -> Any:
        found = await get(self, path, **query)
        if path == "/v1/queues":  # its lane's circuit is open, too
            row = found["queues"][0] | quota | {"because": "circuit open: no answer in time"}
            return {**found, "queues": [row]}
        return found

    monkeypatch.setattr(PageApi, "get", both)
    table = (await stand.get("/queues")).content.decode()
    assert "429 Slow down; ends <time" in table
    assert "circuit open: no answer in time</div>" in table, "without the end of the other"


async def test_a_tenant_that_does_not_exist_is_not_shown(stand: PageStand) -> None:
    await stand.login(tenant="*")
    refused = await stand.post("/tenant", tenant="nobody")
    assert refused.status == 404
    assert b"nobody" in refused.content
    assert (await stand.post("/tenant", tenant="default")).status == 303
    await stand.road.tenants.create("acme")
    assert (await stand.post("/tenant", tenant="acme")).status == 303


async def test_who_chose_a_tenant_sees_it_alone_although_others_see_all(stand: PageStand) -> None:
    """`default` is also the tenant of those who chose none: their pages must not be shared."""
    await stand.road.tokens.make("of the shop", tenant="acme")
    await stand.login(tenant="*")
    assert b"of the shop" in (await stand.get("/access")).content
    stand.cookies["postroad_tenant_8600"] = "default"
    assert b"of the shop" not in (await stand.get("/access")).content
    del stand.cookies["postroad_tenant_8600"]
    assert b"of the shop" in (await stand.get("/access")).content


def test_what_was_put_off_has_not_failed() -> None:
    tries = {"delivered": 1, "later": 2, "unreachable": 3, "failed": 4, "rejected": 5}
    assert parts_of(tries) == (1, 5, 9)
