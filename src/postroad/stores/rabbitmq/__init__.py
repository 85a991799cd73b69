"""A road over RabbitMQ: the broker holds the messages, a state store beside it everything else."""
