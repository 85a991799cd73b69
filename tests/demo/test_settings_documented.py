"""Every setting has its row in docs/reference/settings.md, with its default."""

import ast
import re
from operator import attrgetter
from pathlib import Path
from typing import Any

from msgspec import structs

from postroad.config import SECTIONS, Settings
from postroad.model.limits import Limits, Tuning
from postroad.model.mail_settings import MailSettings
from postroad.model.python_only import PYTHON_ONLY
from postroad.model.tenant_limits import TenantLimits
from postroad.model.webhook import WebhookRules

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "settings.md"
PARTS = (Limits, TenantLimits, WebhookRules, MailSettings)
SECTION_OF: dict[Any, str] = {kind: f"{section}." for section, kind in SECTIONS.items()}
ALONE = "What programs give in Python"
ROW = re.compile(r"^\| `([\w.]+)` \| `([^`]+)` \| (\S.*) \|$", re.MULTILINE)


def documented() -> dict[str, dict[str, object]]:
    """The rows by the class that a heading names; before the first one they are of Settings. Those
    that are given in Python alone are by that heading."""
    parts: dict[str, Any] = {f"{part.__name__}()": part() for part in PARTS}
    found: dict[str, dict[str, object]] = {}
    for section in re.split(r"^## ", PAGE.read_text(), flags=re.MULTILINE):
        named = section.partition(":")[0]
        group = named if f"{named}()" in parts or named.startswith(ALONE) else "Settings"
        rows = found.setdefault(group.splitlines()[0], {})
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
            and f"{SECTION_OF.get(part, '')}{field.name}" not in PYTHON_ONLY
        }
        for part in (Settings, *PARTS)
    } | {ALONE: {name: attrgetter(name)(Settings()) for name in PYTHON_ONLY}}
