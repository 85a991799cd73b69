-- A page of a tenant's lanes by number, with what waits in each and how it stands.
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
