-- Schedules and their ticks.

-- name: schedule_insert
-- Insert a new schedule, decided up to now; one that exists stays as it is.
insert or ignore into schedule (name, cron, tz, decided_to) values (?1, ?2, ?3, ?4)

-- name: schedule_find
-- Find a schedule by name.
select name, cron, tz, decided_to from schedule where name = ?1

-- name: schedule_decide
-- Note up to when a schedule is decided, and by which plan; the time never goes back.
update schedule set cron = ?2, tz = ?3, decided_to = max(decided_to, ?4) where name = ?1

-- name: tick_insert
-- Note what became of a tick; a second note of one tick is refused.
insert into tick (schedule, at, fate, message_id, decided_at) values (?1, ?2, ?3, ?4, ?5)

-- name: tick_notes
-- List what became of a schedule's ticks, in order of time.
select at, fate, message_id, decided_at from tick where schedule = ?1 and at > ?2 order by at limit ?3
