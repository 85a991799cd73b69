-- Pages of queues and lanes, and sums over all of them.

-- name: queue_ids
-- List a page of a tenant's queues by name.
select id from queue where tenant = ?1 and name > ?2 order by name limit ?3

-- name: queue_trouble_ids
-- List a page of a tenant's queues by name that are blocked or paused, or that the exhausted head of an order group
-- holds.
select id from (
  select id, name from (
    select id, name from queue where tenant = ?1 and name > ?2 and (block_kind <> '' or paused_at > 0)
     order by name limit ?3)
  union
  select q.id, q.name from rung r cross join queue q on q.id = r.queue_id
   where r.held <> '' and q.tenant = ?1 and q.name > ?2)
 order by name limit ?3

-- name: queue_rows
-- Read queues by a JSON list of their numbers, with the messages of each by state, each rung counted up to a number,
-- and what holds them.
with page as (
  select q.id, q.tenant, q.name, q.transport, q.paused_at, q.block_kind, q.block_until, q.block_reason
    from json_each(?1) asked cross join queue q on q.id = asked.value),
rungs as (
  select h.queue_id,
         case when h.level < 0 then 'uncertain' when h.ends > ?2 then 'held'
              else 'waiting' end as state, h.because,
         (select count(*) from (select 1 from message m where m.rung_id = h.rung_id limit ?3)) as n,
         (select m.due from message m where m.rung_id = h.rung_id
           order by m.place, m.id limit 1) as due
    from page p join hold h on h.queue_id = p.id)
select p.tenant, p.name, p.transport, p.paused_at, p.block_kind, p.block_until, p.block_reason,
       coalesce(min(s.because) filter (where s.state = 'held' and s.n > 0),
                case when p.paused_at > 0 then (select w.because from pause w where w.queue_id = p.id)
                     when p.block_until > ?2 then p.block_kind || ': ' || p.block_reason
                     else '' end),
       count(distinct s.because) filter (where s.state = 'held' and s.n > 0),
       coalesce(sum(s.n) filter (where s.state = 'waiting'), 0),
       coalesce(sum(s.n) filter (where s.state = 'held'), 0),
       coalesce(sum(s.n) filter (where s.state = 'uncertain'), 0),
       (select count(*) from (select 1 from dead d where d.queue_id = p.id limit ?3)),
       min(s.due) filter (where s.state <> 'uncertain')
  from page p left join rungs s on s.queue_id = p.id group by p.id order by p.name

-- name: lane_ids
-- List a page of a tenant's lanes by number.
select id from lane where tenant = ?1 and id > ?2 order by id limit ?3

-- name: lane_trouble_ids
-- List a page of a tenant's lanes by number whose circuits are open, or that are paused.
select id from lane indexed by lane_trouble
 where tenant = ?1 and id > ?2 and (circuit_opened > 0 or paused_at > 0) order by id limit ?3

-- name: lane_rows
-- Read lanes by a JSON list of their numbers, with the messages of each by state, each rung counted up to a number, and
-- what holds them.
with page as (
  select l.*, coalesce(p.host, '') as host, coalesce(p.pid, 0) as pid,
         coalesce(p.beat_at, 0) as beat_at
    from json_each(?1) asked cross join lane l on l.id = asked.value
    left join process p on p.id = l.owner),
rungs as (
  select h.lane_id,
         case when h.level < 0 then 'uncertain' when h.ends > ?2 then 'held'
              else 'waiting' end as state, h.because,
         (select count(*) from (select 1 from message m where m.rung_id = h.rung_id limit ?3)) as n
    from page p join hold h on h.lane_id = p.id)
select p.id, p.tenant, p.transport, p.server, p.shard, p.paused_at, p.circuit_strikes,
       p.circuit_opened, p.circuit_until, p.circuit_since, p.circuit_reason, p.owner, p.host, p.pid,
       p.beat_at, (select count(*) from (select 1 from queue_lane ql where ql.lane_id = p.id limit ?3)),
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

-- name: messages_looked_up
-- Count unfinished messages of a tenant by transport, level and state, each up to ?4: on the rungs of its first ?3
-- queues and of those in trouble, and on the first ?3 rungs with messages.
with recursive busy(rung_id, n) as (
  select (select m.rung_id from message m order by m.rung_id limit 1), 1
  union all
  select (select m.rung_id from message m where m.rung_id > b.rung_id order by m.rung_id limit 1), b.n + 1
    from busy b where b.rung_id is not null and b.n < ?3),
looked(rung_id) as (
  select rung_id from busy where rung_id is not null
  union
  select r.id from (select id from queue where tenant = ?1 order by name limit ?3) q
    cross join rung r on r.queue_id = q.id
  union
  select r.id from (select id from queue where tenant = ?1 and (block_kind <> '' or paused_at > 0)
                     order by name limit ?3) q cross join rung r on r.queue_id = q.id
  union
  select r.id from (select id from lane indexed by lane_trouble
                     where tenant = ?1 and (circuit_opened > 0 or paused_at > 0) order by id limit ?3) l cross join rung r on r.lane_id = l.id
  union
  select id from (select id from rung where held <> '' limit ?3)
  union
  select id from (select id from rung where level < 0 limit ?3))
select transport, level, state,
       (select count(*) from (
          select 1 from json_each(rungs) j cross join message m on m.rung_id = j.value limit ?4)) as n,
       (select min((select m.due from message m where m.rung_id = j.value order by m.place, m.id limit 1))
          from json_each(rungs) j)
  from (select h.transport, max(h.level, 0) as level,
               case when h.level < 0 then 'uncertain' when h.ends > ?2 then 'held' else 'waiting' end as state,
               json_group_array(h.rung_id) as rungs
          from looked k cross join hold h on h.rung_id = k.rung_id where h.tenant = ?1 group by 1, 2, 3)
 where n > 0 order by 1, 2, 3

-- name: looked_at_all
-- Tell whether a tenant has fewer than ?2 queues, or fewer than ?2 rungs have messages and fewer than ?3 messages are
-- dead, of all tenants.
with recursive busy(rung_id, n) as (
  select (select m.rung_id from message m order by m.rung_id limit 1), 1
  union all
  select (select m.rung_id from message m where m.rung_id > b.rung_id order by m.rung_id limit 1), b.n + 1
    from busy b where b.rung_id is not null and b.n < ?2)
select (select count(*) from (select 1 from queue where tenant = ?1 limit ?2)) < ?2
    or (exists (select 1 from busy where rung_id is null) and (select count(*) from (select 1 from dead limit ?3)) < ?3)

-- name: dead_looked_up
-- Count dead messages of a tenant by reason: of the ?2 latest of all tenants, and where these are not all, up to ?2 of its
-- first ?3 queues.
with latest as materialized (select queue_id, reason from dead order by died_at desc, id desc limit ?2),
seen(reason, n) as materialized (
  select d.reason, sum(d.n)
    from (select queue_id, reason, count(*) as n from latest group by 1, 2) d
   cross join queue q on q.id = d.queue_id where q.tenant = ?1 group by 1),
own(reason, n) as (
  select reason, count(*)
    from (select d.reason from (select id from queue where tenant = ?1 order by name limit ?3) q
           cross join dead d on d.queue_id = q.id
           where (select count(*) from latest) = ?2 and (select coalesce(sum(n), 0) from seen) < ?2 limit ?2)
   group by 1)
select reason, max(n) from (select reason, n from seen union all select reason, n from own) group by 1 order by 1

-- name: trouble_looked_up
-- Count open circuits, blocked queues, paused queues, uncertain recipients of campaigns and disabled endpoints of a tenant, among the
-- first ?2 lanes and queues in trouble.
select (select count(*) from (select circuit_opened from lane indexed by lane_trouble
          where tenant = ?1 and (circuit_opened > 0 or paused_at > 0) limit ?2) where circuit_opened > 0),
       (select count(*) from (select block_kind from queue
          where tenant = ?1 and (block_kind <> '' or paused_at > 0) limit ?2) where block_kind <> ''),
       (select count(*) from (select id, paused_at from queue
          where tenant = ?1 and (block_kind <> '' or paused_at > 0) limit ?2) x
         where paused_at > 0 and not exists (select 1 from endpoint e where e.queue_id = x.id and e.state <> 'enabled')),
       (select coalesce(sum(uncertain), 0) from campaign where tenant = ?1),
       (select count(*) from (select id, paused_at from queue
          where tenant = ?1 and (block_kind <> '' or paused_at > 0) limit ?2) x
         where paused_at > 0 and exists (select 1 from endpoint e where e.queue_id = x.id and e.state = 'disabled'))

-- name: dead_reasons
-- Count the dead messages of a tenant, or of all (null), by reason.
select d.reason, count(*) from dead d join queue q on q.id = d.queue_id
 where ?1 is null or q.tenant = ?1 group by 1 order by 1

-- name: trouble
-- Count open circuits, blocked queues, paused queues, uncertain recipients of campaigns and disabled endpoints of a tenant, or of all (null).
select (select count(*) from lane where circuit_opened > 0 and (?1 is null or tenant = ?1)),
       (select count(*) from queue where block_kind <> '' and (?1 is null or tenant = ?1)),
       (select count(*) from queue x where paused_at > 0 and (?1 is null or tenant = ?1)
           and not exists (select 1 from endpoint e where e.queue_id = x.id and e.state <> 'enabled')),
       (select coalesce(sum(uncertain), 0) from campaign where ?1 is null or tenant = ?1),
       (select count(*) from queue x where paused_at > 0 and (?1 is null or tenant = ?1)
           and exists (select 1 from endpoint e where e.queue_id = x.id and e.state = 'disabled'))
