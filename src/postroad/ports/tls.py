"""TLS for servers: certificate and key are read from files once, at the start."""

import ssl
from pathlib import Path
from typing import Final

from postroad.model.errors import BadInput, BadSetting

PEM_BEGIN, PEM_END = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
FILES: Final = ("tls_cert_file", "tls_key_file")


def server_tls(cert_file: str, key_file: str) -> ssl.SSLContext | None:
    """Return the context that a server listens with; None when no certificate is set. BadSetting
    names what is wrong with the files."""
    if not cert_file and not key_file:
        return None
    for name, file in zip(FILES, (cert_file, key_file), strict=True):
        try:
            with open(file, "rb"):  # noqa: PTH123 - only whether it can be read
                pass
        except OSError as error:
            raise BadSetting(f"{name}: cannot read {file}: {error.strerror}") from None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    try:
        context.load_cert_chain(cert_file, key_file, password=_no_passphrase)
    except ssl.SSLError as error:
        mismatch = error.reason == "KEY_VALUES_MISMATCH"
        why = (
            "tls_key_file is not the key of tls_cert_file"
            if mismatch
            else "tls_cert_file and tls_key_file have to be a certificate and its key in PEM"
        )
        raise BadSetting(f"{why}: {cert_file}, {key_file}") from None
    return context


def certificate(cert_file: str) -> str:
    """Return the server's own certificate as PEM, without those who signed it, and without a key
    that may lie beside it."""
    text = Path(cert_file).read_text("ascii", errors="replace") if cert_file else ""
    _, begin, rest = text.partition(PEM_BEGIN)
    body, end, _ = rest.partition(PEM_END)
    return begin + body + end


def pinned_tls(pem: str) -> ssl.SSLContext:
    """Make a client's context that trusts this one certificate, under whatever name the server is
    reached."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.load_verify_locations(cadata=pem)
    return context


def trusting_tls(ca_file: str) -> ssl.SSLContext:
    """Make a client's context that trusts the authorities in a file, or those of this machine."""
    try:
        return ssl.create_default_context(cafile=ca_file or None)
    except (OSError, ssl.SSLError) as error:
        why = "it has no certificates in PEM" if isinstance(error, ssl.SSLError) else error.strerror
        raise BadInput(f"cannot use the CA file {ca_file}: {why}") from None


def _no_passphrase() -> str:
    # Else OpenSSL asks for it on the terminal.
    raise BadSetting("tls_key_file has a password: give a key without one, readable by us alone")
