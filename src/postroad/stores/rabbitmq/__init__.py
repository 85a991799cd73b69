"""RabbitMQ: the broker holds the messages, a state store beside it what is known about them."""
