"""Files that come: one that finds no room is refused by name, and none stays behind a killed server."""

import fcntl
import os
import socket
import tempfile
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.api.served import Served
from tests.cli.running import WAIT_S
from tests.contract.small_disk import small_disk
from tests.dashboard.site import Site
from tests.servers import free_port

PATH = "/v1/suppressions:import"


async def test_a_full_disk_for_uploads_is_told_as_such_and_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "disk").mkdir()
    content = b"recipient\n" + b"".join(b"a%07d@example.com\n" % n for n in range(20_000))
    with small_disk(tmp_path / "disk") as disk:
        monkeypatch.setattr(tempfile, "tempdir", str(disk.folder))
        async with Served(tmp_path) as stand:

            async def sent() -> tuple[int, dict[str, object]]:
                line = await stand.line()
                line.send(stand.head("POST", PATH, f"Content-Length: {len(content)}") + content)
                return await line.answer()

            disk.keep_free(64)
            status, told = await sent()
            assert (status, told["type"]) == (503, "urn:postroad:problem:disk-full"), told
            assert "set TMPDIR" in str(told["detail"])
            assert not stand.context.uploads.taken
            disk.make_room()
            status, told = await sent()
            assert (status, told["added"]) == (200, 20_000), told


@pytest.mark.wide
def test_what_a_killed_server_was_sent_is_deleted_by_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uploads = tmp_path / "uploads"
    uploads.mkdir()
    monkeypatch.setenv("TMPDIR", str(uploads))
    port = free_port()
    site = Site(tmp_path, port)
    with site.up() as process, closing(socket.create_connection(("127.0.0.1", port))) as line:
        secret = site.ask("POST", "/v1/tokens", {"name": "t", "tenant": "*"})["secret"]
        head = (f"POST {PATH} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {secret}")
        content = b"recipient\nada@example.com\n" * 5_000
        line.sendall("\r\n".join((*head, "Content-Length: 1000000\r\n\r\n")).encode() + content)
        until = time.monotonic() + WAIT_S
        while not any(each.stat().st_size for each in uploads.glob("*/*")):
            assert time.monotonic() < until
            time.sleep(0.02)
        process.kill()
        process.wait(WAIT_S)
    (left,) = uploads.iterdir()
    others, new = uploads / "postroad-upload-others", uploads / "postroad-upload-new"
    for folder in (others, new):
        folder.mkdir()
    for folder in (left, others):
        os.utime(folder, (0, time.time() - 120))
    number = os.open(others, os.O_RDONLY)
    try:
        fcntl.flock(number, fcntl.LOCK_EX)  # as a server that runs beside it
        with site.up():
            assert {each.name for each in uploads.iterdir()} == {others.name, new.name}
    finally:
        os.close(number)
