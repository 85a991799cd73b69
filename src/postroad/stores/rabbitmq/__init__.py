"""The store on RabbitMQ: the broker holds the messages, a state store beside it everything else.

    send ──► publishing/header_template ─► broker ─► publishing/publisher ══► RabbitMQ
             encodes the first copy        declares   confirms                  │
                                                                                │ topology/: instant,
    engine ◄── consuming/memory_tables ◄── consuming/arrivals ◄── consuming/ ◄══╡ delay, dead, lost
      │        lanes and rungs in memory   spent copies are acked  consumers    │
      │                                                                         │
      └─ results ─► publishing/recording ─► publishing/republisher ════════════►┤ next copy, dead letter
                                             │ 1 publish  2 write  3 ack        │
                    delays/parking ─────────►┘ blocked messages wait in         │ delay queues
                                               the broker                       │
    state/ ◄── 2 write: spent copies, tries, history, blocks                    │
      │ └───── publishing/outbox: replays, ticks ══════════════════════════════►┤
      └◄────── fleet/collector: dead letters ◄══════════════════════════════════╡
               fleet/catch_all, fleet/old_queues: sends misplaced messages on ◄═╡
               fleet/fleet: who is alive, who consumes which shard ◄═══════════►╛

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
