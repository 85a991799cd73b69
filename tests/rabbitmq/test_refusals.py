"""Bad addresses and unfit brokers: each has a name, and says what to do."""

import asyncio
import socket
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from pamqp import commands, frame

from postroad import Postroad
from postroad.model.errors import (
    AccessRefused,
    BadDsn,
    BrokerForgot,
    BrokerLost,
    NoSuchVhost,
    ServerTooOld,
    StoreError,
)
from postroad.ports.clock import SystemClock
from postroad.stores.rabbitmq.wire import connection as connection_module
from postroad.stores.rabbitmq.wire.address import BrokerAddress, read_address
from postroad.stores.rabbitmq.wire.features import check_features
from tests.rabbitmq.wires import linked, opened
from tests.servers import free_port
from tests.servers.rabbitmq import ELSEWHERE, PrivateRabbit

Within = Callable[[Coroutine[Any, Any, Any]], Any]


async def told(dsn: str, error: type[StoreError]) -> str:
    """What opening says."""
    with pytest.raises(error) as caught:
        await opened(dsn)
    assert type(caught.value) is error
    assert read_address(dsn).password not in str(caught.value)
    return str(caught.value)


def test_addresses_are_read_whole() -> None:
    assert read_address("amqp://h") == BrokerAddress("h", 5672, "guest", "guest", "/")
    read = read_address("amqps://a%40b:p%2Fw@h:5/x%2Fy?state=sqlite:///s.db")
    assert read == BrokerAddress("h", 5, "a@b", "p/w", "x/y", tls=True)
    assert read_address("amqps://h/").port == 5671
    assert read_address("amqp://h/%2F").vhost == "/"
    assert "p/w" not in repr(read)
    assert read.name == "amqps://h:5/x/y"


@pytest.mark.parametrize("dsn", ["amqp://", "amqp://h:x/", "http://h", "amqp://h/a/b", "amqp:h"])
def test_a_malformed_address_is_refused(dsn: str) -> None:
    with pytest.raises(BadDsn):
        read_address(dsn)


def test_wrong_credentials(dsn: str, within: Within) -> None:
    assert "check user and password" in within(told(dsn.replace("road:", "road:x"), AccessRefused))
    assert "check user and password" in within(told(dsn.replace("road:", "x:"), AccessRefused))


def test_a_missing_vhost(dsn: str, within: Within) -> None:
    text = within(told(dsn.rsplit("/", 1)[0] + "/nowhere", NoSuchVhost))
    assert "nowhere" in text
    assert "add_vhost" in text


def test_a_vhost_that_this_user_may_not_enter(
    broker: PrivateRabbit, dsn: str, within: Within
) -> None:
    broker.eval('rabbit_auth_backend_internal:add_user(<<"poor">>, <<"pw1234">>, <<"test">>)')
    try:
        poor = "amqp://poor:pw1234@" + dsn.partition("@")[2]
        assert "set_permissions" in within(told(poor, AccessRefused))
        name = dsn.rpartition("/")[2]
        broker.eval(
            f'rabbit_auth_backend_internal:set_permissions(<<"poor">>, <<"{name}">>,'
            ' <<"^$">>, <<".*">>, <<".*">>, <<"test">>)'
        )

        async def story() -> None:
            async with linked(poor) as link:
                channel = await link.channel()
                with pytest.raises(AccessRefused, match="Grant the user configure"):
                    await channel.call(commands.Queue.Declare(queue="q", durable=True))

        within(story())
    finally:
        broker.eval('rabbit_auth_backend_internal:delete_user(<<"poor">>, <<"test">>)')


def test_nobody_there(within: Within) -> None:
    text = within(told(f"amqp://guest:secret9@127.0.0.1:{free_port()}", BrokerLost))
    assert "cannot be reached" in text
    assert "cannot be reached" in within(told("amqp://guest:secret9@name.invalid", BrokerLost))


async def answered(answer: bytes, error: type[StoreError]) -> str:
    """What opening says to a server that says that."""
    left = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        await reader.read()
        writer.close()
        left.set()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        text = await told(f"amqp://guest:secret9@127.0.0.1:{port}", error)
        await left.wait()
        return text


def greeting(**told: Any) -> bytes:
    """What a broker begins with."""
    start = commands.Connection.Start(0, 9, told, "PLAIN", "en_US")
    return frame.marshal(start, 0)


def test_something_else_listens_there(within: Within) -> None:
    other = b"HTTP/1.1 400 Bad Request\r\n\r\n"
    assert "is this the broker's port" in within(answered(other, BrokerLost))
    assert "AMQP 0-9-1" in within(answered(b"AMQP\x03\x01\x00\x00", ServerTooOld))


def test_a_server_that_says_nothing(within: Within, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "OPEN_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        assert "did not answer" in within(
            told(f"amqp://guest:secret9@127.0.0.1:{port}", BrokerLost)
        )


def test_a_broker_that_is_too_old_or_another_product(within: Within) -> None:
    able = dict.fromkeys(connection_module.NEEDED, True)
    old = greeting(product="RabbitMQ", version="3.9.29", capabilities=able)
    assert "3.9.29" in within(answered(old, ServerTooOld))
    other = greeting(product="OtherMQ", version="4.0.0", capabilities=able)
    assert "OtherMQ" in within(answered(other, ServerTooOld))
    unable = greeting(
        product="RabbitMQ", version="4.0.5", capabilities={**able, "connection.blocked": False}
    )
    assert "lacks connection.blocked" in within(answered(unable, ServerTooOld))


@pytest.mark.wide
def test_a_broker_without_what_keeps_delayed_messages_or_without_what_moves_them(
    within: Within, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(ELSEWHERE, raising=False)

    async def story(dsn: str) -> None:
        road = Postroad(f"{dsn}?state=sqlite:///{tmp_path}/state.db")
        with pytest.raises(ServerTooOld, match="enable_feature_flag all"):
            async with road:
                pass
        async with linked(dsn) as link:
            with pytest.raises(BrokerForgot):
                await (await link.channel()).get("postroad.v1.shard.0")  # nothing was declared

    async def later(dsn: str) -> None:
        with pytest.raises(BrokerLost, match=r"rabbit_fifo_dlx_sup.*restart that node"):
            async with Postroad(f"{dsn}?state=sqlite:///{tmp_path}/state.db"):
                pass

    with PrivateRabbit(feature_flags="quorum_queue") as bare:
        within(story(bare.dsn()))
        bare.eval("rabbit_feature_flags:enable_all()")
        bare.eval("supervisor:terminate_child(rabbit_sup, rabbit_fifo_dlx_sup)")
        within(later(bare.dsn()))


def test_a_broker_that_can_is_left_as_it_was(dsn: str, within: Within) -> None:
    async def story() -> None:
        await check_features(read_address(dsn), "probe", SystemClock())
        async with linked(dsn) as link:
            with pytest.raises(BrokerForgot):
                await (await link.channel()).get("probe")

    within(story())
