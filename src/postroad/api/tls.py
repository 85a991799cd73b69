"""TLS of the server's own: a certificate and its key, from two files."""

import re
import ssl
from pathlib import Path
from typing import Final

from postroad.model.errors import BadInput, BadSetting

PEM: Final = re.compile(r"-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----")


def server_context(cert_file: str, key_file: str) -> ssl.SSLContext | None:
    """What a server shows, or None without files. BadSetting names the file that cannot be used."""
    if not cert_file:
        return None
    for name, file in (("tls_cert_file", cert_file), ("tls_key_file", key_file)):
        try:
            with open(file, "rb"):  # noqa: PTH123 - only whether it can be read
                pass
        except OSError as error:
            raise BadSetting(f"{name}: cannot read {file}: {error.strerror}") from None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    try:
        context.load_cert_chain(cert_file, key_file, password=_no_password)
    except (ssl.SSLError, ValueError) as error:
        raise BadSetting(f"{_why(error)}: {cert_file}, {key_file}") from None
    return context


def certificate(cert_file: str) -> str:
    """The file's certificates as PEM, without a key that may lie beside them."""
    text = Path(cert_file).read_text("ascii", "ignore") if cert_file else ""
    return "\n".join(PEM.findall(text))


def client_context(ca_file: str, pinned: str) -> ssl.SSLContext:
    """How a server is known: by the certificate that its note has, by the authorities in a file,
    or by those that this machine trusts."""
    if pinned:  # its own word, from a file that only its user reads: the name does not matter
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        context.load_verify_locations(cadata=pinned)
        return context
    try:
        return ssl.create_default_context(cafile=ca_file or None)
    except (OSError, ssl.SSLError) as error:
        why = "it has no certificates in PEM" if isinstance(error, ssl.SSLError) else error.strerror
        raise BadInput(f"cannot use the CA file {ca_file}: {why}") from None


def _no_password() -> str:
    raise ValueError  # else OpenSSL asks on the terminal


def _why(error: Exception) -> str:
    reason = getattr(error, "reason", "") or ""
    if reason == "KEY_VALUES_MISMATCH":
        return "tls_key_file is not the key of tls_cert_file"
    if not reason and isinstance(error, ValueError) and not isinstance(error, ssl.SSLError):
        return "tls_key_file has a password: give a key without one, readable by this user alone"
    return "tls_cert_file and tls_key_file have to be a certificate and its key in PEM"
