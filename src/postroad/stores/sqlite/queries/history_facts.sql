-- What became of a message that is not dead.
select queue_id, state, late, accepted_at, finished_at, level, attempts, took_ms from history
 where id = ?1
