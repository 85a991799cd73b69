-- Timetables and their ticks.

-- name: open_schedule
-- The timetable of a program as it is stored; a new one is decided up to now.
select postroad.open_schedule($1, $2, $3, $4, $5, $6)

-- name: tick
-- Decide ticks, once.
select postroad.tick($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22)

-- name: tick_notes
-- What became of a timetable's ticks, in order of time.
select at, fate, message_id, decided_at from postroad.tick
 where tenant = $1 and schedule = $2 and at > $3 order by at limit $4

-- name: timetable_insert
-- Store a timetable that is made at run time, unless its name is taken. Ticks of an earlier one of its name are decided.
insert into postroad.schedule (tenant, name, origin, cron, tz, every_ms, start_at, decided_to, queue, body,
                               is_bytes, missed, paused, look_at, version, changed_at, error)
values ($1, $2, $3, $4, $5, $6, $7,
        greatest($8, (select max(at) from postroad.tick where tenant = $1 and schedule = $2)), $9, $10, $11, $12, $13,
        $14, $15, $16, $17)
on conflict do nothing returning 1

-- name: timetable_put
-- Change a timetable that nobody has changed meanwhile. What is decided stays so.
update postroad.schedule
   set cron = $4, tz = $5, every_ms = $6, start_at = $7, decided_to = greatest(decided_to, $8), queue = $9, body = $10,
       is_bytes = $11, missed = $12, paused = $13, look_at = $14, version = $15, changed_at = $16, error = $17
 where tenant = $1 and name = $2 and origin = $3 and version = $18 returning 1

-- name: timetable_delete
-- Delete a timetable that nobody has changed meanwhile.
delete from postroad.schedule where tenant = $1 and name = $2 and version = $3 returning 1

-- name: timetable_page
-- List a tenant's timetables by name, without their bodies of up to 64 KB each; or one of them, with it.
select tenant, name, origin, cron, tz, every_ms, start_at, decided_to, queue,
       case when $2::text = '' then ''::bytea else body end, is_bytes, missed, paused, look_at, version, changed_at, error
  from postroad.schedule where tenant = $1 and ($2::text = '' or name = $2) and name > $3 order by name limit $4

-- name: declared_versions
-- List the versions of the timetables of programs.
select name, version from postroad.schedule where tenant = $1 and origin = 'code'

-- name: timetables_next
-- List the timetables that are to be looked at first.
select tenant, name, origin, cron, tz, every_ms, start_at, decided_to, queue, body, is_bytes, missed, paused, look_at,
       version, changed_at, error
  from postroad.schedule where look_at < $1 order by look_at limit $2

-- name: timetable_postpone
-- Look at a timetable later, unless it was changed.
update postroad.schedule set look_at = $4, error = $5 where tenant = $1 and name = $2 and version = $3 returning 1
