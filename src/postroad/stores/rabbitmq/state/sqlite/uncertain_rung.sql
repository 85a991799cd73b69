-- Where messages wait of which nobody knows whether they were sent.
insert or ignore into rung (lane_id, queue_id, level, priority, slot, blocked_until)
values (?1, ?2, -1, ?3, 0, 4611686018427387904)
