"""intake → poller → lane → recorder: how a message goes its way."""
