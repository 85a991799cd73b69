"""A server of small mailboxes: recipients connect, subscribe to many, and get what waits."""
