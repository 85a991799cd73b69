-- Rate limits.

-- name: reserve
-- Take slots, or learn when to ask again.
select postroad.reserve($1)

-- name: limit_queue
-- Set a queue's limit.
select postroad.limit_queue($1, $2)

-- name: limit_lane
-- Set the limit of a lane's credential.
select postroad.limit_lane($1, $2)

-- name: limit_name
-- Set or lift a named limit.
select postroad.limit_name($1, $2, $3, $4, $5)

-- name: paces
-- The limits of a queue and of a lane, and how far they are used.
select postroad.paces($1, $2)

-- name: named_limits
-- List the named limits of a tenant, or of all where none is given, that have not ended.
select name, tenant, lanes, spec, cost, hours, zone, until from postroad.pace
 where queue_id = 0 and name <> '' and ($1::text is null or tenant = $1) and spec || hours <> ''
   and (until = 0 or until > postroad.now_ms())
 order by tenant collate "C", name collate "C"

-- name: ledgers
-- The ledgers of a credential: its own limit's, and those of named ones; the slowest comes first.
select id from postroad.pace
 where queue_id = 0 and spec <> ''
   and ((tenant = $1 and transport = $2 and server = $3 and credential = $4 and name = '')
     or (tenant in ($1, '*') and transport = '' and server = '' and credential = '' and name <> ''
         and postroad.lane_matches(lanes, $2, $3) and (until = 0 or until > postroad.now_ms())))
 order by spacing_us desc, id
