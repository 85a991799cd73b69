"""Files, templates and messages have bounds; what is beyond them is said, with its place."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from postroad.campaigns.importing import ImportLimits
from postroad.campaigns.reading import BadFile
from tests.campaigns.provider import Provider
from tests.campaigns.stories import local, numbers, prepare, reaches, running, write_csv

Within = Callable[[Any], Any]


def test_a_file_of_too_many_bytes_or_rows_is_refused_and_nothing_of_it_is_kept(
    dsn: str, provider: Provider, tmp_path: Path, within: Within
) -> None:
    file = tmp_path / "people.csv"

    async def story() -> None:
        async with local(dsn) as road:
            road.campaigns.limits = ImportLimits(bytes_max=2_000, rows_max=10)
            await prepare(road, provider, tmp_path, numbers(3))
            await road.campaigns.create("more", credential="main", template="x")
            for count, words in ((11, "over 10 recipients"), (200, "over 2000 bytes")):
                with pytest.raises(BadFile, match=words):
                    await road.campaigns.import_file("more", write_csv(file, numbers(count)))
            await road.campaigns.import_file("more", write_csv(file, numbers(10)))
            assert (await road.campaigns.show("more")).counts.total == 10

    within(story())


def test_a_recipient_whose_message_is_too_long_fails_alone(
    dsn: str, provider: Provider, tmp_path: Path, within: Within
) -> None:
    """And the dry run names it."""
    file = tmp_path / "wide.csv"
    rows = [f"+16000000{n:03d},{'x' * (9_000 if n == 1 else 1)}" for n in range(3)]
    file.write_text("\n".join(["recipient,name", *rows]))

    async def story() -> None:
        async with running(local(dsn)) as road:
            await prepare(road, provider, tmp_path, numbers(1))
            wide = "{% if name == 'x' %}short{% else %}" + "{{ name }}" * 20 + "{% endif %}"
            await road.campaigns.create("wide", credential="main", template=wide)
            await road.campaigns.import_file("wide", file)
            said = await road.campaigns.dry_run("wide")
            assert (said.recipients, said.invalid) == (2, 1)
            assert "over 100000 characters" in said.invalid_rows[0].reason
            await road.campaigns.start("wide")
            counts = (await reaches(road, "done", "wide")).counts
            assert (counts.sent, counts.failed) == (2, 1)
            (failed,) = await road.campaigns.recipients("wide", state="failed")
            assert failed.sub_type == "bad_text"

    within(story())
