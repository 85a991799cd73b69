"""A server that cannot store in time says so, and when to come back."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from postroad.api.admission import IntakeAdmission
from postroad.api.problems import problem
from postroad.model.entities import Accepted, Draft
from postroad.model.errors import Crowded, DiskFull, NotOnRabbitMQ, Overloaded, StoreUnavailable
from postroad.observe.metrics import Meter
from tests.api.stand import Stand, kind


async def test_what_is_not_stored_in_time_is_refused_and_a_key_makes_it_safe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Stand(tmp_path) as stand:
        stand.context.admission = IntakeAdmission(stand.context.meter, 10, 0.2)
        real, go = stand.road.store.accept, asyncio.Event()

        async def slow(drafts: list[Draft]) -> list[Accepted]:
            await go.wait()
            return await real(drafts)

        monkeypatch.setattr(stand.road.store, "accept", slow)
        data = {"queue": "good", "body": 1, "key": "k"}
        late = await stand.say("POST", "/v1/messages", data)
        assert (late.status, kind(late), late.headers["retry-after"]) == (503, "overloaded", "2")
        assert "same key" in late.json()["detail"]
        go.set()
        stand.context.admission = IntakeAdmission(stand.context.meter, 10, 60)
        again = await stand.say("POST", "/v1/messages", data)
        assert again.status == 200  # it was stored after all, and is not sent twice
        assert (await stand.road.store.counts())["waiting"] == 1
        text = (await stand.say("GET", "/metrics")).content
        assert b"postroad_shed_total 1.0" in text


async def test_when_the_room_is_full_nothing_more_waits_and_one_tenant_has_half() -> None:
    admission, go = IntakeAdmission(Meter(), 10, 60), asyncio.Event()

    async def work() -> str:
        await go.wait()
        return "stored"

    first = [asyncio.ensure_future(admission.store("a", 1, work())) for _ in range(5)]
    await asyncio.sleep(0)
    with pytest.raises(Crowded):
        await admission.store("a", 1, work())
    rest = [asyncio.ensure_future(admission.store(str(n), 1, work())) for n in range(5)]
    await asyncio.sleep(0)
    with pytest.raises(Overloaded):
        await admission.store("new", 1, work())
    go.set()
    assert await asyncio.gather(*first, *rest) == ["stored"] * 10
    assert not admission.waiting
    assert await admission.store("a", 50, work()) == "stored"  # one request alone is always let in


@pytest.mark.parametrize("error", [StoreUnavailable("away"), DiskFull("no space left")])
async def test_a_store_that_fails_is_unavailable_and_stores_nothing(
    stand: Stand, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    async def broken(_drafts: Any) -> None:
        raise error

    monkeypatch.setattr(stand.road.store, "accept", broken)
    answer = await stand.say("POST", "/v1/messages", {"queue": "good", "body": 1})
    assert (answer.status, answer.headers["retry-after"]) == (503, "2")
    batch = await stand.say("POST", "/v1/messages:batch", b'{"queue": "good", "body": 1}\n')
    assert b'"status":503' in batch.content
    assert b'"stored":0' in batch.content


async def test_ready_says_what_is_wrong(stand: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (await stand.say("GET", "/healthz", token="")).status == 200
    assert (await stand.say("GET", "/readyz", token="")).json()["status"] == "ok"
    stand.context.delivers = True
    stopped = await stand.say("GET", "/readyz", token="")
    assert (stopped.status, stopped.json()["parts"]["engine"]) == (503, "stopped")

    async def away(_identity: str) -> None:
        raise StoreUnavailable("postgresql://user:hunter2@db is away")

    monkeypatch.setattr(stand.road.store, "token_find", away)
    broken = await stand.say("GET", "/readyz", token="")
    assert broken.json()["parts"]["store"] == "StoreUnavailable"
    assert b"hunter2" not in broken.content


async def test_a_store_without_room_is_not_ready_until_it_has_some(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(*_: object) -> None:
        raise DiskFull("no space left")

    async def state() -> tuple[int, str]:
        said = await stand.say("GET", "/readyz", token="")
        return said.status, said.json()["parts"]["store"]

    data = {"queue": "good", "body": 1}
    for path, sent in (
        ("/v1/messages", data),
        ("/v1/messages:batch", b'{"queue":"good","body":1}'),
    ):
        with monkeypatch.context() as disk:
            disk.setattr(stand.road.store, "accept", full)
            disk.setattr(stand.road.store, "beat", full)
            await stand.say("POST", path, sent)
            assert await state() == (503, "DiskFull")
            monkeypatch.setattr("postroad.api.admission.FULL_S", 0.0)
            assert await state() == (503, "DiskFull")  # a write says so itself
        assert await state() == (200, "ok")
        monkeypatch.undo()


async def test_on_rabbitmq_nobody_is_told_to_send_a_key() -> None:
    admission = IntakeAdmission(Meter(), 10, 0.01, keyed=False)
    with pytest.raises(Overloaded, match="may arrive twice, since a road on RabbitMQ takes no key"):
        await admission.store("a", 1, asyncio.sleep(3600))


def test_the_title_of_a_problem_spells_names_right() -> None:
    assert problem(NotOnRabbitMQ("x")).title == "Not on RabbitMQ"
