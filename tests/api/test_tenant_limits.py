"""Limits of tenants over HTTP."""

from pathlib import Path

from postroad.config import Settings
from postroad.model.tenant_limits import TenantLimits
from tests.api.stand import Stand, kind


async def test_a_tenant_over_its_limit_gets_429_and_others_go_on(tmp_path: Path) -> None:
    settings = Settings(tenants=TenantLimits(queues_max=1))
    async with Stand(tmp_path, settings) as stand:
        first = await stand.say("POST", "/v1/messages", {"queue": "good", "body": 1})
        refused = await stand.say("POST", "/v1/messages", {"queue": "bad", "body": 1})
        assert (first.status, refused.status, kind(refused)) == (201, 429, "tenant-full")
        assert "tenants.queues_max" in refused.json()["detail"]
        assert "retry-after" in refused.headers
        headers = {"postroad-tenant": "another"}
        other = await stand.say(
            "POST", "/v1/messages", {"queue": "bad", "body": 1}, headers=headers
        )
        assert other.status == 201
