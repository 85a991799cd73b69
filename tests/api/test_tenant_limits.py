"""Limits of tenants over HTTP."""

from pathlib import Path

from postroad.config import Settings
from postroad.model.tenant_limits import TenantLimits
from tests.api.stand import Stand, kind


async def test_a_tenant_over_its_limit_gets_429_and_others_go_on(tmp_path: Path) -> None:
    settings = Settings(tenants=TenantLimits(queues_max=1))
    async with Stand(tmp_path, settings) as stand:
        shop, other = {"postroad-tenant": "shop"}, {"postroad-tenant": "other"}
        good, bad = {"queue": "good", "body": 1}, {"queue": "bad", "body": 1}
        first = await stand.say("POST", "/v1/messages", good, headers=shop)
        refused = await stand.say("POST", "/v1/messages", bad, headers=shop)
        assert (first.status, refused.status, kind(refused)) == (201, 429, "tenant-full")
        assert "--queues-max" in refused.json()["detail"]
        assert "retry-after" in refused.headers
        assert (await stand.say("POST", "/v1/messages", bad, headers=other)).status == 201
