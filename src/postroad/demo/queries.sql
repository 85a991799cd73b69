-- What the demo reads of its road's file.

-- name: waiting
-- Count the messages that wait, by server and retry level.
select l.server, r.level, count(*)
  from message m join rung r on r.id = m.rung_id join lane l on l.id = r.lane_id
 group by l.server, r.level

-- name: finished
-- Count finished messages by server and state.
select l.server, h.state, count(*)
  from history h join queue_lane ql on ql.queue_id = h.queue_id and ql.shard = 0
  join lane l on l.id = ql.lane_id
 group by l.server, h.state
union all
select l.server, 'dead', count(*) from dead d join lane l on l.id = d.lane_id group by l.server

-- name: holds
-- List the queues that are blocked now, why and until when.
select q.name, l.server, q.block_until, q.block_reason, q.block_streak, q.block_since
  from queue q join queue_lane ql on ql.queue_id = q.id and ql.shard = 0
  join lane l on l.id = ql.lane_id
 where q.block_until > ?1
 order by q.name

-- name: lanes
-- List the servers and how their lanes stand; a handler has one lane a shard.
select server, max(circuit_opened), max(circuit_until), max(circuit_reason)
  from lane group by transport, server order by min(id)

-- name: places
-- Tell where every message is, finished or not.
select id, 'waiting' from message
union all select id, state from history
union all select id, 'dead' from dead

-- name: climbs
-- Count delivered messages and their tries by the level that they had reached.
select level, count(*), sum(attempts) from history where state = 'delivered' group by level

-- name: deaths
-- Count dead messages by queue, reason and error.
select q.name, d.reason, d.error, count(*)
  from dead d join queue q on q.id = d.queue_id
 group by q.name, d.reason, d.error order by count(*) desc
