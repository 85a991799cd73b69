-- Idempotency keys whose time is over.
delete from idempotency
 where (queue_id, key) in (select queue_id, key from idempotency where expires_at <= ?1 limit ?2)
