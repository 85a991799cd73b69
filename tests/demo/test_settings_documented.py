"""Every setting has its row in docs/reference/settings.md, with its default."""

import ast
import re
from pathlib import Path

from msgspec import structs

from postroad.config import Settings
from postroad.model.limits import Limits, Tuning
from postroad.model.tenant_limits import TenantLimits
from postroad.model.webhook import WebhookRules

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "settings.md"
PARTS = (Limits, TenantLimits, WebhookRules)
ROW = re.compile(r"^\| `(\w+)` \| `([^`]+)` \| (\S.*) \|$", re.MULTILINE)


def documented() -> dict[str, object]:
    rows = [(name, default) for name, default, _ in ROW.findall(PAGE.read_text())]
    assert len(rows) == len({name for name, _ in rows}), "a setting has two rows"
    parts = {f"{part.__name__}()": part() for part in PARTS}
    return {
        name: parts[default] if default in parts else ast.literal_eval(default)
        for name, default in rows
    }


def test_every_setting_has_its_row_with_its_default() -> None:
    fields = [
        field
        for part in (Settings, *PARTS)
        for field in structs.fields(part)
        if field.name not in Tuning.__struct_fields__  # which are no settings
    ]
    assert documented() == {field.name: field.default for field in fields}
