-- Pages of queues and lanes, and sums over all of them.

-- name: queue_page
-- Read a page of a tenant's queues by name, with the messages of each by state and what holds them.
with page as (
  select id, tenant, name, transport, paused_at, block_kind, block_until, block_reason
    from queue where tenant = ?1 and name > ?2 order by name limit ?3),
rungs as (
  select h.queue_id,
         case when h.level < 0 then 'uncertain' when h.ends > ?4 then 'held'
              else 'waiting' end as state, h.because,
         (select count(*) from message m where m.rung_id = h.rung_id) as n,
         (select m.due from message m where m.rung_id = h.rung_id
           order by m.place, m.id limit 1) as due
    from page p join hold h on h.queue_id = p.id)
select p.tenant, p.name, p.transport, p.paused_at, p.block_kind, p.block_until, p.block_reason,
       coalesce(min(s.because) filter (where s.state = 'held' and s.n > 0),
                case when p.paused_at > 0 then (select w.because from pause w where w.queue_id = p.id)
                     when p.block_until > ?4 then p.block_kind || ': ' || p.block_reason
                     else '' end),
       count(distinct s.because) filter (where s.state = 'held' and s.n > 0),
       coalesce(sum(s.n) filter (where s.state = 'waiting'), 0),
       coalesce(sum(s.n) filter (where s.state = 'held'), 0),
       coalesce(sum(s.n) filter (where s.state = 'uncertain'), 0),
       (select count(*) from dead d where d.queue_id = p.id),
       min(s.due) filter (where s.state <> 'uncertain')
  from page p left join rungs s on s.queue_id = p.id group by p.id order by p.name

-- name: lane_page
-- Read a page of a tenant's lanes by number, with the messages of each by state and what holds
-- them.
with page as (
  select l.*, coalesce(p.host, '') as host, coalesce(p.pid, 0) as pid,
         coalesce(p.beat_at, 0) as beat_at
    from lane l left join process p on p.id = l.owner
   where l.tenant = ?1 and l.id > ?2 order by l.id limit ?3),
rungs as (
  select h.lane_id,
         case when h.level < 0 then 'uncertain' when h.ends > ?4 then 'held'
              else 'waiting' end as state, h.because,
         (select count(*) from message m where m.rung_id = h.rung_id) as n
    from page p join hold h on h.lane_id = p.id)
select p.id, p.tenant, p.transport, p.server, p.shard, p.paused_at, p.circuit_strikes,
       p.circuit_opened, p.circuit_until, p.circuit_since, p.circuit_reason, p.owner, p.host, p.pid,
       p.beat_at, (select count(*) from queue_lane ql where ql.lane_id = p.id),
       coalesce(min(s.because) filter (where s.state = 'held' and s.n > 0),
                case when p.paused_at > 0 then 'lane paused'
                     when p.circuit_opened > 0 then 'circuit open: ' || p.circuit_reason
                     else '' end),
       count(distinct s.because) filter (where s.state = 'held' and s.n > 0),
       coalesce(sum(s.n) filter (where s.state = 'waiting'), 0),
       coalesce(sum(s.n) filter (where s.state = 'held'), 0),
       coalesce(sum(s.n) filter (where s.state = 'uncertain'), 0)
  from page p left join rungs s on s.lane_id = p.id group by p.id order by p.id

-- name: messages_by_state
-- Count unfinished messages of a tenant, or of all (null), by transport, level and state.
select transport, level, state, sum(n), min(due) from (
  select h.transport, max(h.level, 0) as level,
         case when h.level < 0 then 'uncertain' when h.ends > ?2 then 'held'
              else 'waiting' end as state,
         (select count(*) from message m where m.rung_id = h.rung_id) as n,
         (select m.due from message m where m.rung_id = h.rung_id
           order by m.place, m.id limit 1) as due
    from hold h where ?1 is null or h.tenant = ?1)
 where n > 0 group by 1, 2, 3 order by 1, 2, 3

-- name: dead_reasons
-- Count the dead messages of a tenant, or of all (null), by reason.
select d.reason, count(*) from dead d join queue q on q.id = d.queue_id
 where ?1 is null or q.tenant = ?1 group by 1 order by 1

-- name: trouble
-- Count open circuits, blocked queues, paused queues and uncertain recipients of campaigns of a tenant, or of all (null).
select (select count(*) from lane where circuit_opened > 0 and (?1 is null or tenant = ?1)),
       (select count(*) from queue where block_kind <> '' and (?1 is null or tenant = ?1)),
       (select count(*) from queue where paused_at > 0 and (?1 is null or tenant = ?1)),
       (select coalesce(sum(uncertain), 0) from campaign where ?1 is null or tenant = ?1)
