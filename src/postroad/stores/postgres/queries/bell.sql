-- How processes notify each other, and the clock.

-- name: notify
-- Ring for all who listen.
select pg_notify('postroad', $1)

-- name: now
-- The database's time.
select postroad.now_ms()
