-- Where a message is that is not finished.
select r.queue_id, r.lane_id, m.accepted_at, m.level, m.attempts, m.due, m.expires_at, r.level < 0,
       r.held, r.slot, r.id, m.place
  from message m join rung r on r.id = m.rung_id where m.id = ?1
