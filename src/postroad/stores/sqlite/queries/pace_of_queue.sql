-- The limit of a queue.
select id, cost, spacing_us, counted, next_us, spec from pace where queue_id = ?1 and queue_id > 0
