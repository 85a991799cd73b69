"""The listener for bounces and complaints: a small SMTP or LMTP server that takes no other mail."""
