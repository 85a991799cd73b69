"""The hub serves small mailboxes. Recipients connect, subscribe to many of them, and get what
waits."""
