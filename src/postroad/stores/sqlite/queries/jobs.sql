-- Results of jobs, and how far they have come.

-- name: output_put
-- Store the result or the progress of a job; the newest one stands.
insert or replace into job_output (id, kind, queue_id, ends_at, body) values (?1, ?2, ?3, ?4, ?5)

-- name: output_of
-- Read the result or the progress of one job.
select o.body from job_output o join queue q on q.id = o.queue_id
 where o.id = ?2 and o.kind = ?3 and o.ends_at > ?4 and (?1 is null or q.tenant = ?1)

-- name: outputs_retain
-- Delete what was kept long enough.
delete from job_output where (id, kind) in (select id, kind from job_output where ends_at <= ?1 order by ends_at limit ?2)

-- name: outputs_of_running
-- The latest reports of progress of a tenant, each with its queue and with how many tries of its message are
-- recorded; of what has ended, nothing. So many reports are looked at.
with told as materialized (
  select o.id, q.name, o.ends_at, o.body from queue q cross join job_output o on o.queue_id = q.id
   where q.tenant = ?1 and o.kind = 0 and o.ends_at > ?2 order by o.ends_at desc limit ?3)
select t.id, t.name, m.attempts, t.body from told t join message m on m.id = t.id
 order by t.ends_at desc

-- name: failures_of
-- What the tries of one job raised, the first one first.
select o.body from job_output o join queue q on q.id = o.queue_id
 where o.id = ?2 and o.kind < 0 and o.ends_at > ?3 and (?1 is null or q.tenant = ?1) order by o.kind desc
