-- Results of jobs, and how far they have come.

-- name: output_put
-- Store the result or the progress of a job; the newest one stands.
insert or replace into job_output (id, kind, queue_id, ends_at, body) values (?1, ?2, ?3, ?4, ?5)

-- name: output_of
-- Read the result or the progress of one job.
select o.body from job_output o join queue q on q.id = o.queue_id
 where o.id = ?2 and o.kind = ?3 and o.ends_at > ?4 and (?1 is null or q.tenant = ?1)

-- name: outputs_newest
-- Read the progress of the jobs that were reported last.
select o.id, q.tenant, q.name, o.body from job_output o join queue q on q.id = o.queue_id
 where o.kind = 0 and o.ends_at > ?2 and (?1 is null or q.tenant = ?1) order by o.ends_at desc limit ?3

-- name: outputs_retain
-- Delete what was kept long enough.
delete from job_output where (id, kind) in (select id, kind from job_output where ends_at <= ?1 order by ends_at limit ?2)
