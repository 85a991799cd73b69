-- What people see: one message, queue or lane; pages and counts.

-- name: message_facts
-- All that is known about a message.
select postroad.message_facts($1, $2)

-- name: queue_facts
-- A queue and what waits in it.
select postroad.queue_facts($1, $2)

-- name: lane_facts
-- A lane and what waits in it.
select postroad.lane_facts($1)

-- name: lane_backlog
-- A lane's unfinished messages, counted up to a number.
select count(*) as n from (
  select 1 from postroad.rung r join postroad.message m on m.rung_id = r.id where r.lane_id = $1 limit $2) x

-- name: queue_page
-- A page of a tenant's queues by name, with the messages of each by state and what holds them.
with page as (
  select id, tenant, name, transport, paused_at, block_kind, block_until, block_reason
    from postroad.queue where tenant = $1 and name > $2 order by name limit $3),
rungs as (
  select h.queue_id,
         case when h.level < 0 then 'uncertain' when h.ends > $4 then 'held'
              else 'waiting' end as state, h.because,
         (select count(*) from postroad.message m where m.rung_id = h.rung_id) as n,
         (select m.due from postroad.message m where m.rung_id = h.rung_id
           order by m.place, m.id limit 1) as due
    from page p join postroad.hold h on h.queue_id = p.id)
select p.tenant, p.name, p.transport, p.paused_at, p.block_kind, p.block_until, p.block_reason,
       coalesce(min(s.because collate "C") filter (where s.state = 'held' and s.n > 0),
                case when p.paused_at > 0 then (select w.because from postroad.pause w where w.queue_id = p.id)
                     when p.block_until > $4 then p.block_kind || ': ' || p.block_reason
                     else '' end),
       count(distinct s.because) filter (where s.state = 'held' and s.n > 0),
       coalesce(sum(s.n) filter (where s.state = 'waiting'), 0)::bigint,
       coalesce(sum(s.n) filter (where s.state = 'held'), 0)::bigint,
       coalesce(sum(s.n) filter (where s.state = 'uncertain'), 0)::bigint,
       (select count(*) from postroad.dead d where d.queue_id = p.id),
       min(s.due) filter (where s.state <> 'uncertain')
  from page p left join rungs s on s.queue_id = p.id group by p.id, p.tenant, p.name, p.transport, p.paused_at, p.block_kind, p.block_until,
          p.block_reason order by p.name

-- name: lane_page
-- A page of a tenant's lanes by number, with the messages of each by state and what holds them.
with page as (
  select l.*, coalesce(p.host, '') as host, coalesce(p.pid, 0) as pid,
         coalesce(p.beat_at, 0) as beat_at
    from postroad.lane l left join postroad.process p on p.id = l.owner
   where l.tenant = $1 and l.id > $2 order by l.id limit $3),
rungs as (
  select h.lane_id,
         case when h.level < 0 then 'uncertain' when h.ends > $4 then 'held'
              else 'waiting' end as state, h.because,
         (select count(*) from postroad.message m where m.rung_id = h.rung_id) as n
    from page p join postroad.hold h on h.lane_id = p.id)
select p.id, p.tenant, p.transport, p.server, p.shard, p.paused_at, p.circuit_strikes,
       p.circuit_opened, p.circuit_until, p.circuit_since, p.circuit_reason, p.owner, p.host, p.pid,
       p.beat_at, (select count(*) from postroad.queue_lane ql where ql.lane_id = p.id),
       coalesce(min(s.because collate "C") filter (where s.state = 'held' and s.n > 0),
                case when p.paused_at > 0 then 'lane paused'
                     when p.circuit_opened > 0 then 'circuit open: ' || p.circuit_reason
                     else '' end),
       count(distinct s.because) filter (where s.state = 'held' and s.n > 0),
       coalesce(sum(s.n) filter (where s.state = 'waiting'), 0)::bigint,
       coalesce(sum(s.n) filter (where s.state = 'held'), 0)::bigint,
       coalesce(sum(s.n) filter (where s.state = 'uncertain'), 0)::bigint
  from page p left join rungs s on s.lane_id = p.id group by p.id, p.tenant, p.transport, p.server, p.shard, p.paused_at, p.circuit_strikes,
          p.circuit_opened, p.circuit_until, p.circuit_since, p.circuit_reason, p.owner, p.host,
          p.pid, p.beat_at order by p.id

-- name: counts
-- Messages by state. One that has arrived and is not on its rung yet is waiting.
select s.state, coalesce(sum(c.n), 0)::bigint as n
  from unnest(array['waiting', 'held', 'uncertain', 'delivered', 'cancelled', 'dead']) s(state)
  left join (
    select case when h.level < 0 then 'uncertain' when h.ends > t.now then 'held'
                else 'waiting' end as state, m.n
      from (select rung_id, count(*) as n from postroad.message group by 1) m
      join postroad.hold h on h.rung_id = m.rung_id, (select postroad.now_ms() as now) t
    union all select 'waiting', count(*) from postroad.arrival
    union all select state, sum(coalesce(cardinality(ids), 1)) from postroad.history_batch group by 1
    union all select 'dead', count(*) from postroad.dead) c on c.state = s.state
 group by 1

-- name: messages_by_state
-- Count unfinished messages of a tenant, or of all (null), by transport, level and state.
select transport, level, state, sum(n)::bigint, min(due) from (
  select h.transport, greatest(h.level, 0) as level,
         case when h.level < 0 then 'uncertain' when h.ends > $2 then 'held'
              else 'waiting' end as state,
         (select count(*) from postroad.message m where m.rung_id = h.rung_id) as n,
         (select m.due from postroad.message m where m.rung_id = h.rung_id
           order by m.place, m.id limit 1) as due
    from postroad.hold h where $1::text is null or h.tenant = $1) x
 where n > 0 group by 1, 2, 3 order by 1, 2, 3

-- name: trouble
-- Open circuits, blocked queues, paused queues and uncertain recipients of campaigns of a tenant, or of all (null).
select (select count(*) from postroad.lane where circuit_opened > 0 and ($1::text is null or tenant = $1)),
       (select count(*) from postroad.queue where block_kind <> '' and ($1::text is null or tenant = $1)),
       (select count(*) from postroad.queue where paused_at > 0 and ($1::text is null or tenant = $1)),
       (select coalesce(sum(uncertain), 0)::bigint from postroad.campaign where $1::text is null or tenant = $1)
