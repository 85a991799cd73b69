"""Postroad: hand it a message for somebody else's server, and it gets there.

What a program imports is here; errors are in `postroad.errors`, the blocking face in
`postroad.sync`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from postroad.app import Postroad
    from postroad.config import Settings
    from postroad.engine.drafting import Send
    from postroad.hub.client import HubCallbacks, HubClient
    from postroad.model.access import BasicAuth, BearerAuth, ClientTls, OAuthClient
    from postroad.model.campaign import HaltRule
    from postroad.model.credential import CredentialSpec
    from postroad.model.errors import PostroadError, Reject, RetryLater
    from postroad.model.held_by_handler import HoldKey, HoldQueue
    from postroad.model.hubs import KnownHub
    from postroad.model.ladder import Exponential, Steps
    from postroad.model.limits import Limits
    from postroad.model.mail_settings import MailSettings
    from postroad.model.tenant_limits import TenantLimits
    from postroad.model.webhook import HeaderNames, WebhookRules
    from postroad.transports.call_plan import provided
    from postroad.transports.gathering import Some
    from postroad.transports.job import Message
    from postroad.transports.webhook.signing import Signer, public_key
    from postroad.verbs.batch_planning import Batch, chain
    from postroad.verbs.receipts import Receipt

__all__ = [
    "BasicAuth",
    "Batch",
    "BearerAuth",
    "ClientTls",
    "CredentialSpec",
    "Exponential",
    "HaltRule",
    "HeaderNames",
    "HoldKey",
    "HoldQueue",
    "HubCallbacks",
    "HubClient",
    "KnownHub",
    "Limits",
    "MailSettings",
    "Message",
    "OAuthClient",
    "Postroad",
    "PostroadError",
    "Receipt",
    "Reject",
    "RetryLater",
    "Send",
    "Settings",
    "Signer",
    "Some",
    "Steps",
    "TenantLimits",
    "WebhookRules",
    "chain",
    "provided",
    "public_key",
]

MODULES: Final = {
    "app": ("Postroad",),
    "config": ("Settings",),
    "engine.drafting": ("Send",),
    "hub.client": ("HubCallbacks", "HubClient"),
    "model.access": ("BasicAuth", "BearerAuth", "ClientTls", "OAuthClient"),
    "model.campaign": ("HaltRule",),
    "model.credential": ("CredentialSpec",),
    "model.errors": ("PostroadError", "Reject", "RetryLater"),
    "model.held_by_handler": ("HoldKey", "HoldQueue"),
    "model.hubs": ("KnownHub",),
    "model.ladder": ("Exponential", "Steps"),
    "model.limits": ("Limits",),
    "model.mail_settings": ("MailSettings",),
    "model.tenant_limits": ("TenantLimits",),
    "model.webhook": ("HeaderNames", "WebhookRules"),
    "transports.call_plan": ("provided",),
    "transports.gathering": ("Some",),
    "transports.job": ("Message",),
    "transports.webhook.signing": ("Signer", "public_key"),
    "verbs.batch_planning": ("Batch", "chain"),
    "verbs.receipts": ("Receipt",),
}
"""Where each name is defined."""


def __getattr__(name: str) -> object:
    """Import a name when it is first used: a command that only asks a server loads no engine."""
    for module, names in MODULES.items():
        if name in names:
            found = globals()[name] = getattr(import_module(f"postroad.{module}"), name)
            return found
    raise AttributeError(f"module 'postroad' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
