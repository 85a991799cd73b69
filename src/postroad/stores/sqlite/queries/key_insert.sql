-- The first use of an idempotency key.
insert or replace into idempotency (queue_id, key, message_id, digest, expires_at)
values (?1, ?2, ?3, ?4, ?5)
