-- What people see: one message, queue or lane; pages and counts.

-- name: store_facts
-- The server's version, that of the tables, and their size with their indexes.
select current_setting('server_version') as version, (select version from postroad.schema_version) as layout,
       (select coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint from pg_class c
          join pg_namespace n on n.oid = c.relnamespace
         where n.nspname = 'postroad' and c.relkind = 'r') as size

-- name: message_facts
-- All that is known about a message.
select postroad.message_facts($1, $2)

-- name: queue_facts
-- A queue and what waits in it.
select postroad.queue_facts($1, $2, $3)

-- name: lane_facts
-- A lane and what waits in it.
select postroad.lane_facts($1, $2)

-- name: lane_backlog
-- A lane's unfinished messages, counted up to a number.
select count(*) as n from (
  select 1 from postroad.rung r join postroad.message m on m.rung_id = r.id where r.lane_id = $1 limit $2) x

-- name: queue_ids
-- A page of a tenant's queues by name.
select id from postroad.queue where tenant = $1 and name > $2 order by name limit $3

-- name: queue_trouble_ids
-- A page of a tenant's queues by name that are blocked or paused, or that the exhausted head of an order group holds.
select id from (
  (select id, name from postroad.queue
    where tenant = $1 and name > $2 and (block_kind <> '' or paused_at > 0) order by name limit $3)
  union
  select q.id, q.name from postroad.rung r join postroad.queue q on q.id = r.queue_id
   where r.held <> '' and q.tenant = $1 and q.name > $2) x
 order by name limit $3

-- name: queue_rows
-- Queues by their numbers, with the messages of each by state, each rung counted up to a number, and what holds them.
with page as (
  select id, tenant, name, transport, paused_at, block_kind, block_until, block_reason
    from postroad.queue where id = any ($1::bigint[])),
rungs as (
  select h.queue_id,
         case when h.level < 0 then 'uncertain' when h.ends > $2 then 'held'
              else 'waiting' end as state, h.because,
         (select count(*) from (select from postroad.message m where m.rung_id = h.rung_id limit $3) c) as n,
         (select m.due from postroad.message m where m.rung_id = h.rung_id
           order by m.place, m.id limit 1) as due
    from page p join postroad.hold h on h.queue_id = p.id)
select p.tenant, p.name, p.transport, p.paused_at, p.block_kind, p.block_until, p.block_reason,
       coalesce(min(s.because collate "C") filter (where s.state = 'held' and s.n > 0),
                case when p.paused_at > 0 then (select w.because from postroad.pause w where w.queue_id = p.id)
                     when p.block_until > $2 then p.block_kind || ': ' || p.block_reason
                     else '' end),
       count(distinct s.because) filter (where s.state = 'held' and s.n > 0),
       coalesce(sum(s.n) filter (where s.state = 'waiting'), 0)::bigint,
       coalesce(sum(s.n) filter (where s.state = 'held'), 0)::bigint,
       coalesce(sum(s.n) filter (where s.state = 'uncertain'), 0)::bigint,
       (select count(*) from (select from postroad.dead d where d.queue_id = p.id limit $3) c),
       min(s.due) filter (where s.state <> 'uncertain')
  from page p left join rungs s on s.queue_id = p.id group by p.id, p.tenant, p.name, p.transport, p.paused_at, p.block_kind, p.block_until,
          p.block_reason order by p.name

-- name: lane_ids
-- A page of a tenant's lanes by number.
select id from postroad.lane where tenant = $1 and id > $2 order by id limit $3

-- name: lane_trouble_ids
-- A page of a tenant's lanes by number whose circuits are open, or that are paused.
select id from postroad.lane
 where tenant = $1 and id > $2 and (circuit_opened > 0 or paused_at > 0) order by id limit $3

-- name: lane_rows
-- Lanes by their numbers, with the messages of each by state, each rung counted up to a number, and what holds them.
with page as (
  select l.*, coalesce(p.host, '') as host, coalesce(p.pid, 0) as pid,
         coalesce(p.beat_at, 0) as beat_at
    from postroad.lane l left join postroad.process p on p.id = l.owner
   where l.id = any ($1::bigint[])),
rungs as (
  select h.lane_id,
         case when h.level < 0 then 'uncertain' when h.ends > $2 then 'held'
              else 'waiting' end as state, h.because,
         (select count(*) from (select from postroad.message m where m.rung_id = h.rung_id limit $3) c) as n
    from page p join postroad.hold h on h.lane_id = p.id)
select p.id, p.tenant, p.transport, p.server, p.shard, p.paused_at, p.circuit_strikes,
       p.circuit_opened, p.circuit_until, p.circuit_since, p.circuit_reason, p.owner, p.host, p.pid,
       p.beat_at, (select count(*) from (select from postroad.queue_lane ql where ql.lane_id = p.id limit $3) c),
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

-- name: messages_looked_up
-- Count unfinished messages of a tenant by transport, level and state, each up to $4: on the rungs of its first $3
-- queues and of those in trouble, and on the first $3 rungs with messages.
select transport, level, state, n, due from postroad.messages_looked_up($1, $2, $3, $4)

-- name: looked_at_all
-- Whether a tenant has fewer than $2 queues, or fewer than $2 rungs have messages and fewer than $3 messages are dead, of
-- all tenants.
select (select count(*) from (select from postroad.queue where tenant = $1 limit $2) q) < $2
    or ((select count(*) from postroad.busy_rungs($2)) < $2
        and (select count(*) from (select from postroad.dead limit $3) d) < $3)

-- name: dead_looked_up
-- Dead messages of a tenant by reason: of the $2 latest of all tenants, and where these are not all, up to $2 of its first $3
-- queues.
with latest as materialized (select queue_id, reason from postroad.dead order by died_at desc, id desc limit $2),
seen as materialized (
  select d.reason, sum(d.n)::bigint as n
    from (select queue_id, reason, count(*) as n from latest group by 1, 2) d
    join postroad.queue q on q.id = d.queue_id where q.tenant = $1 group by 1),
own as (
  select reason, count(*) as n
    from (select d.reason from (select id from postroad.queue where tenant = $1 order by name limit $3) q
           cross join lateral (select reason from postroad.dead where queue_id = q.id limit $2) d
           where (select count(*) from latest) = $2 and (select coalesce(sum(n), 0) from seen) < $2 limit $2) x
   group by 1)
select reason, max(n) from (select reason, n from seen union all select reason, n from own) x group by 1 order by 1

-- name: trouble_looked_up
-- Open circuits, blocked queues, paused queues, uncertain recipients of campaigns and disabled endpoints of a tenant, among the first $2
-- lanes and queues in trouble.
select (select count(*) from (select circuit_opened from postroad.lane
          where tenant = $1 and (circuit_opened > 0 or paused_at > 0) limit $2) x where circuit_opened > 0),
       (select count(*) from (select block_kind from postroad.queue
          where tenant = $1 and (block_kind <> '' or paused_at > 0) limit $2) x where block_kind <> ''),
       (select count(*) from (select id, paused_at from postroad.queue
          where tenant = $1 and (block_kind <> '' or paused_at > 0) limit $2) x
         where paused_at > 0 and not exists (select 1 from postroad.endpoint e where e.queue_id = x.id and e.state <> 'enabled')),
       (select coalesce(sum(uncertain), 0)::bigint from postroad.campaign where tenant = $1),
       (select count(*) from (select id, paused_at from postroad.queue
          where tenant = $1 and (block_kind <> '' or paused_at > 0) limit $2) x
         where paused_at > 0 and exists (select 1 from postroad.endpoint e where e.queue_id = x.id and e.state = 'disabled'))

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
-- Open circuits, blocked queues, paused queues, uncertain recipients of campaigns and disabled endpoints of a tenant, or of all (null).
select (select count(*) from postroad.lane where circuit_opened > 0 and ($1::text is null or tenant = $1)),
       (select count(*) from postroad.queue where block_kind <> '' and ($1::text is null or tenant = $1)),
       (select count(*) from postroad.queue x where paused_at > 0 and ($1::text is null or tenant = $1)
           and not exists (select 1 from postroad.endpoint e where e.queue_id = x.id and e.state <> 'enabled')),
       (select coalesce(sum(uncertain), 0)::bigint from postroad.campaign where $1::text is null or tenant = $1),
       (select count(*) from postroad.queue x where paused_at > 0 and ($1::text is null or tenant = $1)
           and exists (select 1 from postroad.endpoint e where e.queue_id = x.id and e.state = 'disabled'))
