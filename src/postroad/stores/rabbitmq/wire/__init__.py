"""AMQP 0-9-1 as the road needs it: hot frames are read and written here, the rest by pamqp."""
