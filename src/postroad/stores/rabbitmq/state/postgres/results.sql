-- Results of tries: history, attempts, uncertain and dead messages.

-- name: history_insert
-- Records a delivery; the first one stands. A message that was dead is late. Attempts of others count; an uncertain one is counted already.
insert into postroad.history_batch (id, queue_id, state, late, accepted_at, finished_at, level, attempts,
                           took_ms)
select $1::bigint, $2::bigint, 'delivered', exists (select from postroad.dead where id = $1),
       $3::bigint, $4::bigint, $5::int,
       greatest($6::int, coalesce((select attempts from postroad.broker_message where id = $1), 0)
                         + (not exists (select from postroad.message where id = $1))::int),
       $7::int
 where not exists (select from postroad.finished(array[$1::bigint]))

-- name: history_lock
-- Locks messages (a JSON list of ids), so that of two processes that finish one message one is first.
select pg_advisory_xact_lock(x.id)
  from (select value::bigint as id from json_array_elements_text($1::json) order by 1) x

-- name: history_path
-- Sets the search path that the function for a day needs.
set local search_path = postroad, pg_temp

-- name: history_day
-- Creates the partition of a day if it is new.
select postroad.make_history_day($1)

-- name: attempt_insert
-- Records a try that did not deliver.
insert into postroad.attempt (message_id, number, started_at, level, kind, status, took_ms, error)
values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict do nothing

-- name: webhook_try_insert
-- Records what was seen of a webhook try; written twice it counts once.
insert into postroad.webhook_try (message_id, number, started_at, level, outcome, status, took_ms,
                                  answered_ms, connect_ms, address, fault, error, headers, answer)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) on conflict do nothing

-- name: uncertain_rung
-- Creates the rung for uncertain messages.
insert into postroad.rung (lane_id, queue_id, level, priority, order_group, blocked_until)
values ($1, $2, -1, $3, 0, 4611686018427387904) on conflict do nothing

-- name: uncertain_insert
-- Stores an uncertain message: nobody knows whether it was sent.
insert into postroad.message (id, rung_id, place, due, level, attempts, accepted_at, expires_at,
                              headers, body)
select $1::bigint, r.id, $5::bigint, $5::bigint, $6::int, $7::int, $8::bigint, $9::bigint, $10::bytea,
       $11::bytea
  from postroad.rung r
 where r.lane_id = $2 and r.queue_id = $3 and r.level = -1 and r.priority = $4 and r.order_group = 0
on conflict do nothing

-- name: message_delete
-- Deletes a message from the state store.
delete from postroad.message where id = $1

-- name: dead_insert
-- Stores a dead letter, unless its copy is spent or the message was delivered.
insert into postroad.dead (id, queue_id, lane_id, reason, died_at, level, attempts, accepted_at,
                           priority, order_group, order_key, error, status, headers, body)
select $1::bigint, $3::bigint, $4::bigint, $5::text, $6::bigint, $7::int, $8::int, $9::bigint, $10::int,
       0, '', $11::text, $12::int, $13::bytea, $14::bytea
 where not exists (select from postroad.broker_message where id = $1 and hop >= $2)
   and not exists (select from postroad.finished(array[$1::bigint]))
on conflict do nothing

-- name: dead_delete
-- Deletes a dead message that was delivered after all.
delete from postroad.dead where id = $1

-- name: body_insert
-- Keeps the body of a delivered message.
insert into postroad.kept_body (id, queue_id, priority, order_key, headers, body, ends_at)
values ($1, $2, $3, '', $4, $5, $6) on conflict do nothing

-- name: recipient_insert
-- Notes the recipient that a message names.
insert into postroad.message_recipient (message_id, queue_id, recipient) values ($1, $2, $3) on conflict do nothing
