-- Results of tries: history, attempts, uncertain and dead messages.

-- name: history_insert
-- Records a delivery; the first one stands. A message that was dead is late. Attempts of others count; an uncertain one is counted already.
insert or ignore into history (id, queue_id, state, late, accepted_at, finished_at, level, attempts,
                               took_ms)
values (?1, ?2, 'delivered', exists (select 1 from dead where id = ?1), ?3, ?4, ?5,
        max(?6, coalesce((select attempts from broker_message where id = ?1), 0)
                + not exists (select 1 from message where id = ?1)),
        ?7)

-- name: attempt_insert
-- Records a try that did not deliver.
insert or ignore into attempt (message_id, number, started_at, level, kind, status, took_ms, error)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)

-- name: webhook_try_insert
-- Records what was seen of a webhook try; written twice it counts once.
insert or ignore into webhook_try (message_id, number, started_at, level, outcome, status, took_ms,
                                   answered_ms, connect_ms, address, fault, error, headers, answer)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)

-- name: uncertain_rung
-- Creates the rung for uncertain messages.
insert or ignore into rung (lane_id, queue_id, level, priority, order_group, blocked_until)
values (?1, ?2, -1, ?3, 0, 4611686018427387904)

-- name: uncertain_insert
-- Stores an uncertain message: nobody knows whether it was sent.
insert or ignore into message (id, rung_id, place, due, level, attempts, accepted_at, expires_at,
                               headers, body)
select ?1, r.id, ?5, ?5, ?6, ?7, ?8, ?9, ?10, ?11 from rung r
 where r.lane_id = ?2 and r.queue_id = ?3 and r.level = -1 and r.priority = ?4 and r.order_group = 0

-- name: message_delete
-- Deletes a message from the state store.
delete from message where id = ?1

-- name: dead_insert
-- Stores a dead letter, unless its copy is spent or the message was delivered.
insert or ignore into dead (id, queue_id, lane_id, reason, died_at, level, attempts, accepted_at,
                            priority, order_group, order_key, error, status, headers, body)
select ?1, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 0, '', ?11, ?12, ?13, ?14
 where not exists (select 1 from broker_message where id = ?1 and hop >= ?2)
   and not exists (select 1 from history where id = ?1)

-- name: dead_delete
-- Deletes a dead message that was delivered after all.
delete from dead where id = ?1

-- name: body_insert
-- Keeps the body of a delivered message.
insert into kept_body (id, queue_id, priority, order_key, headers, body, ends_at)
values (?1, ?2, ?3, '', ?4, ?5, ?6) on conflict do nothing

-- name: recipient_insert
-- Notes the recipient that a message names.
insert or ignore into message_recipient (message_id, queue_id, recipient) values (?1, ?2, ?3)
