"""Batches that a stranger makes too large or too deep are refused before they are planned."""

from pathlib import Path
from typing import Any

import pytest

from postroad import Batch, Postroad, Send, chain
from postroad.errors import BadInput
from postroad.model import batch as model
from postroad.verbs.batch_planning import BatchPlanner
from tests.api.stand import Stand

STEP = {"queue": "good", "body": 1}


def nested_chain(depth: int) -> dict[str, Any]:
    """Chains of two steps whose failure sends the next one: each doubles what may follow."""
    found: dict[str, Any] = {"steps": [STEP, STEP]}
    for _ in range(depth):
        found = {"steps": [STEP, STEP], "on_failure": found}
    return found


async def test_chains_that_multiply_are_refused_on_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned: list[Batch] = []
    add = BatchPlanner.add

    def counted(self: BatchPlanner, batch: Batch, *rest: Any) -> int:
        planned.append(batch)
        return add(self, batch, *rest)

    monkeypatch.setattr(BatchPlanner, "add", counted)
    async with Stand(tmp_path) as stand:
        answer = await stand.say("POST", "/v1/batches", nested_chain(40))
        assert answer.status == 400
        assert "send several" in answer.json()["detail"]
        assert len(planned) <= model.NESTED_MAX + 1
        assert (await stand.road.batches.list()).batches == ()
        assert (await stand.say("POST", "/v1/batches", nested_chain(3))).status == 201


@pytest.mark.parametrize(
    ("asked", "what"),
    [
        ({"members": [{"members": []}] * (model.NESTED_MAX + 1)}, "nested batches"),
        ({"members": [{"members": [STEP] * 6_000}] * 2}, "messages"),
    ],
)
async def test_a_request_has_bounds_in_all(
    tmp_path: Path, asked: dict[str, Any], what: str
) -> None:
    async with Stand(tmp_path) as stand:
        answer = await stand.say("POST", "/v1/batches", asked)
        assert answer.status == 400
        assert what in answer.json()["detail"]


async def test_deep_nesting_reads_a_bounded_number_of_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("postroad.api.routes.batches.NESTED_BYTES_MAX", 50_000)
    deep: dict[str, Any] = {"members": [{"queue": "good", "body": "x" * 10_000}]}
    async with Stand(tmp_path) as stand:
        for _ in range(4):
            deep = {"members": [deep]}
        assert (await stand.say("POST", "/v1/batches", deep)).status == 201
        answer = await stand.say("POST", "/v1/batches", {"members": [deep]})
        assert "bytes of nested batches" in answer.json()["detail"]


async def test_programs_have_bounds_too(road: Postroad) -> None:
    @road.handler("work")
    async def work() -> None:
        pass

    with pytest.raises(BadInput, match="messages follow"):
        await road.batch([], then=Batch([("work", 1)] * (model.FOLLOWERS_MAX + 1)))
    with pytest.raises(BadInput, match="batches and steps"):
        await road.batch([Batch([])] * model.NESTED_MAX)
    assert (await road.batches.list()).batches == ()


async def test_batches_over_http_go_through_the_intake(tmp_path: Path) -> None:
    async with Stand(tmp_path) as stand:
        assert (await stand.say("POST", "/v1/batches", {"members": [STEP, STEP]})).status == 201
        shown = (await stand.say("GET", "/metrics")).content.decode()
        assert "postroad_accepted_total 2" in shown
        stand.context.admission.waiting["default"] = 1_000_000
        refused = await stand.say("POST", "/v1/batches", {"members": [STEP]})
        assert refused.status == 503
        assert len((await stand.road.batches.list()).batches) == 1


async def test_an_empty_batch_belongs_to_who_sends_it(road: Postroad, tmp_path: Path) -> None:
    (tmp_path / "served").mkdir()

    @road.handler("work")
    async def work() -> None:
        pass

    empty = await road.batch([Batch([])], tenant="acme")
    assert (await road.batches.get(empty.id, tenant="acme")).tenant == "acme"
    follows = Batch([], on_failure=Send("work", 1, tenant="acme"))
    assert len((await road.batches.put(follows)).id) > 4
    assert {one.tenant for one in (await road.batches.list(tenant="acme")).batches} == {"acme"}
    assert (await road.batches.list()).batches == ()
    with pytest.raises(BadInput, match="one tenant"):
        await road.batches.put(chain([("work", 1)]), tenant="acme")
    async with Stand(tmp_path / "served") as stand:
        asked: dict[str, Any] = {"headers": {"postroad-tenant": "acme"}}
        assert (await stand.say("POST", "/v1/batches", {"members": []}, **asked)).status == 201
        assert len((await stand.road.batches.list(tenant="acme")).batches) == 1
