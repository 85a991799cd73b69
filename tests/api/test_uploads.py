"""A file of recipients over HTTP: streamed, bounded, and taken for a campaign that there is."""

import os
from pathlib import Path

import pytest

from postroad.campaigns.importing import Imported
from tests.api.served import Served


async def test_a_file_over_the_limit_is_refused_and_one_for_nobody_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Served(tmp_path) as stand:
        path, taken = "/v1/campaigns/c/import", []

        monkeypatch.setattr("postroad.api.uploads.UPLOAD_BYTES_MAX", 10_000)

        async def show(_name: str, **_: object) -> None: ...

        async def load(_name: str, file: Path, **_: object) -> Imported:
            taken.append(os.path.getsize(file))  # noqa: ASYNC240, PTH202
            return Imported(1, 0, (), 0, (), "utf-8", guessed=False, columns=(), resumed_at_line=0)

        line = await stand.line()
        line.send(stand.head("POST", path, "Content-Length: 9000"))
        assert (await line.answer())[0] == 404  # before a byte of it came
        monkeypatch.setattr(stand.road.campaigns, "show", show)
        monkeypatch.setattr(stand.road.campaigns, "import_file", load)
        line = await stand.line()
        line.send(stand.head("POST", path, "Content-Length: 10001"))
        status, told = await line.answer()
        assert (status, "10000 bytes" in told["detail"]) == (413, True)
        line = await stand.line()
        line.send(stand.head("POST", path, "Transfer-Encoding: chunked"))
        line.send((b"1000\r\n" + b"x" * 0x1000 + b"\r\n") * 3 + b"0\r\n\r\n")
        assert (await line.answer())[0] == 413
        assert taken == []
        line = await stand.line()
        line.send(stand.head("POST", path, "Content-Length: 10000") + b"x" * 10_000)
        assert (await line.answer())[0] == 200
        assert taken == [10_000]
