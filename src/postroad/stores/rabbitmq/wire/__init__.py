"""The AMQP 0-9-1 client: frames, channels, connections, and the supervisor that reconnects.

This package encodes and decodes the frequent frames itself; pamqp does the rest.
"""
