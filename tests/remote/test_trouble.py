"""What goes wrong between a remote road and its server: named, and a send is stored once."""

import asyncio
import itertools
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from postroad import Postroad, Receipt, Send, Settings
from postroad.api.routes import about
from postroad.model.errors import (
    BadDsn,
    BadInput,
    ForeignWindow,
    NoOwner,
    NotPostroad,
    OlderServer,
    Overloaded,
    PostroadError,
    RoadUnreachable,
    Unauthorized,
)
from postroad.remote import client as remote_client
from postroad.remote.road import RemoteRoad
from postroad.stores import window_socket
from tests.api.served import Served
from tests.servers.certificates import certify
from tests.servers.postgres import PrivatePostgres
from tests.servers.proxy import Proxy

ENDS = b"\r\n\r\n"
DONE = b'"done":true'


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits long for what will not come."""
    monkeypatch.setattr(remote_client, "OPEN_S", 0.3)
    monkeypatch.delenv("POSTROAD_TOKEN", raising=False)


async def refusal(dsn: str, token: str = "prt_x") -> Exception:
    with pytest.raises(PostroadError) as raised:
        _ = await Postroad(dsn, token="" if dsn.startswith("road:") else token).__aenter__()
    return raised.value


@contextmanager
def other_server(status: int, body: bytes, *, length: bool = True) -> Iterator[str]:
    """A server that is no Postroad: its address. Without a length its answer ends with the
    connection."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            if length:
                self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


async def test_whatever_is_wrong_at_the_address_has_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Served(tmp_path) as served:
        error = await refusal(served.server.url, "prt_wrong")
        assert isinstance(error, Unauthorized)
        assert "mistyped, revoked or out of date" in str(error)
        monkeypatch.setattr(about, "VERSION", "0.0.9")
        error = await refusal(served.server.url, served.token)
        assert isinstance(error, OlderServer)
        assert "upgrade the server" in str(error)
        monkeypatch.setattr(about, "VERSION", "99.1.0")  # a later one is expected to know us
        async with Postroad(served.server.url, token=served.token):
            pass
    answers = ((200, b"<html>"), (404, b"<html>"), (200, b'{"a": 1}'), (302, b""))
    for (status, body), length in itertools.product(answers, (True, False)):
        with other_server(status, body, length=length) as url:
            error = await refusal(url)
            assert isinstance(error, NotPostroad), (status, error)
            assert url in str(error)
    with other_server(503, b"<html>") as url:  # a proxy whose server is away
        assert isinstance(await refusal(url), RoadUnreachable)
    with socket.socket() as bound:  # and not listening
        bound.bind(("127.0.0.1", 0))
        error = await refusal(f"http://127.0.0.1:{bound.getsockname()[1]}")
    assert isinstance(error, RoadUnreachable)
    assert "refused" in str(error)
    for dsn in ("http://", "http://me:secret@host", "http://host?x=1", "http://host:x", "road:///"):
        with pytest.raises(BadDsn) as bad:
            _ = Postroad(dsn, token="prt_x" if dsn[0] == "h" else "")
        assert "secret" not in str(bad.value)
    with pytest.raises(BadInput, match="POSTROAD_TOKEN"):
        _ = Postroad("http://127.0.0.1:1")
    with pytest.raises(BadInput, match="copy it again"):
        _ = Postroad("http://127.0.0.1:1", token="prt_\n")


async def test_an_older_server_that_lacks_a_request_is_told_apart(tmp_path: Path) -> None:
    async with Served(tmp_path) as served:
        async with Postroad(served.server.url, token=served.token) as far:
            served.server._app._router._plain.pop(("", "v1", "workers"))
            with pytest.raises(OlderServer, match="/v1/workers"):
                _ = await far.workers.list()


async def test_a_window_without_an_owner_or_of_another_user_has_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dsn = f"road:///{tmp_path}/road.db"
    error = await refusal(dsn)
    assert isinstance(error, NoOwner)
    assert "Start that one (`postroad up`" in str(error)
    async with Postroad(f"sqlite:///{tmp_path}/road.db"):
        monkeypatch.setattr(window_socket, "_believed", lambda _road: (-1, -1, -1))
        error = await refusal(dsn)
    assert isinstance(error, ForeignWindow)
    assert "as that user or as root" in str(error)
    async with Postroad(f"sqlite:///{tmp_path}/road.db", settings=Settings(window=False)):
        assert "window=False" in str(await refusal(dsn))


async def test_a_server_with_a_certificate_of_its_own_is_trusted_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cert, key = certify(tmp_path)
    async with Served(tmp_path, tls_cert_file=cert, tls_key_file=key) as served:
        error = await refusal(served.server.url, served.token)
        assert isinstance(error, RoadUnreachable)
        assert "POSTROAD_CA_FILE" in str(error)
        monkeypatch.setenv("POSTROAD_CA_FILE", cert)
        async with Postroad(served.server.url, token=served.token) as far:
            assert isinstance(await far.send("good", 1), Receipt)


@pytest.mark.parametrize("verb", ["send", "send_many", "send_each"])
async def test_a_send_whose_answer_is_lost_is_stored_once(tmp_path: Path, verb: str) -> None:
    async with Served(tmp_path) as served:
        with Proxy(served.server.url) as proxy:
            async with Postroad(proxy.dsn(), token=served.token) as far:
                cut = proxy.cut_after_next(b"lost-in-transit", lambda answer: ENDS in answer)
                sends = [("good", "lost-in-transit"), ("good", 2)]
                if verb == "send":
                    said: list[object] = [await far.send(*sends[0])]
                elif verb == "send_many":
                    said = list(await far.send_many(sends))
                else:
                    said = list(await far.send_each(sends))
                assert cut.is_set()
                assert all(isinstance(one, Receipt) and not one.duplicate for one in said)
        found = (await served.road.messages.list()).messages
        assert {one.id for one in found} == {one.id for one in said if isinstance(one, Receipt)}


@pytest.mark.parametrize("verb", ["send_many", "send_each"])
async def test_one_that_replaces_is_not_sent_again_when_it_may_have_started(
    tmp_path: Path, verb: str
) -> None:
    async with Served(tmp_path) as served:
        with Proxy(served.server.url) as proxy:
            async with Postroad(proxy.dsn(), token=served.token) as far:
                for delay in (0, 600):
                    key = f"lost-in-transit-{delay}"
                    cut = proxy.cut_after_next(key.encode(), lambda answer: ENDS in answer)
                    said = await _said(far, verb, Send("good", 1, replace=key, delay=delay))
                    assert cut.is_set()
                    assert isinstance(said, Receipt if delay else RoadUnreachable)
        found = (await served.road.messages.list()).messages
        assert sorted(one.state for one in found) == ["cancelled", "waiting", "waiting"]


async def _said(far: Postroad, verb: str, send: Send) -> object:
    try:
        return (await getattr(far, verb)([send]))[0]
    except RoadUnreachable as error:
        return error


async def test_one_within_its_time_is_one_from_afar_too(tmp_path: Path) -> None:
    async with Served(tmp_path) as served:
        async with Postroad(served.server.url, token=served.token) as far:
            first = await far.send("good", 1, unique_for=600)
            again = await far.send("good", 1, unique_for=600)
            assert (again.id, again.duplicate) == (first.id, True)
            assert not (await far.send("good", 2, unique_for=600)).duplicate


async def test_from_afar_it_is_told_what_became_of_the_earlier_one(tmp_path: Path) -> None:
    async with Served(tmp_path) as served:
        async with Postroad(served.server.url, token=served.token) as far:
            sent = [await far.send("good", n, replace="k", delay=600) for n in range(2)]
            assert [one.earlier for one in sent] == ["", "replaced"]


async def test_what_is_not_safe_to_repeat_is_told_to_be_in_doubt(tmp_path: Path) -> None:
    async with Served(tmp_path) as served:
        with Proxy(served.server.url) as proxy:
            async with Postroad(proxy.dsn(), token=served.token) as far:
                sent = await far.send("bad", 1)
                await served.road.run(until_idle=True)
                cut = proxy.cut_after_next(b"dead:replay", lambda answer: DONE in answer)
                with pytest.raises(RoadUnreachable, match="check before you repeat it"):
                    _ = await far.dead.replay(ids=[sent.id])
                assert cut.is_set()
        assert (await served.road.explain(sent.id)).state == "waiting"


async def test_a_send_waits_for_a_server_that_is_away_only_so_long(tmp_path: Path) -> None:
    async with Served(tmp_path) as served:
        with Proxy(served.server.url) as proxy:
            async with Postroad(proxy.dsn(), token=served.token) as far:
                assert isinstance(far, RemoteRoad)
                proxy.down()
                waiting = asyncio.ensure_future(far.send("good", 1))
                await asyncio.sleep(0.3)
                proxy.up()
                assert isinstance(await waiting, Receipt)
                proxy.down()
                far._client.patience_s = 0.2
                said = await far.send_each([("good", 1), ("good", 2)])
                assert [type(one) for one in said] == [RoadUnreachable] * 2
                with pytest.raises(RoadUnreachable):
                    _ = await far.send("good", 1)


async def test_a_server_that_is_full_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Served(tmp_path) as served:
        async with Postroad(served.server.url, token=served.token) as far:
            left = [Overloaded("too much"), Overloaded("too much")]
            store = served.server.context.admission.store

            async def full(tenant: str, count: int, work: object) -> object:
                if left:
                    work.close()  # type: ignore[attr-defined]
                    raise left.pop()
                return await store(tenant, count, work)  # type: ignore[arg-type]

            monkeypatch.setattr(served.server.context.admission, "store", full)
            assert isinstance(await far.send("good", 1), Receipt)
            left.extend([Overloaded("too much")])
            assert isinstance((await far.send_each([("good", 1)]))[0], Receipt)


async def test_a_road_on_postgresql_is_sent_to_by_http(
    tmp_path: Path, server: PrivatePostgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    from postroad.model.keyring import new_key
    from postroad.ports.entropy import secret_bytes

    monkeypatch.setenv("POSTROAD_KEYS", new_key("k", secret_bytes))
    async with Served(tmp_path, server.create_road()) as served:
        async with Postroad(served.server.url, token=served.token) as far:
            sent = await far.send("good", {"id": 7})
            await served.road.run(until_idle=True)
            assert (await far.explain(sent.id)).state == "delivered"
            assert served.seen == [{"id": 7}]


OWNER = """
import asyncio, sys
from postroad import Postroad
road = Postroad(sys.argv[1])

@road.handler("good")
async def good(message): ...

async def main():
    async with road:
        print("open", flush=True)
        await road.run()

asyncio.run(main())
"""
SENDER = """
import asyncio, sys
from postroad import Postroad

async def main():
    async with Postroad(sys.argv[1]) as road:
        print("open", flush=True)
        for number in range(int(sys.argv[2])):
            sent = await road.send("good", number)
            print(number, sent.id, sent.duplicate, flush=True)

asyncio.run(main())
"""


def started(program: str, *words: str) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        (sys.executable, "-c", program, *words), stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "open\n"
    return process


def test_what_a_second_process_sends_while_the_owner_is_killed_is_stored_once(
    tmp_path: Path,
) -> None:
    """The sender sees nothing of it but time."""
    file = f"{tmp_path}/road.db"
    count, kills = 120, 3
    owner = started(OWNER, f"sqlite:///{file}")
    sender = started(SENDER, f"road:///{file}", str(count))
    try:
        assert sender.stdout is not None
        told = []
        for number, line in enumerate(sender.stdout, 1):
            told.append(line.split())
            if number % (count // (kills + 1)) == 0 and number < count:
                os.kill(owner.pid, signal.SIGKILL)
                owner.communicate()
                owner = started(OWNER, f"sqlite:///{file}")
        assert sender.wait(60) == 0
    finally:
        for process in (owner, sender):
            process.kill()
            process.communicate()
    assert [int(number) for number, _, _ in told] == list(range(count))
    assert {duplicate for _, _, duplicate in told} == {"False"}

    async def stored() -> list[str]:
        async with Postroad(f"sqlite:///{file}") as road:
            page = await road.messages.list(limit=500)
            return [one.id for one in page.messages]

    found = asyncio.run(stored())
    assert sorted(found) == sorted(number for _, number, _ in told)
