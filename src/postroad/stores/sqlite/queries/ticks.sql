-- Timetables and their ticks.

-- name: schedule_insert
-- Insert a timetable of a program, decided up to now; of one that is there only what is sent may change.
insert into schedule (tenant, name, origin, cron, tz, every_ms, start_at, decided_to, queue, body, is_bytes, missed,
                      paused, look_at, version, changed_at, error)
values (?1, ?2, 'code', ?3, ?4, 0, 0, ?7, ?5, x'', 0, ?6, 0, 4611686018427387904, 0, ?7, '')
on conflict do update set queue = excluded.queue, missed = excluded.missed
 where origin = 'code' and (queue, missed) is not (excluded.queue, excluded.missed)

-- name: schedule_find
-- Find a timetable by name, of this origin if one is given.
select name, cron, tz, decided_to, tenant, every_ms, start_at, version, paused
  from schedule where tenant = ?1 and name = ?2 and (?3 = '' or origin = ?3)

-- name: schedule_decide
-- Note up to when a timetable is decided, by which plan, and when to look again; the time never goes back.
update schedule set cron = ?3, tz = ?4, decided_to = max(decided_to, ?5), look_at = ?6, error = ''
 where tenant = ?1 and name = ?2

-- name: tick_insert
-- Note what became of a tick; a second note of one tick is refused.
insert into tick (tenant, schedule, at, fate, message_id, decided_at) values (?1, ?2, ?3, ?4, ?5, ?6)

-- name: tick_notes
-- List what became of a timetable's ticks, in order of time.
select at, fate, message_id, decided_at from tick where tenant = ?1 and schedule = ?2 and at > ?3 order by at limit ?4

-- name: timetable_insert
-- Store a timetable that is made at run time, unless its name is taken. Ticks of an earlier one of its name are decided.
insert into schedule (tenant, name, origin, cron, tz, every_ms, start_at, decided_to, queue, body, is_bytes, missed,
                      paused, look_at, version, changed_at, error)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7,
        max(?8, coalesce((select max(at) from tick where tenant = ?1 and schedule = ?2), 0)), ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16,
        ?17) on conflict do nothing

-- name: timetable_put
-- Change a timetable that nobody has changed meanwhile. What is decided stays so.
update schedule
   set cron = ?4, tz = ?5, every_ms = ?6, start_at = ?7, decided_to = max(decided_to, ?8), queue = ?9, body = ?10,
       is_bytes = ?11, missed = ?12, paused = ?13, look_at = ?14, version = ?15, changed_at = ?16, error = ?17
 where tenant = ?1 and name = ?2 and origin = ?3 and version = ?18

-- name: timetable_delete
-- Delete a timetable that nobody has changed meanwhile.
delete from schedule where tenant = ?1 and name = ?2 and version = ?3

-- name: timetable_page
-- List a tenant's timetables by name, without their bodies of up to 64 KB each; or one of them, with it.
select tenant, name, origin, cron, tz, every_ms, start_at, decided_to, queue,
       case when ?2 = '' then x'' else body end, is_bytes, missed, paused, look_at, version, changed_at, error
  from schedule where tenant = ?1 and (?2 = '' or name = ?2) and name > ?3 order by name limit ?4

-- name: declared_versions
-- List the versions of the timetables of programs.
select name, version from schedule where tenant = ?1 and origin = 'code'

-- name: timetables_next
-- List the timetables that are to be looked at first.
select tenant, name, origin, cron, tz, every_ms, start_at, decided_to, queue, body, is_bytes, missed, paused, look_at,
       version, changed_at, error
  from schedule where look_at < ?1 order by look_at limit ?2

-- name: timetable_postpone
-- Look at a timetable later, unless it was changed.
update schedule set look_at = ?4, error = ?5 where tenant = ?1 and name = ?2 and version = ?3
