-- Messages that are not finished: accepted, moved, marked, finished.

-- name: message_insert
-- Insert an accepted message.
insert into message (id, rung_id, place, due, level, accepted_at, expires_at, order_key, headers, body)
values (?1, ?2, ?3, ?4, 0, ?5, ?6, ?7, ?8, ?9)

-- name: key_find
-- Find the first use of an idempotency key, unless it has expired.
select message_id, digest from idempotency where queue_id = ?1 and key = ?2 and expires_at > ?3

-- name: key_insert
-- Note the first use of an idempotency key.
insert or replace into idempotency (queue_id, key, message_id, digest, expires_at)
values (?1, ?2, ?3, ?4, ?5)

-- name: message_rung
-- Find the rung and place of an unfinished message.
select rung_id, place from message where id = ?1

-- name: message_move
-- Move a message to another rung or a later time. The number of tries guards against a result that
-- is written twice.
update message set rung_id = ?2, place = ?3, due = ?3, level = ?4, attempts = attempts + 1, marks = 0
 where id = ?1 and attempts = ?5

-- name: message_retry_in_order_group
-- Keep the failed head of an order group at its head, with a later time. The number of tries
-- guards against a result that is written twice.
update message set due = ?2, level = ?3, attempts = attempts + 1, marks = 0 where id = ?1 and attempts = ?4

-- name: message_stay
-- Count a try that used no level; the message stays where it is, or goes to a place behind others. The number of tries
-- guards against a result that is written twice.
update message set attempts = attempts + 1, marks = max(0, marks - 1), place = coalesce(?3, place)
 where id = ?1 and attempts = ?2

-- name: message_again
-- Put an uncertain message back on a rung, due from a time on.
update message set rung_id = ?2, place = ?3, due = ?3, marks = 0 where id = ?1

-- name: message_unwanted
-- Ask the owner of a message's lane to cancel it, or whoever finds that owner dead.
update message set unwanted = 1 where id = ?1 and unwanted = 0

-- name: message_delete
-- Delete a finished message.
delete from message where id = ?1

-- name: mark
-- Count a start before it is made, in case the lease is lost.
update message set marks = marks + 1 where id = ?1

-- name: unmark
-- Take back the count of a start that ended without a lost lease.
update message set marks = max(0, marks - 1) where id = ?1

-- name: replaced_find
-- Find the message that was last sent with a key to be replaced by, and when the first of them was sent.
select message_id, digest from idempotency where queue_id = ?1 and key = ?2

-- name: replaced_note
-- Note which message a key is replaced by next.
insert into idempotency (queue_id, key, message_id, digest, expires_at) values (?1, ?2, ?3, ?4, ?5)
on conflict (queue_id, key) do update
   set message_id = excluded.message_id, digest = excluded.digest, expires_at = max(expires_at, excluded.expires_at)

-- name: replaceable
-- Read where a message waits, and whether it was tried.
select rung_id, place, due, attempts, marks from message where id = ?1
