"""TLS to mail servers: with a certificate that holds, or with any."""

import asyncio
import ssl
from functools import cache

from postroad.transports.webhook.resolving import check_descriptors


async def context(*, verified: bool) -> ssl.SSLContext:
    """Return what a connection is secured with."""
    if not verified:
        return _any()
    return _trusted() if _trusted.cache_info().currsize else await asyncio.to_thread(_trusted)


@cache
def _trusted() -> ssl.SSLContext:
    """Load the system's certificates once, which takes 20 ms. SSL_CERT_FILE and SSL_CERT_DIR name
    others."""
    made = ssl.create_default_context()
    if not made.cert_store_stats()["x509_ca"]:
        check_descriptors()  # without one none is read, and nobody would be trusted for ever
    return made


@cache
def _any() -> ssl.SSLContext:
    """Encrypts against those who only listen: more is not to be had of most servers."""
    made = ssl.create_default_context()
    made.check_hostname = False
    made.verify_mode = ssl.CERT_NONE
    return made
