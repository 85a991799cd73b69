"""Suppression lists as a program uses them: entries, files, erasing."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from postroad import Postroad
from postroad.campaigns.reading import BadFile
from postroad.model.errors import BadInput, UnknownSuppression
from postroad.model.suppression import Reason, Suppression

Story = Callable[[Postroad], Awaitable[None]]


def told(folder: Path, story: Story) -> None:
    """Run a story on an open road."""

    async def run() -> None:
        async with Postroad(f"sqlite:///{folder}/road.db") as road:
            await story(road)

    asyncio.run(run())


async def recipients(road: Postroad, **where: str) -> list[str]:
    return [one.recipient for one in (await road.suppressions.list(**where)).suppressions]  # type: ignore[arg-type]


def test_an_entry_is_added_once_shown_and_taken_off(tmp_path: Path) -> None:
    async def story(road: Postroad) -> None:
        lists = road.suppressions
        first = await lists.add("mailto:Ann@Example.COM", note="asked by phone")
        assert (first.recipient, first.reason, first.note) == (
            "Ann@example.com",
            "by_hand",
            "asked by phone",
        )
        assert await lists.add("ANN@example.com", note="later") == first
        await lists.add("ann@example.com", "unsubscribed", campaign="spring", message="cmp_1_2")
        assert len((await lists.list(recipient="ann@EXAMPLE.com")).suppressions) == 2
        assert await lists.remove("ann@example.com", "by_hand") == 1
        with pytest.raises(UnknownSuppression, match="for the reason by_hand"):
            await lists.remove("ann@example.com", "by_hand")
        assert await recipients(road, reason="unsubscribed") == ["ann@example.com"]
        assert await lists.remove("ann@example.com") == 1
        with pytest.raises(BadInput, match="neither a mail address nor a telephone number"):
            await lists.add("nobody")
        with pytest.raises(BadInput, match="there are by_hand, complaint"):
            await lists.add("ann@example.com", "spite")
        with pytest.raises(BadInput, match="after="):
            await lists.list(after="x")

    told(tmp_path, story)


def test_lists_of_tenants_are_apart_and_one_holds_for_all(tmp_path: Path) -> None:
    async def story(road: Postroad) -> None:
        await road.suppressions.add("ann@example.com", tenant="a")
        await road.suppressions.add("all@example.com", tenant="*")
        assert await recipients(road, tenant="a") == ["ann@example.com"]
        assert await recipients(road, tenant="b") == []
        assert await recipients(road, tenant="*") == ["all@example.com"]
        asked = ["ann@example.com", "all@example.com"]
        assert await road.store.suppressed("b", asked) == {"all@example.com": Reason.by_hand}
        assert len(await road.store.suppressed("a", asked)) == 2
        with pytest.raises(UnknownSuppression):
            await road.suppressions.remove("all@example.com", tenant="a")

    told(tmp_path, story)


@pytest.mark.parametrize("form", ["csv", "ndjson"])
def test_what_is_exported_can_be_imported_elsewhere(tmp_path: Path, form: str) -> None:
    async def story(road: Postroad) -> None:
        lists = road.suppressions
        for n in range(501):
            await road.store.suppress(
                [Suppression("default", f"u{n}@example.com", Reason.hard_bounce, 5_000)]
            )
        await lists.add("+6591234567", "complaint", campaign="c", message="m", note='=1+1, "x"\nü')
        file = tmp_path / f"list.{form}"
        file.write_text("".join([piece async for piece in lists.export(form)]), newline="")
        done = await lists.import_(file, form, tenant="b")
        assert (done.rows, done.added, done.invalid) == (502, 502, 0)
        assert (await lists.import_(file, form, tenant="b")).added == 0
        (found,) = (await lists.list(reason="complaint", tenant="b")).suppressions
        (first,) = (await lists.list(reason="complaint")).suppressions
        note = first.note if form == "ndjson" else f"'{first.note}"  # no cell is a formula
        assert (found.recipient, found.at_ms, found.note) == (first.recipient, first.at_ms, note)
        (one,) = (await lists.list(recipient="u7@example.com", tenant="b")).suppressions
        assert (one.reason, one.at_ms) == ("hard_bounce", 5_000)

    told(tmp_path, story)


CSV = "recipient,reason,note\nann@example.com,,x\nnobody,,\nbob@example.com,spite,\nsue@example.com,complaint,\n"
LINES = (
    '{"recipient": "ann@example.com"}\n\n{"recipient": 7}\n{"recipient": "bob@example.com", "reason": "spite"}\n'
    '{"recipient": "sue@example.com", "reason": "complaint", "at": "2026-01-31T12:00:00Z"}\n'
)


@pytest.mark.parametrize(("form", "text"), [("csv", CSV), ("ndjson", LINES)])
def test_a_bad_line_fails_the_import_unless_it_may_be_skipped(
    tmp_path: Path, form: str, text: str
) -> None:
    async def story(road: Postroad) -> None:
        file = tmp_path / "list"
        file.write_text(text)
        with pytest.raises(BadFile, match=r"line \d: .*and 1 more.*nothing was imported") as error:
            await road.suppressions.import_(file, form)
        assert len(error.value.problems) == 2
        assert await recipients(road) == []
        done = await road.suppressions.import_(file, form, skip_invalid=True)
        assert (done.rows, done.added, done.invalid) == (2, 2, 2)
        assert sorted(await recipients(road)) == ["ann@example.com", "sue@example.com"]

    told(tmp_path, story)


def test_a_file_that_is_no_list_is_refused(tmp_path: Path) -> None:
    async def story(road: Postroad) -> None:
        file = tmp_path / "list"
        verbs = road.suppressions
        file.write_text("address\nann@example.com\n")
        with pytest.raises(BadFile, match="no column 'recipient'"):
            await verbs.import_(file)
        file.write_bytes(b'{"recipient": "' + b"a" * 70_000 + b'"}\n')
        with pytest.raises(BadFile, match="65536 bytes"):
            await verbs.import_(file, "ndjson")
        file.write_bytes(b"\xff\xfe\n")
        with pytest.raises(BadFile, match="line 1"):
            await verbs.import_(file, "ndjson")
        file.write_text('{"recipient": "ann@example.com", "at": "yesterday"}\n')
        with pytest.raises(BadFile, match="write it as 2026"):
            await verbs.import_(file, "ndjson")
        with pytest.raises(BadFile, match="cannot be read"):
            await verbs.import_(tmp_path / "none", "ndjson")
        with pytest.raises(BadInput, match="there are csv, ndjson"):
            await verbs.import_(file, "xml")
        verbs.limits = type(verbs.limits)(rows_max=1)
        file.write_text("recipient\nann@example.com\nbob@example.com\n")
        with pytest.raises(BadFile, match="over 1 recipients"):
            await verbs.import_(file)

    told(tmp_path, story)


def test_an_erased_recipient_leaves_a_digest_and_is_still_not_sent_to(tmp_path: Path) -> None:
    async def story(road: Postroad) -> None:
        await road.suppressions.add("Ann@example.com", "complaint", note="about Ann", campaign="c")
        await road.suppressions.add("bob@example.com")
        made = await road.privacy.erase(recipient="mailto:ann@EXAMPLE.com")
        done = await road.privacy.erasure(made.id, wait=20)
        assert done.erased == {"suppression": 1}
        (left,) = (await road.suppressions.list(reason="complaint")).suppressions
        assert left.recipient.startswith("sha256:")
        assert (left.note, left.campaign) == ("", "")
        assert await road.store.suppressed("default", ["ANN@example.com"]) == {
            "ANN@example.com": Reason.complaint
        }
        exported = b"".join(
            [piece async for piece in road.privacy.export(recipient="ann@example.com")]
        )
        assert exported.count(b"\n") == 1
        assert left.recipient.encode() in exported
        # She may come back, and be erased again.
        await road.suppressions.add("ann@example.com", "complaint")
        made = await road.privacy.erase(recipient="ann@example.com")
        await road.privacy.erasure(made.id, wait=20)
        assert len((await road.suppressions.list(recipient="ann@example.com")).suppressions) == 1
        assert await road.suppressions.remove("ann@example.com") == 1

    told(tmp_path, story)
