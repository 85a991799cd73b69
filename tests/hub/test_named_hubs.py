"""`hub://` reaches only hubs that settings name, at addresses that were vetted, and shows a token to
nobody else."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from msgspec import Struct, structs
from picows import ws_connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.typing import Subprotocol

from postroad import Postroad
from postroad.config import Settings
from postroad.hub import client_connection
from postroad.hub.access import new_box
from postroad.hub.frames import MSGPACK
from postroad.model.entities import Message
from postroad.model.errors import BadInput, BadSetting, UnknownMailbox
from postroad.model.hubs import KnownHub
from postroad.model.mailbox import HubLimits
from postroad.transports.named_hubs import NamedHub, OwnHub
from postroad.transports.webhook.guard import Guard
from postroad.verbs.parts import Parts
from tests.hub.certificates import Certificates, made
from tests.hub.serving import SEND, serving, some_boxes

QUIET = Settings(log_level="error")
TOKEN = "the token of one hub and no other"
MESSAGE = Message(7, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1 << 62, b"{}")
METADATA = "169.254.169.254"


class Listener(Struct):
    """A stranger's TCP server: what it was told."""

    port: int
    heard: list[bytes]

    @property
    def connections(self) -> int:
        return len(self.heard)


@asynccontextmanager
async def listening(answer: bytes = b"") -> AsyncIterator[Listener]:
    heard: list[bytes] = []

    async def met(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        place = len(heard)
        heard.append(b"")
        if answer:
            heard[place] = await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)
            await writer.drain()
        heard[place] += await reader.read(4_096)
        writer.close()

    server = await asyncio.start_server(met, "127.0.0.1", 0)
    async with server:
        yield Listener(server.sockets[0].getsockname()[1], heard)


class Names:
    """A name server that changes its mind."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)
        self.asked = 0

    async def __call__(self, _name: str, /) -> list[str]:
        self.asked += 1
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def road_with(path: Path, *hubs: KnownHub, names: Names | None = None) -> Postroad:
    settings = structs.replace(QUIET, hubs=hubs)
    return Postroad(f"sqlite:///{path}/road.db", settings=settings, parts=Parts(resolve=names))


async def tried(road: Postroad, queue: str, tenant: str = "default") -> str:
    """What one try of a message says; the queue may be there already."""
    transport = road.hubs
    session = await transport.open(transport.address(queue, tenant))
    stored = await road._sending.open_queue(tenant, queue)
    outcome = await session.send(stored, MESSAGE)
    await session.close()
    return f"{outcome.kind} {outcome.error}"


async def test_a_hub_that_no_setting_names_is_refused_and_never_connected_to(
    tmp_path: Path,
) -> None:
    named = KnownHub("wss://hub.example.com:8601", TOKEN)
    async with listening() as stranger, road_with(tmp_path, named) as road:
        queue = f"hub://127.0.0.1:{stranger.port}/box"
        with pytest.raises(BadInput, match="POSTROAD_HUBS=wss://:TOKEN@127"):
            await road.send(queue, "x")
        # Nor is a queue that was made before, when it was named.
        assert "unreachable" in await tried(road, queue)
        assert stranger.connections == 0


class AnyHub(dict[str, NamedHub]):
    """What is named, without the list of names."""

    def get(self, server: str, _default: object = None, /) -> NamedHub:
        return NamedHub(KnownHub(f"ws://{server}", TOKEN), (), Names([]))


async def test_without_the_list_of_names_a_stranger_is_shown_the_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with hubs_that_note(1) as ((port,), shown):
        async with road_with(tmp_path) as road:
            queue = f"hub://127.0.0.1:{port}/box"
            with pytest.raises(BadInput):
                await road.send(queue, "x")
            assert not shown
            monkeypatch.setattr(road.hubs, "_hubs", AnyHub())
            await road.send(queue, "x")
            assert "unknown" in await tried(road, queue)
    assert TOKEN.encode() in shown[port]


@asynccontextmanager
async def hubs_that_note(count: int) -> AsyncIterator[tuple[list[int], dict[int, bytes]]]:
    """Hubs of strangers: what each was shown, by its port."""
    shown: dict[int, bytes] = {}

    async def take(socket: ServerConnection) -> None:
        async for frame in socket:
            assert isinstance(frame, bytes)
            shown[socket.local_address[1]] = frame
            await socket.close()

    async with AsyncExitStack() as stack:
        ports: list[int] = []
        for _ in range(count):
            hub = serve(take, "127.0.0.1", 0, subprotocols=[Subprotocol(MSGPACK)])
            server = await stack.enter_async_context(hub)
            ports.append(server.sockets[0].getsockname()[1])
        yield ports, shown


async def test_each_hub_is_shown_its_own_token(tmp_path: Path) -> None:
    async with hubs_that_note(2) as (ports, shown):
        hubs = [KnownHub(f"ws://127.0.0.1:{port}", f"{TOKEN} {port}") for port in ports]
        async with road_with(tmp_path, *hubs) as road:
            for port in ports:
                await tried(road, f"hub://127.0.0.1:{port}/box")
    for port, other in (ports, ports[::-1]):
        assert f"{TOKEN} {port}".encode() in shown[port]
        assert f"{TOKEN} {other}".encode() not in shown[port]


async def test_a_redirect_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with listening() as elsewhere:
        head = f"HTTP/1.1 302 Found\r\nlocation: ws://127.0.0.1:{elsewhere.port}/\r\n"
        async with listening(f"{head}content-length: 0\r\n\r\n".encode()) as hub:
            known = KnownHub(f"ws://127.0.0.1:{hub.port}", TOKEN)
            queue = f"hub://127.0.0.1:{hub.port}/box"
            async with road_with(tmp_path, known) as road:
                assert "unreachable" in await tried(road, queue)
            assert (hub.connections, elsewhere.connections) == (1, 0)

            # The client library follows them, unless it is told not to, and names are resolved
            # and connected to without asking anybody.
            loose = {"max_redirects": 5, "socket_factory": None}
            monkeypatch.setattr(
                client_connection,
                "ws_connect",
                lambda *given, **how: ws_connect(*given, **{**how, **loose}),
            )
            async with road_with(tmp_path, known) as road:
                await tried(road, queue)
            assert elsewhere.connections == 1


async def test_a_name_that_leads_to_a_private_address_is_not_connected_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with listening() as inside:
        queue = f"hub://hub.example.com:{inside.port}/box"
        secure = KnownHub(f"wss://hub.example.com:{inside.port}", TOKEN)
        for addresses in (
            ["127.0.0.1"],
            [METADATA],
            ["192.0.32.8", "127.0.0.1"],
            ["::ffff:7f00:1"],
        ):
            async with road_with(tmp_path, secure, names=Names(addresses)) as road:
                said = await tried(road, queue)
                assert "failed" in said
                assert "hubs may not call" in said
                assert "settings.hubs.allow" in said
        assert inside.connections == 0

        monkeypatch.setattr(Guard, "check", lambda *_: None)
        async with road_with(tmp_path, secure, names=Names(["127.0.0.1"])) as road:
            assert "unreachable" in await tried(road, queue)
        assert inside.connections == 1


async def test_a_plain_connection_needs_an_address_that_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match="use wss://, or name the network"):
        road_with(tmp_path, KnownHub("ws://hub.example.com:8601", TOKEN))
    plain = KnownHub("ws://hub.example.com:8601", TOKEN, allow=("10.0.0.0/8",))
    async with road_with(tmp_path, plain, names=Names(["192.0.32.8"])) as road:
        said = await tried(road, "hub://hub.example.com:8601/box")
        assert "use wss://" in said
    denied = structs.replace(QUIET.webhooks, deny=("127.0.0.0/8",))
    settings = structs.replace(QUIET, hubs=(KnownHub("ws://127.0.0.1:9", TOKEN),), webhooks=denied)
    async with Postroad(f"sqlite:///{tmp_path}/road.db", settings=settings) as road:
        assert "denied by this road" in await tried(road, "hub://127.0.0.1:9/box")


async def test_a_name_that_turns_bad_is_vetted_again_before_each_connection(
    tmp_path: Path,
) -> None:
    names = Names(["127.0.0.1"], [METADATA])
    async with serving(tmp_path / "hub.db") as served:
        async with served.client() as client:
            (box,) = await some_boxes(client, 1)
        hub = KnownHub(f"ws://hub.example.com:{served.port}", SEND, allow=("127.0.0.0/8",))
        queue = f"hub://hub.example.com:{served.port}/{box.box}"
        async with road_with(tmp_path, hub, names=names) as road:
            await road.send(queue, "first")
            await road.run(until_idle=True)
            assert names.asked == 1
            said = await tried(road, queue)
            assert "failed" in said
            assert "cloud metadata" in said
            assert METADATA not in said, "a stranger learns no addresses"
        assert (await served.hub.explain(box.box)).waiting == 1


async def test_a_tenant_sends_only_to_hubs_that_are_named_for_it(tmp_path: Path) -> None:
    ours = KnownHub("wss://one.example.com:1", TOKEN)
    theirs = KnownHub("wss://two.example.com:1", TOKEN, tenants=("acme",))
    every = KnownHub("wss://three.example.com:1", TOKEN, tenants=("*",))
    async with road_with(tmp_path, ours, theirs, every) as road:
        for host, tenant in (("one", "acme"), ("two", "default")):
            with pytest.raises(BadInput, match="add it to this hub's tenants"):
                await road.send(f"hub://{host}.example.com:1/box", "x", tenant=tenant)
            queue = f"hub://{host}.example.com:1/box"
            assert "tenants" in await tried(road, queue, tenant)
        for host, tenant in (("one", "default"), ("two", "acme"), ("three", "acme")):
            assert (await road.send(f"hub://{host}.example.com:1/box", "x", tenant=tenant)).id


async def test_on_its_own_hub_a_road_refuses_the_mailboxes_of_other_tenants(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hubs = (KnownHub("ws://127.0.0.1:9", SEND, tenants=("*",)),)
    settings = structs.replace(QUIET, hubs=hubs)
    async with Postroad(f"sqlite:///{tmp_path}/road.db", settings=settings) as road:
        async with serving(tmp_path, store=road.store) as served:  # type: ignore[arg-type]
            own = OwnHub(served.url, "127.0.0.1", SEND)
            road.hubs.serve(own, [f"127.0.0.1:{served.port}"])
            mine, _ = new_box(HubLimits(), tenant="default")
            theirs, _ = new_box(HubLimits(), tenant="acme")
            for box in (mine, theirs):
                await served.hub._store.box_create(box)
            at = f"hub://127.0.0.1:{served.port}/"
            with pytest.raises(UnknownMailbox, match="of tenant 'default'"):
                await road.send(at + theirs.name, "not for you")
            with pytest.raises(UnknownMailbox):
                await road.send(at + "nobody", "x")
            with pytest.raises(UnknownMailbox):  # the same hub under another name
                await road.send(f"hub://127.0.0.1:9/{theirs.name}", "not for you")
            with pytest.raises(UnknownMailbox):
                connection = road.connection()
                with connection:
                    await road.send_in(connection, at + theirs.name, "not for you")
            await road.send(at + mine.name, "for me")
            await road.send(at + theirs.name, "from them", tenant="acme")
            await road.run(until_idle=True)
            assert [(await served.hub.explain(b.name)).waiting for b in (mine, theirs)] == [1, 1]

            async def anybody(_self: object, _queue: str, _tenant: str) -> None:
                """The guard, taken away."""

            monkeypatch.setattr(type(road.hubs), "admit", anybody)
            await road.send(at + theirs.name, "not for you")
            await road.run(until_idle=True)
            assert (await served.hub.explain(theirs.name)).waiting == 2


async def test_wss_checks_the_certificate_and_the_name(tmp_path: Path) -> None:
    certificates = made(tmp_path, "hub.example.com")
    names = Names(["127.0.0.1"])
    async with serving(tmp_path / "hub.db", tls=certificates.server()) as served:
        client = served.secure_client("hub.example.com", certificates.trusting())
        async with client:
            (box,) = await some_boxes(client, 1)

        async def said(host: str, ca_file: str) -> str:
            url = f"wss://{host}:{served.port}"
            hub = KnownHub(url, SEND, allow=("127.0.0.0/8",), ca_file=ca_file)
            async with road_with(tmp_path, hub, names=names) as road:
                return await tried(road, f"hub://{host}:{served.port}/{box.box}")

        assert "delivered" in await said("hub.example.com", str(certificates.ca))
        assert "certificate" in (await said("other.example.com", str(certificates.ca))).lower()
        assert "certificate" in (await said("hub.example.com", "")).lower()
        assert "ca_file" in await said("hub.example.com", str(tmp_path / "nowhere.pem"))
        assert (await served.hub.explain(box.box)).waiting == 1


async def test_an_own_hub_with_tls_is_trusted_by_its_own_certificate(tmp_path: Path) -> None:
    ours, others = made(tmp_path / "ours", "hub.example.com"), made(tmp_path / "b", "evil.example")
    async with Postroad(f"sqlite:///{tmp_path}/road.db", settings=QUIET) as road:
        async with serving(tmp_path, store=road.store, tls=ours.server()) as served:  # type: ignore[arg-type]
            box, _ = new_box(HubLimits())
            await served.hub._store.box_create(box)
            queue = f"hub://127.0.0.1:{served.port}/{box.name}"
            url = f"wss://127.0.0.1:{served.port}"
            for certificates, kind in ((ours, "delivered"), (others, "unreachable")):
                own = OwnHub(url, "127.0.0.1", SEND, certificates.own())
                road.hubs.serve(own, [f"127.0.0.1:{served.port}"])
                assert kind in await tried(road, queue)


def test_a_certificate_of_the_settings_is_the_only_one_trusted(tmp_path: Path) -> None:
    certificates: Certificates = made(tmp_path, "hub.example.com")
    known = NamedHub(KnownHub("wss://h:1", ca_file=str(certificates.ca)), (), Names([]))
    found = asyncio.run(known.tls())
    assert isinstance(found, ssl.SSLContext)
    assert found.cert_store_stats()["x509_ca"] == 1
    assert found.check_hostname
