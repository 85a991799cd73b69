"""Every query finds what it needs by an index, however much waits beside it."""

import asyncio
import re
from pathlib import Path
from typing import Final

import pytest

from postroad.stores.sqlite.database import QUERIES
from postroad.stores.sqlite.store import SqliteStore
from postroad.stores.sqlite.writer import InlineDrive
from tests.contract.bench import Bench
from tests.contract.blocked import counted, vm_steps_of_claim
from tests.contract.clock import ManualClock
from tests.contract.rigs import SqliteRig

# Queries that may walk a whole table, or sort, each with the reason why that is no harm.
WALKS: Final = {
    "restored_queues": "asked by people, before a restored road runs",
    "restored_running": "no table",
    "restored_seen_at": "the only row is its answer",
    "endpoints_watched": "the walk is over the order groups that are held",
    "restored_totals": "asked by people, before a restored road runs",
    "event_pair": "the only row is its answer",
    "replays_retain": "once an hour, over replays, which people start",
    "replays_running": "over an index of those that run",
    "tenants_own": "the walk is over the names that are asked for",
    "outputs_of_running": "the walk is over the latest reports, which were taken before",
    "feed_leased": "the walk is over the messages that are asked for",
    "endpoints_of": "the walk is over the queues that are asked for",
    "endpoint_held": "the walk is over the messages that are named",
    "endpoint_excess": "the walk is over what it has read",
    "replay_insert": "no table",
    "campaign_move": "the walk is over the states that are named",
    "claim_several": "the only row is its answer",
    "endpoint_write": "the only row is the one that it writes",
    "claim_times": "the walks are over the levels and pools that are asked for",
    "counts": "asked by people, never by the engine",
    "credential_delete": "asked by people, over campaigns",
    "box_find": "the walk is over the names that are asked for",
    "hooks_read": "the walk is over the queues that are asked for",
    "audit_crowded": "once a day, over an index",
    "campaign_goes_by": "the walk is over the channels that are named",
    "erase_attempt": "the walk is over the rows that are named",
    "erase_message_recipient": "the walk is over the rows that are named",
    "erase_named_bodies": "the walk is over the rows that are named",
    "erase_named_keys": "once for each recipient that is erased, over the keys of a day",
    "recipients_any": "it ends at the first row",
    "recipients_of": "the walk is over the rows that are named",
    "erase_audit": "the walk is over the rows that are named",
    "erase_audit_find": "the walk is over one slice",
    "erase_broker_find": "the walk is over one slice",
    "erase_broker_message": "the walk is over the rows that are named",
    "erase_dead": "the walk is over the rows that are named",
    "erase_dead_find": "the walk is over one slice",
    "erase_history": "the walk is over the rows that are named",
    "erase_history_find": "the walk is over one slice",
    "erase_queue_find": "the walk is over one slice",
    "erase_webhook_try": "the walk is over the rows that are named",
    "erasure_retain": "once a day, over erasures",
    "erasures_waiting": "walks a partial index that holds only jobs that are not done",
    "event_types": "all of a road, a thousand at most, when one was changed",
    "export_attempt": "the walk is over one slice",
    "export_audit": "the walk is over one slice",
    "export_dead": "the walk is over one slice",
    "export_history": "the walk is over one slice",
    "export_letter": "the walk is over one slice",
    "export_mailbox": "the walk is over one slice",
    "export_message": "the walk is over one slice",
    "export_queue": "the walk is over one slice",
    "export_suppression_one": "the walk is over the forms of one recipient",
    "export_mail_report_one": "the walk is over the forms of one recipient",
    "report_add": "the only row is what is added",
    "report_soft_bounces": "of one recipient, at most a thousand",
    "reports_retain": "the walk is over the oldest, a slice",
    "export_token": "asked by people, over access tokens",
    "export_webhook": "the walk is over one slice",
    "export_webhook_try": "the walk is over one slice",
    "dead_reasons": "asked by people, never by the engine",
    "dead_trim": "once an hour, and it stops at a slice",
    "forget_idle": "once an hour, over processes",
    "has_campaigns": "stops at what a tenant may have; when a campaign is made",
    "has_imports": "stops at what a tenant may have; when an import begins",
    "has_lanes": "stops at what a tenant may have; every ten seconds while queues are made",
    "has_mailboxes": "stops at what a tenant may have; every ten seconds while some are made",
    "has_endpoints": "stops at 10,000; asked by people",
    "has_letters": "stops at 10,000; asked by people",
    "has_live_campaigns": "stops at 10,000; asked by people",
    "has_waiting": "stops at 10,000; asked by people",
    "tenant_find": "the only row is its answer",
    "tenant_page": "the walk is over the names of the page",
    "has_timetables": "stops at what a tenant may have; when one is made",
    "has_queues": "stops at what a tenant may have; every ten seconds while some are made",
    "recipients_named": "the walk is over the recipients that are named",
    "suppression_add": "the walk is over the entries that are given",
    "suppression_match": "the walk is over the recipients that are asked about",
    "messages_by_state": "asked by people and for metrics, never by the engine",
    "jobs_live": "stops at the first entry of the index of live jobs",
    "jobs_lost": "walks the index of live jobs",
    "jobs_move": "the walk is over the states that are named",
    "jobs_pulse": "the walk is over the jobs that are named",
    "jobs_renew": "the walk is over the jobs that are named",
    "recipient_status": "the walk is over the statuses that are named",
    "lane_backlog": "the walk is over its own count, which stops at a number",
    "lane_rows": "the walks are over the page and its rungs",
    "letter_read": "the walk is over the letters that are asked for",
    "paces_of_key": "the walk is over the limits of one lane",
    "queue_by_id": "whether there is any limit: it stops at the first",
    "others_due": "the walk is over its own count, which stops at a thousand",
    "queue_rows": "the walks are over the page and its rungs",
    "queue_trouble_ids": "over an index of the order groups that are held",
    "messages_looked_up": "the walks are over what was looked up, up to a number",
    "looked_at_all": "the walks stop at a number",
    "dead_looked_up": "from the latest on, and it stops at a number",
    "trouble_looked_up": "the walks are over what was looked up, up to a number",
    "dead_count": "the walk is over its own count, which stops at a number",
    "lane_queue_count": "the walk is over its own count, which stops at a number",
    "endpoint_backlog": "the walk is over its own count, which stops at a number",
    "tallies": "the walk is over its own count, which stops at a number",
    "stored": "the walk is over one slice",
    "spells": "walks a partial index that holds only the queues in a spell",
    "token_page": "asked by people, over access tokens",
    "token_sweep": "when somebody makes a login link, over access tokens",
    "tries_retain": "from the oldest on, and it stops at a slice",
    "rollups": "asked by people, over what it has read",
    "rule_hit": "the walk is over the times of one rule on one lane",
    "rules_version": "walks an index of rules, which people make",
    "workers": "asked by people, over processes",
    "trouble": "asked by people and for metrics, never by the engine",
    "unused_queues": "the walk is over one slice",
    "walk_due": "stops at the first row of a broker",
    "blob_sizes": "the walk is over the contents that are named",
    "blob_touch": "the walk is over the contents that are named",
    "blob_release": "the walk is over the names that are given",
    "blob_use": "the walk is over the uses that are given",
    "erase_blob_of": "the walk is over the messages that are named",
    "erase_blob_use_of": "the walk is over the messages that are named",
    "bodies": "the walk is over the messages that are asked for",
    "export_kept_body": "one slice",
    "export_job_output": "one slice",
    "erase_named_outputs": "the walk is over the rows that are named",
    "export_batch_held": "the walk is over one slice",
    "list_edge_newest": "over so many entries of an index",
    "list_edge_oldest": "over so many entries of an index",
    "list_mark": "the only row is its answer",
    "list_queue_names": "the walk is over the queues that are asked for",
    "list_queues_of_all": "asked by people, over queues",
    "list_rows_broker": "the walk is over the messages that are asked for",
    "list_rows_dead": "the walk is over the messages that are asked for",
    "list_rows_history": "the walk is over the messages that are asked for",
    "list_rows_message": "the walk is over the messages that are asked for",
    "list_rung_newest": "of one page",
    "list_rung_oldest": "of one page",
    "list_rungs": "the walk is over the rungs that are asked for",
    "list_slice": "three rows",
    "unwanted": "walks a partial index that holds only what is to be cancelled",
}
SORTS: Final = {
    "outputs_of_running": "as many as there are on a page",
    "restored_queues": "asked by people, before a restored road runs",
    "tenant_page": "the names of one page",
    "endpoint_excess": "only the queue of a disabled endpoint, every five minutes",
    "endpoint_held_head": "an endpoint has one order group",
    "endpoint_rules": "two rows",
    "endpoints_of": "over the queues that are asked for",
    "export_timetable": "a tenant has a thousand at most",
    "rollups": "asked by people, over at most so many buckets",
    "rule_hit": "the times of one rule on one lane",
    "campaign_exact": "at most four groups, of one campaign",
    "dead_pick_tenant": "over the dead of one tenant",
    "dead_owners": "over processes that have died",
    "campaigns_of_tenant": "asked by people, over one tenant's campaigns",
    "dead_reasons": "asked by people, never by the engine",
    "messages_by_state": "asked by people and for metrics, never by the engine",
    "lane_levels": "at most seven groups, of one lane's rungs",
    "lane_rows": "one page",
    "letter_old": "of what has expired alone",
    "named_limits": "asked by people, at most 200 of a tenant",
    "paces_of_key": "the limits of one lane",
    "paces_of_lane": "the limits of one lane",
    "queue_rows": "one page",
    "queue_trouble_ids": "one page, and the order groups that are held",
    "messages_looked_up": "over what was looked up, up to a number",
    "dead_looked_up": "over so many",
    "tallies": "asked by people, never by the engine",
    "stored": "of one slice, by tenant",
    "suppression_match": "of the recipients that are asked about",
    "suppression_of": "at most five entries of one recipient",
    "report_soft_bounces": "of one recipient, at most a thousand",
    "reports_of": "of one message, at most a hundred",
    "export_mail_report_one": "of one recipient",
    "export_suppression_one": "at most eight entries of one recipient",
    "token_page": "asked by people, over access tokens",
    "export_attachment": "asked by people, over one tenant's attachments",
    "export_kept_body": "one page or slice",
    "export_batch_held": "one slice",
    "list_put": "one page or slice",
    "list_queue_names": "one page or slice",
    "list_rung_newest": "one page or slice",
    "list_rung_oldest": "one page or slice",
    "tries_of": "of one message",
}


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What SQLite will do for each query, on a road without statistics."""
    path = tmp_path_factory.mktemp("plans") / "road.db"
    return asyncio.run(_plans(path))


async def _plans(path: Path) -> dict[str, list[str]]:
    store = SqliteStore(path, ManualClock(), drive=InlineDrive)
    await store.open()
    connection = store._databases[0].connection
    found: dict[str, list[str]] = {}
    for name, sql in QUERIES.items():
        values = [None] * max((int(n) for n in re.findall(r"\?(\d+)", sql)), default=0)
        rows = connection.execute(f"explain query plan {sql}", values).fetchall()
        found[name] = [str(row[3]) for row in rows]
    await store.close()
    return found


@pytest.mark.parametrize("name", sorted(QUERIES))
def test_no_query_walks_a_table_or_sorts(name: str, plans: dict[str, list[str]]) -> None:
    walks = [step for step in plans[name] if step.startswith("SCAN")]
    sorts = [step for step in plans[name] if "TEMP B-TREE" in step]
    assert bool(walks) == (name in WALKS), walks
    assert bool(sorts) == (name in SORTS), sorts


INDEXES: Final = {
    "claim_ready": "COVERING INDEX lane_level_ready (pool=? AND level=? AND ready_at<?)",
    "claim_times": "COVERING INDEX lane_level_ready (pool=? AND level=? AND ready_at>? AND ready_at<?)",
    "claim_take": "INTEGER PRIMARY KEY",
    "claim_hide": "PRIMARY KEY (lane_id=?)",
    "look_due": "INDEX rung_ready (lane_id=? AND ready_at>? AND ready_at<?)",
    "look_next": "COVERING INDEX rung_ready (lane_id=? AND ready_at>?)",
    "fetch_due": "INDEX message_place (rung_id=? AND place>?)",
    "rung_wake": "INTEGER PRIMARY KEY",
    "member_end": "INTEGER PRIMARY KEY",
    "batch_whole": "SEARCH c USING PRIMARY KEY (batch_id=?)",
    "held_release": "INDEX batch_held_batch (batch_id=?)",
    "batches_after": "INDEX batch_after (after=?)",
    "lane_rest": "INDEX rung_ready (lane_id=? AND ready_at<?)",
    "message_delete": "INTEGER PRIMARY KEY",
    "message_move": "INTEGER PRIMARY KEY",
    "expired_messages": "COVERING INDEX message_expiry (expires_at<?)",
    "dead_pick_queue": "INDEX dead_queue_died (queue_id=? AND died_at>? AND died_at<?)",
    "dead_pick_tenant": "INDEX dead_queue_died (queue_id=? AND died_at>? AND died_at<?)",
    "next_expiry": "COVERING INDEX message_expiry",
    "key_find": "PRIMARY KEY (queue_id=? AND key=?)",
    "queue_gate": "INDEX rung_queue (queue_id=?)",
    "spell_messages": "INTEGER PRIMARY KEY (rowid<?)",
    "job_claim": "INDEX job_live (state=?)",
    "jobs_lost": "INDEX job_live",
    "campaigns_over": "INDEX job_live (state=?)",
    "campaigns_due": "INDEX campaign_live (state=?)",
    "campaign_next_start": "INDEX campaign_live (state=?)",
    "keys_retain": "COVERING INDEX idempotency_expiry (expires_at<?)",
}


@pytest.mark.parametrize(("name", "index"), INDEXES.items())
def test_the_hot_path_uses_the_index_made_for_it(
    name: str, index: str, plans: dict[str, list[str]]
) -> None:
    assert any(index in step for step in plans[name]), plans[name]


def test_blocked_messages_cost_a_claim_nothing() -> None:
    few, many = vm_steps_of_claim(1_000), vm_steps_of_claim(100_000)
    assert 0 < many <= 1.1 * few


async def test_the_steps_are_counted_where_there_are_some(tmp_path: Path) -> None:
    # Else the test above would pass by counting nothing.
    rig = SqliteRig(tmp_path, InlineDrive)
    async with Bench(rig) as bench:
        queue = await bench.queue()
        await bench.store.accept([bench.draft(queue) for _ in range(1_000)])
        with counted(rig.store) as steps:
            await bench.counts()
        assert steps.total > 3_000
