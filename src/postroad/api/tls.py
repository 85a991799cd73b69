"""TLS of the server's own: a certificate and its key, from two files."""

import ssl

from postroad.model.errors import BadSetting


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


def _no_password() -> str:
    raise ValueError  # else OpenSSL asks on the terminal


def _why(error: Exception) -> str:
    reason = getattr(error, "reason", "") or ""
    if reason == "KEY_VALUES_MISMATCH":
        return "tls_key_file is not the key of tls_cert_file"
    if not reason and isinstance(error, ValueError) and not isinstance(error, ssl.SSLError):
        return "tls_key_file has a password: give a key without one, readable by this user alone"
    return "tls_cert_file and tls_key_file have to be a certificate and its key in PEM"
