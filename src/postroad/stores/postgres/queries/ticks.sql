-- Schedules and their ticks.

-- name: open_schedule
-- The schedule of a name as it is stored; a new one is decided up to now.
select postroad.open_schedule($1, $2, $3)

-- name: tick
-- Decide ticks, once.
select postroad.tick($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)

-- name: tick_notes
-- What became of a schedule's ticks, in order of time.
select at, fate, message_id, decided_at from postroad.tick
 where schedule = $1 and at > $2 order by at limit $3
