-- Results of jobs, and how far they have come.

-- name: outputs_put
-- Store results or progress of jobs; the newest one stands.
insert into postroad.job_output (id, kind, queue_id, ends_at, body)
select * from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bytea[]) order by 1, 2
on conflict (id, kind) do update set ends_at = excluded.ends_at, body = excluded.body

-- name: output_of
-- Read the result or the progress of one job.
select o.body from postroad.job_output o join postroad.queue q on q.id = o.queue_id
 where o.id = $2 and o.kind = $3 and o.ends_at > postroad.now_ms() and ($1::text is null or q.tenant = $1)

-- name: outputs_newest
-- Read the progress of the jobs that were reported last.
select o.id, q.tenant, q.name, o.body from postroad.job_output o join postroad.queue q on q.id = o.queue_id
 where o.kind = 0 and o.ends_at > postroad.now_ms() and ($1::text is null or q.tenant = $1)
 order by o.ends_at desc limit $2
