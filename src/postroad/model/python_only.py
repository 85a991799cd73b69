"""Fields of the settings that programs give in Python, and that are no settings."""

from typing import Final, TypeVar

from msgspec import Struct, structs

T = TypeVar("T", bound=Struct)
PYTHON_ONLY: Final = (
    "request_bytes_max",
    "intake_max",
    "window",
    "limits.window",
    "limits.audit_ms",
    "tenants.queues_max",
    "tenants.lanes_max",
    "tenants.attachments_bytes_max",
    "tenants.mailboxes_max",
    "tenants.campaigns_max",
    "tenants.imports_max",
    "tenants.timetables_max",
    "webhooks.connect_timeout_ms",
    "mail.soft_bounces",
)
"""Few need to change them, or they are set for each tenant or webhook."""
CLASSES: Final = {
    "": "Settings",
    "limits": "Limits",
    "webhooks": "WebhookRules",
    "mail": "MailSettings",
}


def where_given(name: str) -> str:
    """Say where one of these fields is given."""
    section, _, field = name.rpartition(".")
    if section == "tenants":
        option = field.replace("_", "-")
        return f"`postroad tenant limits NAME --{option} NUMBER` sets it for a tenant"
    return f"a program gives it in Python, as {CLASSES[section]}({field}=…)"


def adopt_fields(settings: T, program: T) -> T:
    """Return the settings of a server, with these fields as its program gives them."""
    adopted = settings
    for name in PYTHON_ONLY:
        section, _, field = name.rpartition(".")
        given: object = getattr(getattr(program, section) if section else program, field)
        if section:
            field, given = section, structs.replace(getattr(adopted, section), **{field: given})
        adopted = structs.replace(adopted, **{field: given})
    return adopted
