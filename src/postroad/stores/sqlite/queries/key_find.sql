-- The first use of an idempotency key that still counts.
select message_id, digest from idempotency where queue_id = ?1 and key = ?2 and expires_at > ?3
