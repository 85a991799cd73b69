-- An unowned lane is ready at a level from a time on, or sooner if it was.
insert into lane_level (lane_id, level, pool, tenant, ready_at) values (?1, ?2, ?3, ?4, ?5)
on conflict (lane_id, level) do update set ready_at = excluded.ready_at
 where ready_at > excluded.ready_at
