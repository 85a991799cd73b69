"""Timetables from elsewhere: over HTTP and a local socket, without `await`, and by commands."""

from pathlib import Path

import pytest

from postroad import Message, sync
from postroad.errors import BadInput, DeclaredInCode, UnknownTimetable
from postroad.model.audit import AuditLine
from postroad.verbs.timetable_facts import Timetable
from tests.api.stand import Stand
from tests.remote.test_verbs import roads


@pytest.mark.parametrize("how", ["http", "window"])
async def test_a_remote_road_has_timetables(tmp_path: Path, how: str) -> None:
    async with roads(tmp_path, how) as (near, far, _):
        got: list[object] = []

        @near.handler("work")
        async def work(message: Message) -> None:
            got.append(message.body)

        made = await far.timetables.create("a/b", "work", {"n": None}, cron="0 9 * * *")
        assert isinstance(made, Timetable)
        assert (made.when, made.body) == ("at 09:00 every day UTC", {"n": None})
        changed = await far.timetables.change("a/b", every=90, body=None)
        assert (changed.every_s, changed.body, changed.queue) == (90.0, None, "work")
        assert (await far.timetables.pause("a/b")).paused
        assert not (await far.timetables.resume("a/b")).paused
        sent = await far.timetables.run_now("a/b")
        await near.run(until_idle=True)
        assert (got, sent.queue) == ([None], "work")
        (listed,) = (await far.timetables.list()).timetables
        assert listed.name == "a/b"
        await far.timetables.delete("a/b")
        with pytest.raises(UnknownTimetable):
            await far.timetables.show("a/b")
        with pytest.raises(BadInput, match="one of them"):
            await far.timetables.create("it", "work", 1)


@pytest.mark.parametrize("how", ["near", "http", "window"])
@pytest.mark.parametrize("body", [b"\x00\xff", b"", b'{"n": 1}', "text"])
async def test_bytes_and_texts_are_sent_as_they_were_given(
    tmp_path: Path, how: str, body: bytes | str
) -> None:
    async with roads(tmp_path, "http" if how == "near" else how) as (near, far, _):
        got: list[object] = []

        @near.handler("raw")
        async def raw(message: Message[bytes]) -> None:
            got.append(message.body)

        @near.handler("words")
        async def words(message: Message[str]) -> None:
            got.append(message.body)

        road = near if how == "near" else far
        queue = "raw" if isinstance(body, bytes) else "words"
        made = await road.timetables.create("it", queue, None, every=3_600)
        made = await road.timetables.change("it", body=body)
        assert (made.body, made.body_base64, made.queue) == (body, None, queue)
        shown = await road.timetables.show("it")
        assert shown == made
        again = await road.timetables.change("it", body=shown.body)
        assert again.changed_at_ms == made.changed_at_ms  # nothing is different
        await road.timetables.run_now("it")
        await near.run(until_idle=True)
        assert got == [body]


async def test_what_is_shown_over_http_may_be_given_back(tmp_path: Path) -> None:
    async with Stand(tmp_path) as stand:
        path, fields = "/v1/timetables", ("queue", "body", "body_base64", "cron", "every_s", "zone")
        bodies: list[dict[str, object]] = [{"body": [1]}, {"body_base64": "AP8="}, {"body": None}]
        for number, given in enumerate(bodies):
            asked = {"name": f"it{number}", "queue": "good", "every_s": 60, **given}
            made = await stand.say("POST", path, asked)
            assert made.status == 201
            shown = {name: made.json()[name] for name in fields}
            assert shown.items() >= given.items()
            back = await stand.say("PATCH", f"{path}/it{number}", shown)
            assert {name: back.json()[name] for name in fields} == shown
            copied = await stand.say("POST", path, {"name": f"copy{number}", **shown})
            assert {name: copied.json()[name] for name in fields} == shown
        wrong: list[tuple[dict[str, object], str]] = [
            ({"body": 1, "body_base64": "AA=="}, "one of them"),
            ({"body_base64": "?"}, "not base64"),
            ({}, "give what it sends"),
        ]
        for given, says in wrong:
            asked = {"name": "bad", "queue": "good", "every_s": 60, **given}
            refused = await stand.say("POST", path, asked)
            assert (refused.status, says in refused.json()["detail"]) == (400, True)


def test_timetables_without_await(tmp_path: Path) -> None:
    with sync.Postroad(f"sqlite:///{tmp_path}/road.db") as road:

        @road.handler("work")
        def work(message: Message) -> None: ...

        @road.every("0 0 1 1 *", name="yearly")
        def yearly() -> None: ...

        road.timetables.create("it", "work", 1, every=3_600)
        road.run(until_idle=True)
        assert {one.name: one.origin for one in road.timetables.list().timetables} == {
            "it": "made",
            "yearly": "code",
        }
        with pytest.raises(DeclaredInCode):
            road.timetables.delete("yearly")
        assert road.timetables.show("it").next_ms
        assert road.timetables.change("it", missed="all").missed == "all"
        assert road.timetables.pause("it").paused
        assert not road.timetables.resume("it").paused
        assert road.timetables.run_now("it").queue == "work"
        road.timetables.delete("it")


async def test_scopes_hide_bodies_and_changes_are_audited(tmp_path: Path) -> None:
    async with Stand(tmp_path) as stand:
        secret = (await stand.road.tokens.make("look", scopes=["read"])).secret
        asked = {"name": "it", "queue": "good", "body": {"secret": 1}, "every_s": 60}
        assert (await stand.say("POST", "/v1/timetables", asked, token=secret)).status == 403
        assert (await stand.say("POST", "/v1/timetables", asked)).status == 201
        shown = (await stand.say("GET", "/v1/timetables/it", token=secret)).json()
        assert (shown["body"], "scope 'bodies'" in shown["hidden"]) == (None, True)
        assert (await stand.say("POST", "/v1/timetables/it/run", token=secret)).status == 403
        assert (await stand.say("POST", "/v1/timetables/it/run")).status == 201
        assert (await stand.say("DELETE", "/v1/timetables/it")).status == 204
        gone = await stand.say("POST", "/v1/timetables/it/pause")
        assert (gone.status, gone.json()["type"]) == (404, "urn:postroad:problem:unknown-timetable")
        lines: list[AuditLine] = list((await stand.road.audit.list()).lines)
        verbs = {line.verb for line in lines}
        assert {"timetable_create", "timetable_run", "timetable_delete"} <= verbs
