"""The exchanges, queues and bindings in the broker: their names and arguments, how they are
declared, and how they are created for the first time."""
