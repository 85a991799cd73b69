-- Pages of queues and lanes, and sums over all of them.

-- name: queue_page
-- Read a page of a tenant's queues by name, with how many messages wait in each and how they stand.
with page as (
  select id, tenant, name, transport, paused_at, block_kind, block_until, block_reason
    from queue where tenant = ?1 and name > ?2 order by name limit ?3),
rungs as (
  select r.queue_id,
         case when r.level < 0 then 'uncertain'
              when p.paused_at > 0 or l.paused_at > 0 or r.held <> '' or p.block_kind = 'disabled'
              then 'held'
              when r.blocked_until > ?4 or l.circuit_until > ?4 then 'blocked'
              else 'waiting' end as standing,
         (select count(*) from message m where m.rung_id = r.id) as n,
         (select m.due from message m where m.rung_id = r.id order by m.place, m.id limit 1) as due
    from page p join rung r on r.queue_id = p.id join lane l on l.id = r.lane_id)
select p.tenant, p.name, p.transport, p.paused_at, p.block_kind, p.block_until, p.block_reason,
       coalesce(sum(s.n) filter (where s.standing = 'waiting'), 0),
       coalesce(sum(s.n) filter (where s.standing = 'held'), 0),
       coalesce(sum(s.n) filter (where s.standing = 'blocked'), 0),
       coalesce(sum(s.n) filter (where s.standing = 'uncertain'), 0),
       (select count(*) from dead d where d.queue_id = p.id),
       min(s.due) filter (where s.standing <> 'uncertain')
  from page p left join rungs s on s.queue_id = p.id group by p.id order by p.name

-- name: lane_page
-- Read a page of a tenant's lanes by number, with how many messages wait in each and how they
-- stand.
with page as (
  select l.*, coalesce(p.host, '') as host, coalesce(p.pid, 0) as pid,
         coalesce(p.beat_at, 0) as beat_at
    from lane l left join process p on p.id = l.owner
   where l.tenant = ?1 and l.id > ?2 order by l.id limit ?3),
rungs as (
  select r.lane_id,
         case when r.level < 0 then 'uncertain'
              when q.paused_at > 0 or p.paused_at > 0 or r.held <> '' or q.block_kind = 'disabled'
              then 'held'
              when r.blocked_until > ?4 or p.circuit_until > ?4 then 'blocked'
              else 'waiting' end as standing,
         (select count(*) from message m where m.rung_id = r.id) as n
    from page p join rung r on r.lane_id = p.id join queue q on q.id = r.queue_id)
select p.id, p.tenant, p.transport, p.server, p.shard, p.paused_at, p.circuit_strikes,
       p.circuit_opened, p.circuit_until, p.circuit_since, p.circuit_reason, p.owner, p.host, p.pid,
       p.beat_at, (select count(*) from queue_lane ql where ql.lane_id = p.id),
       coalesce(sum(s.n) filter (where s.standing = 'waiting'), 0),
       coalesce(sum(s.n) filter (where s.standing = 'held'), 0),
       coalesce(sum(s.n) filter (where s.standing = 'blocked'), 0),
       coalesce(sum(s.n) filter (where s.standing = 'uncertain'), 0)
  from page p left join rungs s on s.lane_id = p.id group by p.id order by p.id

-- name: heaps
-- Count unfinished messages of a tenant, or of all (null), by transport, level and standing.
select transport, level, standing, sum(n), min(due) from (
  select l.transport, max(r.level, 0) as level,
         case when r.level < 0 then 'uncertain'
              when q.paused_at > 0 or l.paused_at > 0 or r.held <> '' or q.block_kind = 'disabled'
              then 'held'
              when r.blocked_until > ?2 or l.circuit_until > ?2 then 'blocked'
              else 'waiting' end as standing,
         (select count(*) from message m where m.rung_id = r.id) as n,
         (select m.due from message m where m.rung_id = r.id order by m.place, m.id limit 1) as due
    from rung r join lane l on l.id = r.lane_id join queue q on q.id = r.queue_id
   where ?1 is null or l.tenant = ?1)
 where n > 0 group by 1, 2, 3 order by 1, 2, 3

-- name: dead_reasons
-- Count the dead messages of a tenant, or of all (null), by reason.
select d.reason, count(*) from dead d join queue q on q.id = d.queue_id
 where ?1 is null or q.tenant = ?1 group by 1 order by 1

-- name: trouble
-- Count open circuits, blocked queues and paused queues of a tenant, or of all (null).
select (select count(*) from lane where circuit_opened > 0 and (?1 is null or tenant = ?1)),
       (select count(*) from queue where block_kind <> '' and (?1 is null or tenant = ?1)),
       (select count(*) from queue where paused_at > 0 and (?1 is null or tenant = ?1))
