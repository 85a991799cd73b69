"""Tenants over HTTP: for tokens of every tenant; a tenant's token sees its own, and no other."""

from pathlib import Path

from postroad import Postroad
from postroad.model.tokens import EVERY_TENANT
from tests.api.served import Served
from tests.api.stand import Stand, kind


async def test_only_a_token_of_every_tenant_creates_lists_and_removes(stand: Stand) -> None:
    make = stand.road.tokens.make
    own = (await make("own", tenant="acme", role="admin")).secret
    reads = (await make("reads", tenant=EVERY_TENANT, role="operate")).secret
    for method, path, data in (
        ("POST", "/v1/tenants", {"name": "new"}),
        ("GET", "/v1/tenants", None),
        ("GET", "/v1/tenants/other", None),
        ("PUT", "/v1/tenants/acme/limits", {"queues_max": 9}),
        ("DELETE", "/v1/tenants/acme", None),
    ):
        said = await stand.say(method, path, data, token=own)
        assert (said.status, kind(said)) == (403, "forbidden"), path
        if method != "GET":  # of all tenants, and without the scope
            assert (await stand.say(method, path, data, token=reads)).status == 403
    assert (await stand.say("GET", "/v1/tenants", token=reads)).status == 200
    shown = await stand.say("GET", "/v1/tenants/acme", token=own)
    assert (shown.status, shown.json()["name"], shown.json()["own"]) == (200, "acme", [])


async def test_a_tenant_lives_and_ends_over_http_and_leaves_lines(stand: Stand) -> None:
    given = {"name": "acme", "description": "a customer", "queues_max": 1}
    assert (await stand.say("POST", "/v1/tenants", given)).status == 201
    again = await stand.say("POST", "/v1/tenants", given)
    assert (again.status, kind(again)) == (409, "conflict")
    acme = {"postroad-tenant": "acme"}
    wait = {"queue": "good", "body": 1, "delay": 3_600}
    assert (await stand.say("POST", "/v1/messages", wait, headers=acme)).status == 201
    full = await stand.say("POST", "/v1/messages", {**wait, "queue": "bad"}, headers=acme)
    assert (full.status, kind(full)) == (429, "tenant-full")
    limits = {"queues_max": 2, "lanes_max": None}
    assert (await stand.say("PUT", "/v1/tenants/acme/limits", limits)).json()["own"] == [
        "queues_max"
    ]
    assert (await stand.say("GET", "/v1/tenants/acme")).json()["counts"]["waiting"] == 1
    used = await stand.say("DELETE", "/v1/tenants/acme")
    assert (used.status, kind(used)) == (409, "tenant-in-use")
    begun = await stand.say("DELETE", "/v1/tenants/acme", query={"force": "true"})
    assert begun.status == 202
    path = f"/v1/privacy/erasures/{begun.json()['id']}"
    while (await stand.say("GET", path, query={"wait_s": "40"})).json()["ended_at_ms"] is None:
        pass
    gone = await stand.say("GET", "/v1/tenants/acme")
    assert (gone.status, kind(gone)) == (404, "unknown-tenant")
    lines = (await stand.say("GET", "/v1/audit")).json()["lines"]
    done = {line["verb"]: line["what"] for line in reversed(lines) if line["outcome"] == "done"}
    assert done["tenant_create"] == {"name": "acme", "queues_max": "1"}
    assert done["tenant_limits"] == {"name": "acme", "queues_max": "2", "lanes_max": "None"}
    removed = {"name": "acme", "force": "true", "erasure": str(begun.json()["id"])}
    assert done["tenant_remove"] == removed


async def test_a_remote_road_has_the_same_verbs(tmp_path: Path) -> None:
    async with (
        Served(tmp_path) as served,
        Postroad(served.server.url, token=served.token) as far,
    ):
        made = await far.tenants.create("acme", description="a customer", queues_max=1, lanes_max=5)
        assert made == (await served.road.tenants.list()).tenants[0]
        told = await far.tenants.limits("acme", queues_max=None)
        assert told.own == ("lanes_max",)
        assert await far.tenants.show("acme") == await served.road.tenants.show("acme")
        assert await far.tenants.list(limit=1) == await served.road.tenants.list(limit=1)
        begun = await far.tenants.remove("acme", force=True)
        assert (await far.privacy.erasure(begun.id, tenant=None, wait=120)).is_done
        left = (await served.road.tenants.list()).tenants
        assert "acme" not in [one.name for one in left]
