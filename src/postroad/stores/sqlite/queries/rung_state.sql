-- What a wake needs to know: when the rung is ready, who owns its lane, and from when on new traffic may
-- have a probe.
select r.level, r.ready_at, r.blocked_until, l.id, l.owner, l.pool,
       case when l.paused_at > 0 then 4611686018427387904 else min(l.circuit_early, l.circuit_until) end
  from rung r join lane l on l.id = r.lane_id where r.id = ?1
