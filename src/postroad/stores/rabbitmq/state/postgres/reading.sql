-- What is shown of messages in the broker, and the outbox.

-- name: place
-- Reads where a message waits, if that is known.
select q.tenant, q.name, b.lane_id, b.level, b.attempts, b.due, b.accepted_at, b.expires_at
  from postroad.broker_message b join postroad.queue q on q.id = b.queue_id
 where b.id = $1 and b.done = 0

-- name: waiting
-- Counts what is known to wait of a queue, of a lane, or of all (0, 0), by what holds it.
select q.id, q.tenant, q.name, h.lane_id, h.transport, b.level,
       case when h.ends > $3 then h.because else '' end, count(*), min(b.due)
  from postroad.broker_message b join postroad.queue q on q.id = b.queue_id
  join postroad.queue_hold h on h.queue_id = b.queue_id and h.lane_id = b.lane_id
 where b.done = 0 and ($1::bigint = 0 or b.queue_id = $1) and ($2::bigint = 0 or b.lane_id = $2)
 group by 1, 2, 3, 4, 5, 6, 7

-- name: attempts_of
-- Reads the tries of a message that did not deliver.
select number, started_at, level, kind, status, took_ms, error from postroad.attempt
 where message_id = $1 order by number

-- name: outbox
-- Reads messages that the state store holds for the broker: replayed, settled as not sent, ticks.
select m.id, q.tenant, q.name, ql.shard, coalesce(b.hop, 0) + 1, m.level, m.attempts, r.priority,
       m.accepted_at, m.due, m.expires_at, m.body, m.headers
  from postroad.message m join postroad.rung r on r.id = m.rung_id and r.level >= 0
  join postroad.queue q on q.id = r.queue_id
  join postroad.queue_lane ql on ql.queue_id = r.queue_id and ql.lane_id = r.lane_id
  left join postroad.broker_message b on b.id = m.id
 order by m.id limit $1
