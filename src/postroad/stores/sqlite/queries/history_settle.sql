-- An uncertain message is remembered as delivered: somebody knows that it was.
insert or ignore into history (id, queue_id, state, accepted_at, finished_at, level, attempts, took_ms)
select m.id, r.queue_id, 'delivered', m.accepted_at, ?2, m.level, m.attempts, 0
  from message m join rung r on r.id = m.rung_id where m.id = ?1
