"""Egress proxies: webhooks and token servers go through them, the guard judges names, and a proxy
that does not work is nobody else's fault."""

from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from msgspec.structs import replace

from postroad import ClientTls, OAuthClient, Postroad, Settings
from postroad.model.errors import BadSetting, BadUrl
from tests.cli.running import data
from tests.webhook.conftest import LOCAL
from tests.webhook_requests.authority import Authority
from tests.webhook_requests.proxy import Proxy, proxying
from tests.webhook_requests.servers import Stand, TokenServer, serving, tls_server
from tests.webhook_requests.test_access import held

MakeRoad = Callable[..., Postroad]


@pytest.fixture
def make_road(tmp_path: Path) -> MakeRoad:
    """A road whose webhooks go through a proxy, or those of some tenants."""

    def make(proxy: str = "", *tenants: str) -> Postroad:
        rules = replace(LOCAL, proxies=(*filter(None, (proxy,)), *tenants))
        return Postroad(f"sqlite:///{tmp_path}/road.db", settings=Settings(webhooks=rules))

    return make


def named(stand: Stand, proxy: Proxy, name: str = "hooks.example.com") -> str:
    """The stand under a name that only the proxy knows."""
    port = urlsplit(stand.url).port
    assert port
    proxy.to[name] = ("127.0.0.1", port)
    return stand.url.replace("127.0.0.1", name)


async def test_webhooks_go_through_the_proxy_which_looks_up_their_names(
    make_road: MakeRoad, stand: Stand
) -> None:
    login = "Basic " + b64encode(b"ann:p w").decode()
    with proxying(wanted=login) as proxy:
        async with make_road(f"http://ann:p%20w@127.0.0.1:{proxy.port}") as road:
            url = named(stand, proxy)
            receipts = [await road.send(f"{url}/hook", number) for number in range(3)]
            await road.run(until_idle=True)
            assert len(stand.got) == 3
            assert set(proxy.asked) == {url.removeprefix("http://")}
            assert stand.got[0].headers["host"] == url.removeprefix("http://")
            assert "proxy-authorization" not in stand.got[0].headers
            (one,) = await road.webhooks.attempts(receipts[0].id)
            assert one.address.endswith(f" by http://127.0.0.1:{proxy.port}")
            assert "ann" not in repr(one)


async def test_tls_is_spoken_with_the_receiver_and_not_with_the_proxy(
    make_road: MakeRoad, tmp_path: Path
) -> None:
    ours, theirs = Authority("ours"), Authority("theirs")
    shown = ClientTls(*ours.certificate("the sender"), ca=theirs.pem)
    with proxying() as proxy, serving(tls_server(tmp_path, theirs, ours)) as stand:
        async with make_road(f"http://127.0.0.1:{proxy.port}") as road:
            await road.endpoints.create(stand.url, tls=shown)
            told = await road.publish("order.paid", {})
            await road.run(until_idle=True)
            assert (await road.explain(told.messages[0])).state == "delivered"
            assert [one.client for one in stand.got] == ["the sender"]
            assert proxy.asked == [stand.url.removeprefix("https://")]


async def test_a_tenant_may_have_its_own_proxy_or_none(make_road: MakeRoad, stand: Stand) -> None:
    with proxying() as for_all, proxying() as of_one:
        urls = [f"http://127.0.0.1:{proxy.port}" for proxy in (for_all, of_one)]
        async with make_road(urls[0], f"one={urls[1]}", "two=none") as road:
            for tenant in ("one", "two", "three"):
                await road.send(stand.url, 1, tenant=tenant)
            await road.run(until_idle=True)
        assert (len(stand.got), len(for_all.asked), len(of_one.asked)) == (3, 1, 1)


async def test_token_servers_are_asked_through_the_proxy(
    make_road: MakeRoad, stand: Stand, tokens: TokenServer
) -> None:
    with proxying() as proxy:
        async with make_road(f"http://127.0.0.1:{proxy.port}") as road:
            url = named(tokens.stand, proxy, "login.example.com")
            auth = OAuthClient(url, "ours", "hush hush hush")
            await road.endpoints.create(stand.url, auth=auth)
            await road.publish("order.paid", {})
            await road.run(until_idle=True)
            assert stand.got[0].headers["authorization"] == "Bearer token-1"
            assert url.removeprefix("http://") in proxy.asked


@pytest.mark.parametrize(
    "url",
    [
        "http://10.0.0.7/",
        "http://169.254.169.254/latest",
        "http://[::ffff:127.0.0.1]/",
        "http://localhost/",
        "http://database/",
        "http://metadata.google.internal/",
        "http://printer.local/",
    ],
)
async def test_the_guard_judges_addresses_and_names_before_the_proxy_is_asked(
    make_road: MakeRoad, url: str
) -> None:
    with proxying() as proxy:
        async with make_road(f"http://127.0.0.1:{proxy.port}") as road:
            with pytest.raises(BadUrl):
                await road.send(url, 1)
        assert proxy.asked == []


ANSWERS = {
    "refused": (b"HTTP/1.1 403 Forbidden\r\n\r\n", "refuses a tunnel (403)"),
    "no HTTP": (b"SSH-2.0-OpenSSH\r\n\r\n", "not HTTP"),
    "nothing": (b"\r\n", "closed the connection"),
    "too long": (b"HTTP/1.1 200 x\r\n" + b"a: b\r\n" * 20_000, "more than"),
}


@pytest.mark.parametrize("said", ANSWERS)
async def test_a_proxy_that_makes_no_tunnel_holds_the_queue_and_blames_nobody(
    make_road: MakeRoad, stand: Stand, said: str
) -> None:
    with proxying() as proxy:
        proxy.answer, words = ANSWERS[said]
        async with make_road(f"http://ann:hush@127.0.0.1:{proxy.port}") as road:
            sent = await road.send(stand.url, 1)
            reason = await held(road, stand.url)
            assert words in reason
            assert "hush" not in reason
            (one,) = await road.webhooks.attempts(sent.id)
            assert (one.outcome, one.fault, stand.got) == ("quota", "proxy", [])


async def test_a_wrong_password_and_a_proxy_that_is_away_are_named(
    make_road: MakeRoad, stand: Stand
) -> None:
    with proxying(wanted="Basic x") as proxy:
        url = f"http://ann:hush@127.0.0.1:{proxy.port}"
        async with make_road(url) as road:
            await road.send(stand.url, 1)
            assert "does not take its password (407)" in await held(road, stand.url)
    async with make_road(url) as road:
        await road.unblock(stand.url)
        assert "cannot be reached" in await held(road, stand.url)


async def test_a_target_that_the_proxy_cannot_reach_is_unreachable(
    make_road: MakeRoad, stand: Stand
) -> None:
    with proxying() as proxy:
        proxy.answer = b"HTTP/1.1 502 Bad Gateway\r\n\r\n"
        async with make_road(f"http://127.0.0.1:{proxy.port}") as road:
            await road.send(stand.url, 1)
            transport = road._transports["webhook"]
            queue = await road.store.find_queue("default", stand.url)
            assert queue is not None
            session = await transport.open(transport.address(stand.url, "default"))
            outcome = await session.prepare(queue, None)  # type: ignore[attr-defined]
            await session.close()
            assert (outcome.kind, outcome.error) == (
                "unreachable",
                f"proxied: http://127.0.0.1:{proxy.port} cannot reach it (502)",
            )


@pytest.mark.parametrize(
    "bad",
    ["https://proxy:3128", "proxy:3128", "http://proxy", "http://:p@proxy:1", "http://proxy:99999"],
)
def test_a_bad_proxy_is_refused_by_name(make_road: MakeRoad, bad: str) -> None:
    with pytest.raises(BadSetting, match=r"webhooks\.proxies"):
        make_road(bad)
    with pytest.raises(BadSetting, match=r"webhooks\.proxies"):
        make_road("", f"one={bad}")
    for twice in ("one=none", "http://proxy:1"):
        with pytest.raises(BadSetting, match="each tenant once"):
            make_road("", twice, twice)
    with pytest.raises(BadSetting, match="name the tenant"):
        make_road("", "=http://proxy:1")


def test_settings_are_shown_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    given = "http://ann:hush=@proxy:3128, a=http://b:hush@other:1, c=none"
    monkeypatch.setenv("POSTROAD_WEBHOOKS_PROXIES", given)
    assert data("config", "show")["webhooks.proxies"] == [
        "http://proxy:3128 (with a password)",
        "a=http://other:1 (with a password)",
        "c=none",
    ]
