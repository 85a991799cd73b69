-- Unfinished messages of a tenant, or of all (null), by transport, level and standing.
select transport, level, standing, sum(n)::bigint, min(due) from (
  select l.transport, greatest(r.level, 0) as level,
         case when r.level < 0 then 'uncertain'
              when q.paused_at > 0 or l.paused_at > 0 or r.held <> '' or q.block_kind = 'disabled'
              then 'held'
              when r.blocked_until > $2 or l.circuit_until > $2 then 'blocked'
              else 'waiting' end as standing,
         (select count(*) from postroad.message m where m.rung_id = r.id) as n,
         (select m.due from postroad.message m where m.rung_id = r.id order by m.place, m.id limit 1) as due
    from postroad.rung r join postroad.lane l on l.id = r.lane_id join postroad.queue q on q.id = r.queue_id
   where $1::text is null or l.tenant = $1) x
 where n > 0 group by 1, 2, 3 order by 1, 2, 3
