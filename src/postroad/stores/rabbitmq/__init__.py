"""The store on RabbitMQ: the broker holds the messages, a state store beside it everything else.

    send ──► publishing/header_template ─► broker.py ─► publishing/publisher ══► RabbitMQ
             encodes the first copy        declares      awaits confirms          │ topology/
    engine ◄── consuming/memory_tables ◄── consuming/arrivals ◄── consumers ◄═════╡ shards, handlers
      │        lanes and rungs             acks spent copies                      │
      └─ results ─► publishing/recording ─► publishing/republisher ══════════════►┤ next copy,
                                             │ 1 publish, 2 write, 3 ack          │ dead letter
                    delays/parking ─────────►┘ blocked messages go to             │ delay queues
    state/ ◄── 2 write: spent copies, tries, history, blocks                      │
      │ └───── publishing/outbox: replays, ticks ════════════════════════════════►┤
      └◄────── fleet/collector: dead letters ◄════════════════════════════════════╡ dead
               fleet/catch_all, fleet/old_queues send misplaced messages on ◄════►┤ lost
               fleet/fleet: who is alive, who consumes which shard ◄═════════════►╛ fleet

A message is published as a numbered copy (`hop`). A newer copy replaces the one before; the state
store records up to which hop copies are spent, so a copy that arrives twice is recognised.

- `wire/`: the AMQP client, and the supervisor that reconnects
- `topology/`: names, declarations and safe creation of exchanges and queues
- `consuming/`: from a delivery to the engine
- `publishing/`: from a send or a result to the broker
- `delays/`: waiting: delay queues, blocks, parking
- `fleet/`: presence, shards, and housekeeping for all workers
- `state/`: what is recorded beside the broker
- `store.py`, `leasing.py`, `insight.py`: the calls of the store port; `base.py` builds the parts
"""
