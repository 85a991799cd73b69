-- What is known about one message, queue or lane.

-- name: counts
-- Count messages by state.
with live as (
  select case when h.level < 0 then 'uncertain' when h.ends > ?1 then 'held'
              else 'waiting' end as state, m.n
    from (select rung_id, count(*) as n from message group by rung_id) m
    join hold h on h.rung_id = m.rung_id)
select 'waiting', coalesce(sum(n), 0) from live where state = 'waiting'
union all select 'held', coalesce(sum(n), 0) from live where state = 'held'
union all select 'uncertain', coalesce(sum(n), 0) from live where state = 'uncertain'
union all select 'delivered', count(*) from history where state = 'delivered'
union all select 'cancelled', count(*) from history where state = 'cancelled'
union all select 'dead', count(*) from dead

-- name: message_facts
-- Read where an unfinished message is and how it stands.
select r.queue_id, r.lane_id, m.accepted_at, m.level, m.attempts, m.due, m.expires_at, r.level < 0,
       r.held, m.marks, r.order_group, r.id, m.place
  from message m join rung r on r.id = m.rung_id where m.id = ?1

-- name: dead_facts
-- Read what became of a dead message.
select queue_id, lane_id, reason, accepted_at, died_at, level, attempts from dead where id = ?1

-- name: history_facts
-- Read what became of a delivered or cancelled message.
select queue_id, state, late, accepted_at, finished_at, level, attempts, took_ms from history
 where id = ?1

-- name: delivered_status
-- Read the status that a webhook was delivered with.
select status from webhook_try where message_id = ?1 and outcome = 'delivered'
 order by number desc, started_at desc limit 1

-- name: order_group_before
-- Find the message right before a place in an order group.
select id from message where rung_id = ?1 and (place, id) < (?2, ?3)
 order by place desc, id desc limit 1

-- name: others_due
-- Count other messages of a lane or queue that can go by a time, up to a number. An order group
-- counts for its head, the message's own order group not at all: its messages go one after the other.
select count(*) from (
  select m.id from rung r cross join message m on m.rung_id = r.id
   where (r.lane_id = ?1 or r.queue_id = ?2) and r.order_group = 0 and r.level >= 0
     and r.blocked_until <= ?3 and m.place <= ?3 and m.id <> ?4
  union all
  select r.id from rung r
   where (r.lane_id = ?1 or r.queue_id = ?2) and r.order_group > 0 and r.id <> ?5
     and r.blocked_until <= ?3
     and (select m.due from message m where m.rung_id = r.id order by m.place, m.id limit 1) <= ?3
  limit ?6)

-- name: tallies
-- Count the unfinished messages of a queue or of a lane (the other is 0) by lane, state, level (of the first of a rung)
-- and what holds them; each rung up to a number.
select lane_id, state, level, sum(n), min(due), because from (
  select h.lane_id,
         case when h.level < 0 then 'uncertain' when h.ends > ?3 then 'held' else 'waiting' end as state,
         (select m.level from message m where m.rung_id = h.rung_id order by m.place, m.id limit 1) as level,
         (select count(*) from (select 1 from message m where m.rung_id = h.rung_id limit ?4)) as n,
         (select m.due from message m where m.rung_id = h.rung_id order by m.place, m.id limit 1) as due,
         case when h.level >= 0 and h.ends > ?3 then h.because else '' end as because
    from hold h where h.queue_id = ?1 or h.lane_id = ?2)
 where n > 0 group by 1, 2, 3, 6

-- name: dead_count
-- Count the dead messages of a queue, up to a number.
select count(*) from (select 1 from dead where queue_id = ?1 limit ?2)

-- name: lane_queue_count
-- Count the queues that a lane serves, up to a number.
select count(*) from (select 1 from queue_lane where lane_id = ?1 limit ?2)

-- name: lane_backlog
-- Count a lane's unfinished messages, up to a number.
select count(*) from (
  select m.id from rung r cross join message m on m.rung_id = r.id where r.lane_id = ?1 limit ?2)

-- name: lane_state
-- Read a lane and its owner.
select l.id, l.tenant, l.transport, l.server, l.shard, l.circuit_strikes, l.circuit_opened,
       l.circuit_until, l.circuit_since, l.circuit_reason, l.paused_at, l.crashes, l.owner,
       coalesce(p.host, ''), coalesce(p.pid, 0), coalesce(p.beat_at, 0)
  from lane l left join process p on p.id = l.owner where l.id = ?1
