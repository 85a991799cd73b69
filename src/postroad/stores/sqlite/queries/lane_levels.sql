-- When each level of a free lane is ready, by its rungs and its circuit. The last poller
-- (level 6) serves all higher levels.
insert into lane_level (lane_id, level, pool, tenant, ready_at)
select l.id, min(r.level, 6), l.pool, l.tenant,
       max(min(r.ready_at),
           case when l.paused_at > 0 then 4611686018427387904 else l.circuit_until end)
  from lane l join rung r on r.lane_id = l.id
 where l.id = ?1 and r.level >= 0 and r.ready_at < 4611686018427387904
 group by min(r.level, 6)
on conflict (lane_id, level) do update set ready_at = excluded.ready_at
returning level, ready_at
