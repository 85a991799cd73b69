"""Faults of connections: what went wrong on the way, and whether a request may have left."""

import ssl
from typing import Final

CERTIFICATE_ALERTS: Final = ("CERTIFICATE", "UNKNOWN_CA", "ACCESS_DENIED")
"""What OpenSSL calls a server's refusal of our certificate, or of having none."""


class Fault(Exception):
    """A request got no answer. `name` is the fault's class in the log; `sent`: the request may have
    left."""

    def __init__(self, name: str, said: str = "", *, sent: bool) -> None:
        super().__init__(said)
        self.name = name
        self.sent = sent


def tls_fault(error: ssl.SSLError) -> Fault:
    """Name the fault of a connection that was made. In TLS 1.3 a server refuses a certificate after
    our side of the handshake has ended, and before it reads a request."""
    refused = refuses_ours(error)
    return Fault("certificate" if refused else "tls", str(error), sent=not refused)


def refuses_ours(error: ssl.SSLError) -> bool:
    """Whether a server refuses our certificate, or wants one."""
    _, alert, name = (error.reason or "").partition("_ALERT_")
    return bool(alert) and any(word in name for word in CERTIFICATE_ALERTS)


def reason_of(error: Exception) -> tuple[str, str]:
    """Name the fault that an exception of a socket is, and what it says."""
    if isinstance(error, TimeoutError):
        return "connect_timeout", ""
    if isinstance(error, ConnectionRefusedError):
        return "refused", ""
    if isinstance(error, ssl.SSLError | ssl.CertificateError):
        return "certificate" if refuses_ours(error) else "tls", str(error)
    if isinstance(error, ConnectionError):
        return "reset", ""
    return "other", str(error)
