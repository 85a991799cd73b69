-- Expiry and retention.

-- name: expired_messages
-- Find messages whose own deadline has passed.
select id from message where expires_at <= ?1 and expires_at < 4611686018427387904
 order by expires_at limit ?2

-- name: next_expiry
-- Read when the next message's own deadline passes.
select min(expires_at) from message where expires_at < 4611686018427387904

-- name: spells
-- Find queues that are blocked by a quota or an unreachable recipient.
select id, policy, block_kind, block_since from queue
 where block_kind in ('quota', 'setup', 'rule', 'handler', 'unreachable') and paused_at = 0

-- name: lane_spells
-- Find queues on lanes whose server has been away since before a time.
select q.id, q.policy, l.circuit_since, l.id from lane l
  join queue_lane ql on ql.lane_id = l.id join queue q on q.id = ql.queue_id
 where l.circuit_opened > 0 and l.paused_at = 0 and q.paused_at = 0 and l.circuit_since <= ?1

-- name: spell_messages
-- Find a queue's messages from before a time, on all its lanes (0) or one, that have been due for
-- as long: not those that were replayed since, or asked for later. Ids are in time order, so only
-- what is that old is read, never all that the queue holds.
select m.id from message m cross join rung r on r.id = m.rung_id
 where m.id < ?2 and m.due <= ?5 and r.queue_id = ?1 and r.level >= 0 and (?4 = 0 or r.lane_id = ?4)
 limit ?3

-- name: history_retain
-- Delete finished messages older than a time; ids are in time order, so no index on the time is
-- needed.
delete from history
 where id in (select id from history where id < ?1 and finished_at < ?2 order by id limit ?3)
returning id, queue_id

-- name: dead_retain
-- Delete dead messages older than a time.
delete from dead where id in (select id from dead where died_at < ?1 order by died_at limit ?2)
returning id, queue_id

-- name: keys_retain
-- Delete expired idempotency keys.
delete from idempotency
 where (queue_id, key) in (select queue_id, key from idempotency where expires_at <= ?1 limit ?2)

-- name: ticks_retain
-- Delete notes of ticks older than a time.
delete from tick
 where (tenant, schedule, at) in (select tenant, schedule, at from tick where decided_at < ?1 limit ?2)

-- name: tries_retain
-- Delete the oldest tries, if they are older than a time.
delete from webhook_try
 where id in (select id from webhook_try order by id limit ?2) and started_at < ?1
