"""The provider's log says when requests came, not when it got to them."""

import os
import signal
import socket
import time
from base64 import b64encode
from collections.abc import Iterator
from contextlib import ExitStack
from urllib.parse import urlencode

import pytest

from tests.campaigns.provider import ACCOUNT, TOKEN, Provider

WAIT_S = 60.0
APART_S = 0.3


def _request(number: str) -> bytes:
    body = urlencode({"To": number, "From": "+1", "Body": "Hello"})
    login = b64encode(f"{ACCOUNT}:{TOKEN}".encode()).decode()
    head = (
        f"POST /2010-04-01/Accounts/{ACCOUNT}/Messages.json HTTP/1.1\r\nhost: here\r\n"
        f"authorization: Basic {login}\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return (head + body).encode()


def _call(provider: Provider) -> socket.socket:
    return socket.create_connection(("127.0.0.1", provider.port), WAIT_S)


@pytest.fixture
def calls(provider: Provider) -> Iterator[list[socket.socket]]:
    with ExitStack() as stack:
        yield [stack.enter_context(_call(provider)) for _ in range(3)]


def test_a_provider_that_stands_still_knows_when_each_came(
    provider: Provider, calls: list[socket.socket]
) -> None:
    os.kill(provider.pid, signal.SIGSTOP)
    try:
        for turn, call in enumerate(calls):
            time.sleep(APART_S)
            call.sendall(_request(f"+160{turn}"))
        time.sleep(APART_S)
    finally:
        now_ns = time.time_ns()
        os.kill(provider.pid, signal.SIGCONT)
    for call in calls:
        assert call.recv(65_536).startswith(b"HTTP/1.1 201")
    came = sorted((one.at_ns, one.number) for one in provider.arrivals())
    assert [number for _, number in came] == ["+1600", "+1601", "+1602"]
    for (one_ns, _), (next_ns, _) in zip(came, [*came[1:], (now_ns, "")], strict=True):
        assert next_ns - one_ns >= APART_S * 1e9 * 0.9


def test_a_request_in_pieces_came_when_it_began(
    provider: Provider, calls: list[socket.socket]
) -> None:
    call, (one, two) = calls[0], (_request("+1601"), _request("+1602"))
    call.sendall(one + two[:20])
    assert call.recv(65_536).startswith(b"HTTP/1.1 201")
    before_ns = time.time_ns()
    call.sendall(two[20:60])
    call.sendall(two[60:])
    assert call.recv(65_536).startswith(b"HTTP/1.1 201")
    call.sendall(_request("+1603"))
    assert call.recv(65_536).startswith(b"HTTP/1.1 201")
    first, second, third = provider.arrivals()
    assert (first.number, second.number, third.number) == ("+1601", "+1602", "+1603")
    assert first.at_ns == second.at_ns < before_ns < third.at_ns
