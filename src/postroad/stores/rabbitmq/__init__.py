"""The store on RabbitMQ: the broker holds the messages, a state store beside it the rest."""
