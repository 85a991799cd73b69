-- How lanes are found, made, owned and given back; their circuits and pauses.

-- name: lane_find
-- Find a lane by its key.
select id from lane
 where tenant = ?1 and transport = ?2 and server = ?3 and credential = ?4 and shard = ?5

-- name: lane_insert
-- Insert a lane that nobody owns, with a number that no lane ever had.
insert into lane (id, tenant, transport, server, credential, shard, pool)
select 1 + max(w.lane, coalesce((select max(id) from lane), 0)), ?1, ?2, ?3, ?4, ?5, ?6
  from queue_walk w where w.one = 1
returning id

-- name: lane_fence
-- Read who owns a lane, at which epoch.
select owner, epoch from lane where id = ?1

-- name: lane_want
-- Let nobody claim a lane until a time; 0 lifts that.
update lane set wanted_until = ?2 where id = ?1

-- name: owned_lanes
-- List the lanes that a process owns, with their epochs.
select id, epoch from lane where owner = ?1

-- name: any_owned
-- Tell whether any process owns a lane.
select 1 from lane where owner is not null limit 1

-- name: lane_free
-- Give a lane back in good order: nobody owns it, and its count of lost leases is 0.
update lane set owner = null, crashes = 0 where id = ?1

-- name: lose_lane
-- Free a lane whose owner has lost its lease, and count that for the next owner.
update lane set owner = null, crashes = crashes + 1 where id = ?1

-- name: lane_rest
-- Set the rungs of a lane that look ready to the time when their first message is due.
update rung
   set ready_at = max(blocked_until,
                      coalesce((select m.due from message m where m.rung_id = rung.id
                                 order by m.place, m.id limit 1), 4611686018427387904))
 where lane_id = ?1 and ready_at <= ?2

-- name: claim_hide
-- Hide an owned lane from pollers.
update lane_level set ready_at = 4611686018427387904
 where lane_id = ?1 and ready_at <> 4611686018427387904

-- name: lane_levels
-- Set when each level of a free lane is ready, by its rungs and its circuit. The last poller (level
-- 6) serves all higher levels.
insert into lane_level (lane_id, level, pool, tenant, ready_at)
select l.id, min(r.level, 6), l.pool, l.tenant,
       max(min(r.ready_at),
           case when l.paused_at > 0 then 4611686018427387904 else max(l.circuit_until, l.wanted_until) end)
  from lane l join rung r on r.lane_id = l.id
 where l.id = ?1 and r.level >= 0 and r.ready_at < 4611686018427387904
 group by min(r.level, 6)
on conflict (lane_id, level) do update set ready_at = excluded.ready_at
returning level, ready_at

-- name: lane_level_wake
-- Make an unowned lane ready at a level from a time on, unless it is ready sooner.
insert into lane_level (lane_id, level, pool, tenant, ready_at) values (?1, ?2, ?3, ?4, ?5)
on conflict (lane_id, level) do update set ready_at = excluded.ready_at
 where ready_at > excluded.ready_at

-- name: lane_circuit
-- Write a lane's circuit and its count of lost leases.
update lane set circuit_strikes = ?2, circuit_opened = ?3, circuit_until = ?4, circuit_since = ?5,
                circuit_reason = ?6, crashes = ?7, circuit_early = ?8
 where id = ?1

-- name: lane_circuit_of
-- Read a lane's circuit, and whether it is paused.
select circuit_strikes, circuit_opened, circuit_until, circuit_since, circuit_reason, paused_at
  from lane where id = ?1

-- name: lane_close
-- Close a lane's circuit by hand.
update lane set circuit_strikes = 0, circuit_opened = 0, circuit_until = 0, circuit_since = 0,
                circuit_reason = ''
 where id = ?1

-- name: lane_hold
-- Hold a lane until a time, unless it is held or its circuit is open for longer. A back-off that is under way goes on
-- afterwards where it was.
update lane set circuit_strikes = 0, circuit_opened = max(circuit_opened, 1), circuit_until = ?2,
                circuit_since = case when circuit_opened > 0 then circuit_since else ?3 end, circuit_reason = ?4,
                circuit_early = ?2
 where id = ?1 and not (circuit_opened > 0 and circuit_until >= ?2)

-- name: lane_answered
-- Close a lane's circuit whose time is over.
update lane set circuit_strikes = 0, circuit_opened = 0, circuit_until = 0, circuit_since = 0, circuit_reason = ''
 where id = ?1 and circuit_opened > 0 and circuit_until <= ?2

-- name: lane_pause
-- Pause a lane.
update lane set paused_at = ?2 where id = ?1 and paused_at = 0

-- name: lane_resume
-- Resume a lane; the pause does not count towards the time that its server has been away.
update lane
   set circuit_since = case when circuit_since > 0 then circuit_since + (?2 - paused_at) else 0 end,
       paused_at = 0
 where id = ?1 and paused_at > 0

-- name: lane_queues_unreachable
-- Find the queues of a lane that are blocked because their server could not be reached.
select q.id from queue_lane ql join queue q on q.id = ql.queue_id
 where ql.lane_id = ?1 and q.block_kind = 'unreachable'

-- name: lanes_alike
-- Find all lanes of a lane's credential.
select o.id from lane l join lane o on o.tenant = l.tenant and o.transport = l.transport
   and o.server = l.server and o.credential = l.credential
 where l.id = ?1
