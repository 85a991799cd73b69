-- A page of a tenant's queues by name, with what waits in each and how it stands.
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
