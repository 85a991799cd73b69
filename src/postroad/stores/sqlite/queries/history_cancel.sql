-- A live message is remembered as cancelled.
insert or ignore into history (id, queue_id, state, accepted_at, finished_at, level, attempts, took_ms)
select m.id, r.queue_id, 'cancelled', m.accepted_at, ?2, m.level, m.attempts + ?3, 0
  from message m join rung r on r.id = m.rung_id where m.id = ?1
