"""Files of recipients: what is taken, what is refused with line and reason, and resuming."""

import csv
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from postroad import Postroad
from postroad.campaigns import importing, reading
from postroad.campaigns.reading import BadFile
from postroad.model.campaign import BadTemplate, WrongState
from tests.campaigns.provider import ROOT, TOKEN, Provider
from tests.campaigns.stories import local, numbers, write_csv

Within = Callable[[Any], Any]

BAD = {
    "an unclosed quote": (b'recipient,name\n+6591234567,"Ann\n', "line 2: broken CSV"),
    "too few cells": (b"recipient,name\n+6591234567,Ann\n+6591234568\n", "line 3: 1 cells, but 2"),
    "no telephone number": (
        b"recipient,name\nhello,Ann\n",
        "line 2: column 'recipient': 'hello' is no",
    ),
    "a formula": (
        b"recipient,name\n+6591234567,=1+2\n",
        "line 2: column 'name': '=1\\+2' is a formula",
    ),
    "a call in a cell": (b"recipient,name\n+6591234567,@SUM(A1)\n", "line 2: column 'name'"),
    "no column for recipients": (b"phone,name\n+6591234567,Ann\n", "line 1: no column 'recipient'"),
    "a column twice": (
        b"recipient,name,name\n+6591234567,A,B\n",
        "line 1: the column 'name' is there twice",
    ),
    "a column without a name": (b"recipient,\n+6591234567,A\n", "line 1: a column has no name"),
    "nothing": (b"", "is empty"),
    "only a header": (b"recipient,name\n", "has no recipients"),
    "zero bytes": (b"recipient,name\n+659123\x004567,A\n", "NUL bytes"),
    "an unknown letter of Windows": (
        b"recipient,name\n+6591234567,\x81\n",
        "line 2: not readable as cp1252",
    ),
}


async def make(road: Postroad, provider: Provider, template: str = "Hi {{ name }}") -> None:
    await road.credentials.put("main", provider.spec(), TOKEN)
    await road.campaigns.create("c", credential="main", template=template)


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_file_is_refused_with_line_and_reason_and_nothing_is_imported(
    kind: str, provider: Provider, tmp_path: Path, within: Within
) -> None:
    content, reason = BAD[kind]
    path = tmp_path / "people.csv"
    path.write_bytes(content)

    async def story() -> None:
        async with local(f"sqlite:///{tmp_path}/road.db") as road:
            await make(road, provider)
            with pytest.raises(BadFile, match=reason):
                await road.campaigns.import_file("c", path)
            assert (await road.campaigns.exact("c")).total == 0
            with pytest.raises(WrongState, match="no recipients"):
                await road.campaigns.start("c")

    within(story())


@pytest.mark.parametrize("kind", ["an unclosed quote", "an unknown letter of Windows"])
def test_a_file_that_cannot_be_read_to_its_end_is_refused_even_when_lines_may_be_skipped(
    kind: str, provider: Provider, tmp_path: Path, within: Within
) -> None:
    content, reason = BAD[kind]
    path = tmp_path / "people.csv"
    path.write_bytes(content.replace(b"\n", b"\n+6591234569,Bob\n", 1))

    async def story() -> None:
        async with local(f"sqlite:///{tmp_path}/road.db") as road:
            await make(road, provider)
            with pytest.raises(BadFile, match=reason.replace("line 2", "line 3")):
                await road.campaigns.import_file("c", path, skip_invalid=True)
            assert (await road.campaigns.exact("c")).total == 0

    within(story())


def test_cells_are_kept_as_they_are(
    dsn: str, provider: Provider, tmp_path: Path, within: Within
) -> None:
    names = [
        "a\\b",
        "tab\there",
        'say "hi"',
        "two\nlines",
        "c:\\new\\.",
        "\\N",
        "naïve 🚚",
        "x\r\ny",
    ]
    path = tmp_path / "people.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = zip(numbers(len(names)), names, strict=True)
        csv.writer(file).writerows([("recipient", "name"), *rows])

    async def story() -> None:
        async with local(dsn) as road:
            await make(road, provider, "{{ name }}")
            await road.campaigns.import_file("c", path)
            found = [await road.campaigns.preview("c", n + 1) for n in range(len(names))]
            assert [one.text for one in found] == names

    within(story())


@pytest.mark.parametrize(
    ("encoded", "said", "guessed"),
    [
        ("utf-8", "utf-8", 0),
        ("utf-8-sig", "utf-8-sig", 0),
        ("utf-16", "utf-16", 0),
        ("cp1252", "cp1252", 1),
    ],
)
def test_the_encoding_is_found_and_said(
    encoded: str,
    said: str,
    guessed: int,
    provider: Provider,
    tmp_path: Path,
    within: Within,
) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes("recipient;name\r\n+65 9123-4567;Zoë\r\n".encode(encoded))

    async def story() -> None:
        async with local(f"sqlite:///{tmp_path}/road.db") as road:
            await make(road, provider)
            imported = await road.campaigns.import_file("c", path)
            assert (imported.encoding, imported.guessed, imported.rows) == (said, guessed, 1)
            letter = await road.campaigns.preview("c")
            assert (letter.recipient, letter.text) == ("+6591234567", "Hi Zoë")

    within(story())


def test_duplicates_are_reported_by_line_and_taken_once(
    dsn: str, provider: Provider, tmp_path: Path, within: Within
) -> None:
    first = write_csv(tmp_path / "a.csv", ["+6591234567", "+6591234568", "+65 9123 4567"])
    second = write_csv(tmp_path / "b.csv", ["+6591234569", "6591234568"])

    async def story() -> None:
        async with local(dsn) as road:
            await make(road, provider)
            imported = await road.campaigns.import_file("c", first)
            assert (imported.rows, imported.duplicates, imported.duplicate_lines) == (2, 1, (4,))
            imported = await road.campaigns.import_file("c", second)
            assert (imported.rows, imported.duplicates, imported.duplicate_lines) == (1, 1, (3,))
            found = await road.campaigns.recipients("c")
            assert [(one.n, one.line) for one in found] == [(1, 2), (2, 3), (3, 2)]
            assert (await road.campaigns.exact("c")).total == 3

    within(story())


def test_invalid_lines_can_be_skipped_and_are_reported(
    dsn: str, provider: Provider, tmp_path: Path, within: Within
) -> None:
    path = write_csv(tmp_path / "a.csv", ["+6591234567", "nobody", "+6591234568"])

    async def story() -> None:
        async with local(dsn) as road:
            await make(road, provider)
            imported = await road.campaigns.import_file("c", path, skip_invalid=True)
            assert (imported.rows, imported.invalid) == (2, 1)
            assert imported.problems[0].line == 3

    within(story())


def test_a_template_that_asks_for_what_is_not_there_is_refused_at_the_import(
    dsn: str, provider: Provider, tmp_path: Path, within: Within
) -> None:
    path = write_csv(tmp_path / "a.csv", ["+6591234567"])

    async def story() -> None:
        async with local(dsn) as road:
            await make(road, provider, "Hi {{ name }},\n{{ nmae }} {{ amount }}")
            says = (
                r"template line 2: there is no column 'nmae' \(nor amount\): did you mean 'name'\?; "
                "the columns are: recipient, name"
            )
            with pytest.raises(BadTemplate, match=says):
                await road.campaigns.import_file("c", path)
            assert (await road.campaigns.show("c")).counts.total == 0
            await road.campaigns.edit("c", template="Hi {{ name }}")
            await road.campaigns.import_file("c", path)

    within(story())


def test_an_import_that_was_killed_goes_on_where_it_was(
    dsn: str, provider: Provider, tmp_path: Path, within: Within
) -> None:
    path = write_csv(tmp_path / "many.csv", numbers(60_000))
    other = write_csv(tmp_path / "other.csv", numbers(3, "+1700"))

    async def prepare() -> None:
        async with local(dsn) as road:
            await make(road, provider)

    async def go_on() -> None:
        async with local(dsn) as road:
            with pytest.raises(WrongState, match="stands at line"):
                await road.campaigns.start("c")
            with pytest.raises(WrongState, match="another file"):
                await road.campaigns.import_file("c", other)
            imported = await road.campaigns.import_file("c", path)
            assert 0 < imported.resumed_at_line < 60_000
            assert (imported.rows, imported.duplicates) == (60_000, 0)
            assert (await road.campaigns.exact("c")).total == 60_000

    within(prepare())
    kill_in_mid_import(dsn, path)
    within(go_on())


def kill_in_mid_import(dsn: str, path: Path) -> None:
    """A process that imports is killed when it has loaded some."""
    script = (
        "import asyncio, sys\nfrom postroad import Postroad\n"
        "def told(step, done, size):\n    sys.stdout.write(step + '\\n'); sys.stdout.flush()\n"
        "async def main():\n    async with Postroad(sys.argv[1]) as road:\n"
        "        await road.campaigns.import_file('c', sys.argv[2], progress=told)\n"
        "asyncio.run(main())"
    )
    command = [sys.executable, "-c", script, dsn, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.strip() == "load":
                os.kill(process.pid, signal.SIGKILL)
                break
    assert process.returncode == -signal.SIGKILL


def in_batches_of(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "BATCH", size)
    monkeypatch.setattr(importing, "LOAD", size)


def test_an_unfinished_import_can_be_discarded_whole(
    dsn: str, provider: Provider, tmp_path: Path, within: Within, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_csv(tmp_path / "a.csv", numbers(50))
    in_batches_of(20, monkeypatch)

    async def story() -> None:
        async with local(dsn) as road:
            await make(road, provider)
            await road.campaigns.import_file(
                "c", write_csv(tmp_path / "b.csv", numbers(5, "+1700"))
            )
            store = road.campaign_service.store
            load, calls = store.load, 0

            async def failing(*values: Any) -> list[int]:
                nonlocal calls
                calls += 1
                if calls == 2:
                    raise OSError("the machine went away")
                return await load(*values)

            monkeypatch.setattr(store, "load", failing)
            with pytest.raises(OSError, match="went away"):
                await road.campaigns.import_file("c", path)
            assert (await road.campaigns.exact("c")).total == 25
            await road.campaigns.discard_import("c")
            assert (await road.campaigns.exact("c")).total == 5

    within(story())
