"""The unsubscribe page: a link changes nothing by being followed, and everything by one click."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from postroad.api.unsubscribe_page import read_words
from postroad.config import Settings
from postroad.model.errors import BadSetting
from postroad.model.mail_links import MailLinks
from postroad.remote.api_request import ApiAnswer
from tests.api.stand import Stand

FORM = b"List-Unsubscribe=One-Click"
ANN = "ann+<b>@example.com".replace("<b>", "b")


def told(folder: Path, story: Any, settings: Settings | None = None) -> None:
    async def run() -> None:
        async with Stand(folder, settings) as stand:
            await story(stand)

    asyncio.run(run())


def token(stand: Stand, recipient: str = ANN, tenant: str = "acme") -> str:
    links = MailLinks(stand.road.keys, "https://road.example.com")
    return links.unsubscribe_url(tenant, "cmp_7_12", recipient).partition("?t=")[2]


async def page(stand: Stand, method: str, t: str, data: bytes | None = None) -> ApiAnswer:
    headers = {"content-type": "application/x-www-form-urlencoded"}
    return await stand.say(method, "/unsubscribe", data, token="", query={"t": t}, headers=headers)


async def listed(stand: Stand) -> list[tuple[str, str, str]]:
    found = (await stand.road.suppressions.list(tenant="acme")).suppressions
    return [(one.recipient, one.reason, one.message) for one in found]


def test_following_the_link_changes_nothing_and_one_click_unsubscribes_once(tmp_path: Path) -> None:
    async def story(stand: Stand) -> None:
        link = token(stand)
        for method in ("GET", "HEAD", "GET"):
            assert (await page(stand, method, link)).status == 200
        assert await listed(stand) == []
        shown = await page(stand, "GET", link)
        assert b'<form method="post">' in shown.content
        assert b"<script" not in shown.content
        assert ANN.encode() in shown.content
        wrong = await page(stand, "POST", link, b"something=else")
        assert (wrong.status, await listed(stand)) == (400, [])
        for _ in range(3):
            done = await page(stand, "POST", link, FORM)
            assert done.status == 200
            assert b"no more mail" in done.content
        assert await listed(stand) == [(ANN, "unsubscribed", "cmp_7_12")]
        parts = b'--x\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--x--'
        other = token(stand, "bob@example.com")
        assert (await page(stand, "POST", other, parts)).status == 200
        assert len(await listed(stand)) == 2

    told(tmp_path, story)


def test_the_page_gives_nothing_away(tmp_path: Path) -> None:
    async def story(stand: Stand) -> None:
        link = token(stand, "<script>@example.com")
        answer = await page(stand, "GET", link)
        assert answer.headers["referrer-policy"] == "same-origin"
        assert answer.headers["cache-control"] == "no-store"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert "form-action 'self'" in answer.headers["content-security-policy"]
        assert link.encode() not in answer.content
        assert b"<script" not in answer.content

    told(tmp_path, story)


def test_every_link_that_is_not_ours_gets_the_same_answer_and_few_of_them(tmp_path: Path) -> None:
    async def story(stand: Stand) -> None:
        link = token(stand)
        bad = ["", "x", link[:-2], link[:40], "ü", link.swapcase()]
        answers = [await page(stand, "GET", each) for each in bad]
        answers += [await page(stand, "POST", bad[2], FORM)]
        assert {(each.status, each.content) for each in answers} == {(404, answers[0].content)}
        assert await listed(stand) == []
        assert [(await page(stand, "GET", "x")).status for _ in range(5)][-1] == 429
        assert (await page(stand, "POST", link, FORM)).status == 200, "honest ones are served"
        assert [(await page(stand, "POST", link, FORM)).status for _ in range(10)][-1] == 429

    told(tmp_path, story)


def test_the_page_is_in_the_operators_words(tmp_path: Path) -> None:
    file = tmp_path / "words.toml"
    file.write_text('title = "Abmelden"\nquestion = "Keine Post mehr an {recipient}? <b>"\n')

    async def story(stand: Stand) -> None:
        shown = (await page(stand, "GET", token(stand))).content.decode()
        assert "<title>Abmelden</title>" in shown
        assert f"Keine Post mehr an <b>{ANN}</b>? &lt;b&gt;" in shown

    told(tmp_path, story, Settings(unsubscribe_page=str(file)))
    file.write_text('titel = "x"\n')
    with pytest.raises(BadSetting, match="unsubscribe_page"):
        read_words(str(file))
    with pytest.raises(BadSetting, match="cannot read"):
        read_words(str(tmp_path / "none"))
