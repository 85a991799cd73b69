"""Every setting has its row in docs/reference/settings.md, with its default."""

import ast
import re
from pathlib import Path
from typing import Any

from msgspec import structs

from postroad.config import Settings
from postroad.model.limits import Limits, Tuning
from postroad.model.mail_settings import MailSettings
from postroad.model.tenant_limits import TenantLimits
from postroad.model.webhook import WebhookRules

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "settings.md"
PARTS = (Limits, TenantLimits, WebhookRules, MailSettings)
ROW = re.compile(r"^\| `(\w+)` \| `([^`]+)` \| (\S.*) \|$", re.MULTILINE)


def documented() -> dict[str, dict[str, object]]:
    """The rows by the class that a heading names; before the first one they are of Settings."""
    parts: dict[str, Any] = {f"{part.__name__}()": part() for part in PARTS}
    found: dict[str, dict[str, object]] = {}
    for section in re.split(r"^## ", PAGE.read_text(), flags=re.MULTILINE):
        named = section.partition(":")[0]
        rows = found.setdefault(named if f"{named}()" in parts else "Settings", {})
        for name, default, _ in ROW.findall(section):
            assert name not in rows, f"{name} has two rows"
            rows[name] = parts[default] if default in parts else ast.literal_eval(default)
    return found


def test_every_setting_has_its_row_with_its_default() -> None:
    assert documented() == {
        part.__name__: {
            field.name: field.default
            for field in structs.fields(part)
            if field.name not in Tuning.__struct_fields__  # which are no settings
        }
        for part in (Settings, *PARTS)
    }
