"""TLS without a proxy: certificate and key from files, read once at the start."""

import ssl
from pathlib import Path
from typing import Final

from postroad.model.errors import BadSetting

PEM_END: Final = "-----END CERTIFICATE-----"


def server_tls(cert_file: str, key_file: str) -> ssl.SSLContext | None:
    """What a server listens with; None when no certificate is set. BadSetting names what is wrong
    with the files."""
    if not cert_file and not key_file:
        return None
    if not cert_file or not key_file:
        raise BadSetting("tls_cert_file and tls_key_file belong together: set both, or none")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        # A key with a passphrase would ask for it on the terminal.
        context.load_cert_chain(cert_file, key_file, password=_no_passphrase)
    except ssl.SSLError as error:
        why = error.reason or "not PEM, or cut off"
        raise BadSetting(
            f"tls_cert_file = {cert_file!r}, tls_key_file = {key_file!r}: {why}; give a "
            "certificate chain and its key, both PEM"
        ) from None
    except OSError as error:
        raise BadSetting(
            f"tls_cert_file = {cert_file!r}, tls_key_file = {key_file!r}: {error.strerror}"
        ) from None
    return context


def own_trust(cert_file: str) -> ssl.SSLContext:
    """What a client trusts that connects to the server with this certificate and to no other one;
    under whatever name it is reached."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    text = Path(cert_file).read_text("ascii", errors="replace")
    first, end, _ = text.partition(PEM_END)  # not those who signed it
    context.load_verify_locations(cadata=first + end)
    return context


def _no_passphrase() -> str:
    raise BadSetting("tls_key_file has a passphrase: give a key without one, readable by us alone")
