"""Answer rules in every store: whose they are, when they changed, how often they were met."""

from postroad.model.answer_rules import AnswerRule
from postroad.model.ruling import RuleAction
from tests.contract.bench import Bench


def rule(name: str, tenant: str = "default", lasts_s: float = 60) -> AnswerRule:
    return AnswerRule(
        name, "smtp:*", RuleAction.hold_lane, status="421", lasts_s=lasts_s, tenant=tenant
    )


async def test_a_tenants_rules_come_before_those_of_every_tenant(bench: Bench) -> None:
    store = bench.store
    given = [rule("b"), rule("a"), rule("all", "*"), rule("theirs", "other")]
    for one in given:
        await store.put_rule(one, bench.now_ms)
    assert await store.rules_of("default") == [rule("a"), rule("b")]
    assert await store.rules_for("default") == [rule("a"), rule("b"), rule("all", "*")]
    assert await store.rules_for("third") == [rule("all", "*")]
    await bench.reopen()
    assert bench.store is not None
    assert len(await bench.store.rules_for("other")) == 2


async def test_every_change_is_seen_by_the_version(bench: Bench) -> None:
    store, versions = bench.store, []
    for change in (
        store.put_rule(rule("a"), bench.now_ms),
        store.put_rule(rule("a", lasts_s=90), bench.now_ms),
        store.put_rule(rule("b"), bench.now_ms - 5_000),
        store.drop_rule("default", "a"),
        store.put_rule(rule("a"), bench.now_ms),
    ):
        versions.append(await store.rules_version())
        await change
    versions.append(await store.rules_version())
    assert len(set(versions)) == 6
    assert versions[0] == (0, 0)
    assert not await store.drop_rule("other", "a")
    assert not await store.drop_rule("default", "c")


async def test_answers_are_counted_within_their_time_and_no_more_than_needed(bench: Bench) -> None:
    async def hit(lane: int = 1, name: str = "default/a") -> int:
        return await bench.store.rule_hits(name, lane, bench.now_ms, 10_000, 3)

    assert [await hit(), await hit(), await hit(), await hit()] == [1, 2, 3, 3]
    assert (await hit(lane=2), await hit(name="default/b")) == (1, 1)
    await bench.reopen()
    await bench.advance(-60)  # the bench let a minute pass
    assert await hit() == 3
    await bench.advance(10.001)
    assert await hit() == 1
    rows = await bench.rows("select rule from rule_hit")
    assert [tuple(row) for row in rows] == [("default/a",)]  # the others' time is over
