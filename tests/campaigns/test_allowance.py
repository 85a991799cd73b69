"""A tenant has as many campaigns and imports under way as it may, and no more."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from postroad import Postroad
from postroad.model.errors import TenantFull
from postroad.model.tenant_limits import TenantLimits
from postroad.ports.campaigns import Import
from tests.campaigns.provider import Provider
from tests.campaigns.stories import LOCAL, numbers, prepare, write_csv


def test_a_campaign_or_an_import_too_many_is_refused(
    dsn: str, provider: Provider, tmp_path: Path, within: Callable[[Any], Any]
) -> None:
    limits = TenantLimits(campaigns_max=2, imports_max=1)

    async def story() -> None:
        async with Postroad(dsn, settings=replace(LOCAL, tenants=limits)) as road:
            await prepare(road, provider, tmp_path, numbers(1))
            await road.campaigns.create("second", credential="main", template="Hello")
            with pytest.raises(TenantFull, match="'default' has 2 campaigns"):
                await road.campaigns.create("third", credential="main", template="Hello")
            begun = await road.campaign_service.store.open_import(
                Import(1, "digest", ("recipient", "name"))
            )
            more = write_csv(tmp_path / "more.csv", numbers(3, "+1700"))
            with pytest.raises(TenantFull, match=r"1 imports.*--imports-max"):
                await road.campaigns.import_file("second", more)
            assert begun.line == 0
            await road.campaigns.discard_import("c")
            assert (await road.campaigns.import_file("second", more)).rows == 3

    within(story())
