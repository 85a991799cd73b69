-- Where results of tries go: attempts and history.

-- name: attempt_insert
-- Insert a try that did not deliver.
insert or ignore into attempt (message_id, number, started_at, level, kind, status, took_ms, error)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)

-- name: attempts_of
-- List the tries of a message that did not deliver, in order.
select number, started_at, level, kind, status, took_ms, error from attempt
 where message_id = ?1 order by number

-- name: attempts_made
-- Count the tries of a live or dead message. An uncertain message and one that died of a crash loop
-- have counted the try of their lost owner already.
select m.attempts - (r.level < 0) from message m join rung r on r.id = m.rung_id where m.id = ?1
 union all
select attempts - (reason = 'crash_loop') from dead where id = ?1

-- name: attempt_delete
-- Delete the tries of a message.
delete from attempt where message_id = ?1

-- name: history_insert
-- Insert a finished message; the first result stands.
insert or ignore into history (id, queue_id, state, late, accepted_at, finished_at, level, attempts,
                               took_ms)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)

-- name: history_cancel
-- Insert a live message into history as cancelled.
insert or ignore into history (id, queue_id, state, accepted_at, finished_at, level, attempts, took_ms)
select m.id, r.queue_id, 'cancelled', m.accepted_at, ?2, m.level, m.attempts + ?3, 0
  from message m join rung r on r.id = m.rung_id where m.id = ?1

-- name: history_settle
-- Insert an uncertain message into history as delivered.
insert or ignore into history (id, queue_id, state, accepted_at, finished_at, level, attempts, took_ms)
select m.id, r.queue_id, 'delivered', m.accepted_at, ?2, m.level, m.attempts, 0
  from message m join rung r on r.id = m.rung_id where m.id = ?1
