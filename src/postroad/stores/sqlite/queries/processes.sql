-- Engine processes: numbers, heartbeats, and who is gone.

-- name: join
-- Give a process a new owner number.
insert into process (beat_at, host, pid, version, started_at) values (?1, ?2, ?3, ?4, ?1) returning id

-- name: beat
-- Renew a process's heartbeat; answers no row if it was declared dead.
update process set beat_at = ?2 where id = ?1 and reaped = 0 returning id

-- name: beat_again
-- Let a process that was declared dead, and has been told so, go on.
update process set beat_at = ?2, reaped = 0 where id = ?1

-- name: beat_new
-- Write the heartbeat of a process that takes lanes; an idle one may have been deleted meanwhile.
insert into process (id, beat_at, host, pid, version, started_at) values (?1, ?2, ?3, ?4, ?5, ?2)
on conflict (id) do update set beat_at = excluded.beat_at

-- name: leave
-- Delete a process that owns nothing any more.
delete from process where id = ?1

-- name: dead_owners
-- Find owners of lanes that were not heard from since a time.
select distinct l.owner, coalesce(p.host, ''), coalesce(p.pid, 0)
  from lane l left join process p on p.id = l.owner
 where l.owner is not null and coalesce(p.beat_at, 0) <= ?1

-- name: reap
-- Declare a process dead.
update process set reaped = 1 where id = ?1

-- name: forget_idle
-- Delete processes that own nothing and were not heard from since a time.
delete from process where beat_at <= ?1 and id not in (select owner from lane where owner is not null)
