"""How many lanes are asked about at once: few while others wait for theirs."""

from types import SimpleNamespace
from typing import Any

from postroad.engine import lane_reader
from postroad.engine.lane_reader import FairQuestions


def lane(tenant: str) -> Any:
    return SimpleNamespace(lane=SimpleNamespace(key=SimpleNamespace(tenant=tenant)))


def ask(asked: FairQuestions[int], tenant: str, count: int) -> None:
    for number in range(count):
        asked.add(lane(tenant), number)


def test_a_tenant_that_is_alone_asks_for_many_lanes_at_once() -> None:
    asked: FairQuestions[int] = FairQuestions()
    ask(asked, "one", 100)
    assert [len(asked.next()) for _ in range(3)] == [lane_reader.AT_ONCE] * 3


def test_in_company_few_lanes_are_asked_about_at_once_and_everybody_is_among_them() -> None:
    asked: FairQuestions[int] = FairQuestions()
    ask(asked, "many", 1_000)
    _ = asked.next()
    ask(asked, "few", 1)
    taken = asked.next()
    assert len(taken) == lane_reader.IN_COMPANY
    assert [each.lane.key.tenant for each, _ in taken].count("few") == 1
    sizes = [len(asked.next()) for _ in range(lane_reader.COMPANY + 2)]
    assert sizes[: lane_reader.COMPANY - 1] == [lane_reader.IN_COMPANY] * (lane_reader.COMPANY - 1)
    assert sizes[-1] == lane_reader.AT_ONCE  # nobody else was there for long
