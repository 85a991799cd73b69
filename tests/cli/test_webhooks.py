"""`postroad listen` and `postroad keys`: programs of their own, on a real road."""

import asyncio
import json
import os
import re
import subprocess
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from postroad import Postroad
from postroad.cli.receiver import ReceivedRequest, Receiver, ReceiverOptions
from postroad.config import Settings
from postroad.model.keyring import new_key
from postroad.model.webhook import WebhookRules
from postroad.ports.clock import SystemClock, system_chance
from postroad.transports.webhook.signing import Signer, public_key
from postroad.verbs.webhooks import WebhookAdmin
from tests.cli.running import data, postroad, running, start

ONE = "whsec_" + b64encode(b"1" * 24).decode()
TWO = "whsec_" + b64encode(b"2" * 24).decode()
ED = "whsk_" + b64encode(b"3" * 32).decode()
RULES = WebhookRules(allow=("127.0.0.0/8",), http=True, ports=(), timeout_ms=5_000)


class Listening:
    """A receiver that runs."""

    def __init__(self, process: "subprocess.Popen[str]", url: str) -> None:
        self._process = process
        self.url = url

    def heard(self) -> Any:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())


@contextmanager
def listening(folder: Path, *words: str) -> Iterator[Listening]:
    process = start(folder, "listen", "0", "--json", *words)
    try:
        assert process.stderr is not None
        said = process.stderr.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+/", said)
        assert found, said
        yield Listening(process, found[0])
    finally:
        process.kill()
        process.communicate()


def call(folder: Path, url: str, count: int = 1, secret: str = ONE) -> list[str]:
    """Send to it; the outcomes of the first tries."""

    async def story() -> list[str]:
        road = Postroad(
            f"sqlite:///{folder}/road.db", settings=Settings(log_level="error", webhooks=RULES)
        )
        async with road, asyncio.timeout(60):
            await road.webhooks.set(url, secrets=[secret])
            receipts = [await road.send(url, {"n": number}) for number in range(count)]
            running = asyncio.create_task(road.run())
            outcomes = []
            for receipt in receipts:
                while not (log := await road.webhooks.attempts(receipt.id)):
                    await asyncio.sleep(0.02)
                outcomes.append(str(log[0].outcome))
            road.stop()
            await running
            return outcomes

    return asyncio.run(story())


@pytest.mark.parametrize(
    ("known", "verdict"),
    [
        ((TWO, ONE), "verified"),
        ((TWO,), "the signature fits no secret"),
        ((), "not checked"),
    ],
)
def test_listen_verifies_and_tells(tmp_path: Path, known: tuple[str, ...], verdict: str) -> None:
    words = [word for secret in known for word in ("--secret", secret)]
    with listening(tmp_path, *words) as receiver:
        assert call(tmp_path, receiver.url + "hook?a=1") == ["delivered"]
        heard = receiver.heard()
    assert (heard["method"], heard["path"], heard["status"]) == ("POST", "/hook?a=1", 200)
    assert heard["signature"] == verdict
    assert heard["headers"]["webhook-id"].startswith("msg_")


def test_what_comes_before_the_secret_is_known_is_verified_when_it_is() -> None:
    """A road sends to a new endpoint before the command has its answer."""
    heard: list[ReceivedRequest] = []

    async def story() -> None:
        receiver = Receiver(ReceiverOptions(), SystemClock(), system_chance(), heard.append)
        server, port = await receiver.start("127.0.0.1", 0)
        receiver.expect_secret()
        at_s, body = int(SystemClock().now_ms() / 1000), b"{}"
        signed = Signer([ONE]).sign("msg_1", at_s, body)
        async with server:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(
                f"POST / HTTP/1.1\r\ncontent-length: 2\r\nwebhook-id: msg_1\r\nwebhook-timestamp: "
                f"{at_s}\r\nwebhook-signature: {signed}\r\n\r\n".encode()
                + body
            )
            await asyncio.sleep(0.1)
            assert heard == []
            receiver.trust(ONE)
            assert b" 200 " in await reader.readline()
            writer.close()

    asyncio.run(story())
    assert [one.signature for one in heard] == ["verified"]


def test_listen_verifies_with_a_public_key(tmp_path: Path) -> None:
    with listening(tmp_path, "--secret", public_key(ED)) as receiver:
        assert call(tmp_path, receiver.url, secret=ED) == ["delivered"]
        assert receiver.heard()["signature"] == "verified"


@pytest.mark.parametrize(
    ("words", "outcome"),
    [
        (("--status", "429", "--retry-after", "5"), "quota"),
        (("--status", "410"), "rejected"),
        (("--status", "500"), "failed"),
        (("--reset",), "unknown"),
        (("--slow", "60s"), "unknown"),
        (("--slow", "20ms"), "delivered"),
    ],
)
def test_listen_misbehaves_as_it_is_told(
    tmp_path: Path, words: tuple[str, ...], outcome: str
) -> None:
    with listening(tmp_path, *words) as receiver:
        assert call(tmp_path, receiver.url) == [outcome]


def test_listen_fails_for_a_share(tmp_path: Path) -> None:
    with listening(tmp_path, "--fail", "50%") as receiver:
        outcomes = call(tmp_path, receiver.url, count=40)
    assert {"delivered", "failed"} <= set(outcomes)  # a slow machine may cut a try, too


def test_listen_prints_prettily(tmp_path: Path) -> None:
    process = start(tmp_path, "listen", "0", "--secret", ONE)
    try:
        assert process.stderr is not None
        assert process.stdout is not None
        found = re.search(r"http://127\.0\.0\.1:\d+/", process.stderr.readline())
        assert found
        call(tmp_path, found[0])
        assert re.fullmatch(r"200 POST / msg_\w{13} verified\n", process.stdout.readline())
        assert [process.stdout.readline() for _ in range(3)] == ["{\n", '  "n": 0\n', "}\n"]
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(
    "words",
    [
        ("--status", "42"),
        ("--fail", "lots"),
        ("--fail", "120%"),
        ("--slow", "2h"),
        ("--secret", "whsec_x"),
        ("--secret", "whpk_AAAA"),
    ],
)
def test_bad_words_are_refused_with_code_2(words: tuple[str, ...]) -> None:
    result = postroad("listen", "0", *words)
    assert result.exit_code == 2
    assert "postroad:" in result.stderr


# Keys


def sealed_under(path: Path) -> list[str]:
    file = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return [key for (key,) in file.execute("select key from webhook order by queue_id")]
    finally:
        file.close()


async def fill(path: Path, count: int) -> None:
    async with Postroad(f"sqlite:///{path}", settings=Settings(webhooks=RULES)) as road:
        for number in range(count):
            await road.webhooks.set(
                f"http://127.0.0.1:9/{number}", secrets=[ONE], headers={"x-key": f"hush {number}"}
            )


def test_keys_rotate_seals_all_with_the_first_key_and_can_be_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "road.db"
    old, new = (data("keys", "new", name)["key"] for name in ("old", "new"))
    asyncio.run(fill(path, 7))
    (own,) = set(sealed_under(path))  # the key that the road made for itself
    assert own.startswith("own1_")
    monkeypatch.setenv("POSTROAD_KEYS", old)
    words = ("keys", "rotate", "--dsn", f"sqlite:///{path}")
    assert data(*words) == {"key": "old", "sealed": 7}
    monkeypatch.setenv("POSTROAD_KEYS", f"{new},{old}")

    async def stopped_half_way() -> None:
        """The process dies after three rows."""
        async with Postroad(f"sqlite:///{path}", settings=Settings(webhooks=RULES)) as road:
            seals = 0
            real = road.store.write_hook

            async def write(row: Any, was: bytes | None = None) -> bool:
                nonlocal seals
                seals += 1
                if seals > 3:
                    raise asyncio.CancelledError
                return await real(row, was)

            monkeypatch.setattr(road.store, "write_hook", write)
            with pytest.raises(asyncio.CancelledError):
                await road.webhooks.rotate_keys(batch=2)

    asyncio.run(stopped_half_way())
    assert sorted(sealed_under(path)) == ["new"] * 3 + ["old"] * 4
    assert data(*words) == {"key": "new", "sealed": 4}
    assert data(*words) == {"key": "new", "sealed": 0}
    monkeypatch.setenv("POSTROAD_KEYS", new)

    async def read() -> list[Any]:
        async with Postroad(f"sqlite:///{path}", settings=Settings(webhooks=RULES)) as road:
            webhooks: WebhookAdmin = road.webhooks
            return [await webhooks.get(f"http://127.0.0.1:9/{n}") for n in range(7)]

    assert all((facts.secrets, facts.headers) == (1, ("x-key",)) for facts in asyncio.run(read()))


def test_a_secret_moved_to_another_row_does_not_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it says is an outcome that spends no level, and names the cause."""
    monkeypatch.setenv("POSTROAD_KEYS", new_key("k1", os.urandom))
    path = tmp_path / "road.db"
    asyncio.run(fill(path, 2))
    file = apsw.Connection(str(path))
    file.execute("update webhook set sealed = (select sealed from webhook where queue_id = 1)")
    file.close()

    async def story() -> None:
        settings = Settings(log_level="error", webhooks=RULES)
        async with Postroad(f"sqlite:///{path}", settings=settings) as road:
            receipt = await road.send("http://127.0.0.1:9/1", 1)
            running = asyncio.create_task(road.run())
            async with asyncio.timeout(60):
                while not (tries := (await road.explain(receipt.id)).tries):
                    await asyncio.sleep(0.02)
            road.stop()
            await running
            assert tries[0].outcome == "quota"
            assert "moved" in tries[0].error

    asyncio.run(story())


def test_a_server_on_a_database_that_others_reach_refuses_to_start_without_a_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One on SQLite has a key of its own, which it makes."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("POSTROAD_KEYS", raising=False)
    monkeypatch.delenv("POSTROAD_KEYS_FILE", raising=False)
    dsn = "postgresql://127.0.0.1:1/road"
    result = postroad("up", "--dsn", dsn, "--listen", "127.0.0.1:0", "--processes", "1")
    assert result.exit_code == 2
    assert "postroad keys new" in result.stderr
    asyncio.run(fill(tmp_path / "r.db", 1))
    rotated = data("keys", "rotate", "--dsn", f"sqlite:///{tmp_path}/r.db")
    assert (rotated["key"][:5], rotated["sealed"]) == ("own2_", 1)


@pytest.mark.wide
def test_keys_rotate_beside_a_server_that_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It reads its keys again, and goes on with the new one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("POSTROAD_KEYS", raising=False)
    (tmp_path / "road").mkdir()
    path, keys = tmp_path / "road" / "road.db", tmp_path / "keys"
    old, new = (data("keys", "new", name)["key"] for name in ("old", "new"))
    monkeypatch.setenv("POSTROAD_KEYS_FILE", str(keys))
    keys.write_text(old)
    asyncio.run(fill(path, 3))
    with running(tmp_path, "up", "--listen", "127.0.0.1:0") as (_, door):
        keys.write_text(f"{new}\n{old}")
        assert data("keys", "rotate") == {"key": "new", "sealed": 3}
        assert data("keys", "rotate") == {"key": "new", "sealed": 0}
        token = data("token", "make", "theirs", "--tenant", "acme")["secret"]
        (tmp_path / "token").write_text(token)
        words = ("--server", door.url, "--token-file", "token", "--tenant", "acme")
        assert postroad("keys", "rotate", *words).exit_code == 2
    assert sealed_under(path) == ["new"] * 3


def test_a_webhook_is_set_and_shown_by_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("POSTROAD_SECRET", f"{ONE} {TWO}")
    url, more = "http://127.0.0.1:9/hook", ("--set", "webhooks.http=true")
    allow = ("--set", "webhooks.allow=127.0.0.0/8", "--set", "webhooks.ports=9")
    data("migrate")
    called = ("--sign", "--header", "X-Shop=7", "--reject", "418", "--timeout", "3")
    words = (*called, "--keep-bodies", "7d")
    data("webhook", "set", url, *words, *more, *allow)
    shown = data("webhook", "show", url, *more, *allow)
    assert (shown["secrets"], shown["headers"], shown["reject"]) == (2, ["x-shop"], [418])
    assert (shown["timeout_ms"], shown["keep_bodies_ms"]) == (3_000, 7 * 86_400_000)
    with monkeypatch.context() as without:  # who forgets the variable must not stop signing
        without.delenv("POSTROAD_SECRET")
        forgot = postroad("webhook", "set", url, "--sign", *more, *allow)
        assert (forgot.exit_code, "POSTROAD_SECRET is not set" in forgot.stderr) == (2, True)
    text = postroad("webhook", "show", url, *more, *allow).stdout
    assert re.search(r"signing keys +2\n", text)
    assert re.search(r"bodies kept +7 d\n", text)
    assert ONE not in text
    page = data("webhook", "list", *more, *allow)
    assert page == {"webhooks": [shown], "after": ""}
    assert url in postroad("webhook", "list", *more, *allow).stdout
    assert data("webhook", "delete", url) == {"deleted": url}
    assert data("webhook", "list")["webhooks"] == []
    for wrong in (("delete", url), ("delete", ""), ("show", "")):
        assert postroad("webhook", *wrong).exit_code == 2
