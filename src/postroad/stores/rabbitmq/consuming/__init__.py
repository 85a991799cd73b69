"""What the broker delivers to this process: consumers, arrivals, and the tables in memory.

Consumers → Arrivals → DeliveredMessages (memory_tables.py) → the engine claims and fetches
"""
