-- A message goes to the dead set with all that a replay needs.
insert or ignore into dead (id, queue_id, lane_id, reason, died_at, level, attempts, accepted_at,
                            priority, slot, order_key, error, status, headers, body)
select m.id, r.queue_id, r.lane_id, ?2, ?3, m.level, m.attempts + ?4, m.accepted_at, r.priority,
       r.slot, m.order_key, ?5, ?6, m.headers, m.body
  from message m join rung r on r.id = m.rung_id where m.id = ?1
