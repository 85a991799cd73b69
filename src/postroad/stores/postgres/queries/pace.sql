-- Rate limits.

-- name: reserve
-- Take slots, or learn when to ask again.
select postroad.reserve($1)

-- name: limit_queue
-- Set a queue's limit.
select postroad.limit_queue($1, $2, $3, $4, $5)

-- name: limit_lane
-- Set the limit of a lane's credential.
select postroad.limit_lane($1, $2, $3, $4, $5)

-- name: paces
-- The limits of a queue and of a lane, and how far they are used.
select postroad.paces($1, $2)

-- name: ledgers
-- The ledgers of a credential.
select id from postroad.pace
 where queue_id = 0 and tenant = $1 and transport = $2 and server = $3 and credential = $4
   and spec <> ''
