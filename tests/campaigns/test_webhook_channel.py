"""Campaigns to webhooks: signed, and repeated under the same id where no answer came."""

import asyncio
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from standardwebhooks import Webhook

from postroad.model.credential import CredentialSpec
from tests.campaigns.stories import local, reaches, running, write_csv

SECRET = "whsec_" + "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"
Within = Callable[[Any], Any]


class Receiver:
    """/ok answers 200, /no 500; /hang takes it and hangs up, the first time, /never each time."""

    def __init__(self) -> None:
        self.got: list[tuple[str, dict[str, str], str]] = []

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        pairs = (line.split(": ", 1) for line in head.split("\r\n")[1:-2])
        headers = {name.lower(): value for name, value in pairs}
        body = (await reader.readexactly(int(headers["content-length"]))).decode()
        path = head.split(" ")[1]
        self.got.append((path, headers, body))
        seen = sum(one[0] == path for one in self.got)
        if not ((path.startswith("/hang") and seen == 1) or path.startswith("/never")):
            status = b"500 No" if path.startswith("/no") else b"200 OK"
            writer.write(
                b"HTTP/1.1 " + status + b"\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
            )
        writer.close()


def test_each_address_gets_its_own_signed_message(dsn: str, tmp_path: Path, within: Within) -> None:
    async def story() -> None:
        async with running(local(dsn)) as road, Receiver() as receiver:
            paths = ["/ok1", "/ok2", "/no1", "/hang1"]
            await road.credentials.put("hooks", CredentialSpec(""), SECRET, kind="webhook")
            await road.campaigns.create("c", credential="hooks", template='{"name": "{{ name }}"}')
            people = [receiver.url + path for path in paths] + ["http://127.0.0.1:1/away"]
            await road.campaigns.import_file("c", write_csv(tmp_path / "a.csv", people))
            await road.campaigns.start("c")
            done = await reaches(road, "done")
            assert (done.counts.sent, done.counts.failed, done.counts.uncertain) == (3, 2, 0)
            failed = await road.campaigns.recipients("c", state="failed")
            assert [(one.code, one.sub_type) for one in failed] == [
                ("500", "failed"),
                ("", "unreachable"),
            ]
            for path, headers, body in receiver.got:
                Webhook(SECRET).verify(body, headers)
                assert body == f'{{"name": "Name {paths.index(path)}"}}'
            ids = {
                path: {h["webhook-id"] for p, h, _ in receiver.got if p == path} for path in paths
            }
            assert all(len(each) == 1 for each in ids.values())
            assert Counter(path for path, _, _ in receiver.got) == {
                "/ok1": 1,
                "/ok2": 1,
                "/no1": 1,
                "/hang1": 2,
            }

    within(story())


def test_a_webhook_that_never_answers_is_called_three_times_under_one_id(
    dsn: str, tmp_path: Path, within: Within
) -> None:
    async def story() -> None:
        async with running(local(dsn)) as road, Receiver() as receiver:
            await road.credentials.put("hooks", CredentialSpec(""), SECRET, kind="webhook")
            await road.campaigns.create("c", credential="hooks", template="{{ name }}")
            people = [receiver.url + "/never"]
            await road.campaigns.import_file("c", write_csv(tmp_path / "a.csv", people))
            await road.campaigns.start("c")
            done = await reaches(road, "done")
            assert (done.counts.sent, done.counts.uncertain) == (0, 1)
            assert len(receiver.got) == 3
            assert len({headers["webhook-id"] for _, headers, _ in receiver.got}) == 1

    within(story())
