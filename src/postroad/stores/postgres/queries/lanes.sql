-- Who owns which lanes, and what people ask of lanes.

-- name: join
-- A new owner number for a process.
insert into postroad.process (beat_at, host, pid, version, started_at)
values (postroad.now_ms(), $1, $2, $3, postroad.now_ms()) returning id

-- name: beat
-- The heartbeat of a process; returns how often its lanes were taken away, or nothing.
select postroad.beat($1, $2)

-- name: leave
-- A process leaves in good order.
select postroad.leave($1)

-- name: claim
-- Own lanes that are ready at these levels; returns them with their first messages, and when the next ones are ready.
select * from postroad.claim($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)

-- name: claim_proving
-- The same, with a ring by which the listener proves that it hears.
select claimed.* from postroad.claim($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) as claimed,
       pg_notify('postroad', $12)

-- name: release
-- Give lanes back.
select postroad.release($1, $2::text::bigint[], $3::text::bigint[], $4)

-- name: disown
-- Give back all lanes of an owner but these.
select postroad.disown($1, $2)

-- name: held
-- The lanes that a process owns, with their epochs.
select coalesce(json_agg(json_build_array(id, epoch)), '[]') from postroad.lane where owner = $1

-- name: reap
-- Free the lanes of owners that were silent for too long.
select postroad.reap($1)

-- name: pause_lane
-- Pause or resume a lane.
select postroad.pause_lane($1, $2)

-- name: unblock_lane
-- Close a lane's circuit.
select postroad.unblock_lane($1)

-- name: hold_lane
-- Hold a lane until a time, or close a circuit whose time is over.
select postroad.hold_lane($1, $2, $3)
