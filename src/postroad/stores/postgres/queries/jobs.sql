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

-- name: outputs_of_running
-- The latest reports of progress of a tenant, each with its queue and with how many tries of its message are
-- recorded; of what has ended, nothing. So many reports are looked at.
with told as materialized (
  select o.id, q.name, o.ends_at, o.body from postroad.queue q
   cross join lateral (select id, ends_at, body from postroad.job_output
                        where queue_id = q.id and kind = 0 and ends_at > postroad.now_ms()
                        order by ends_at desc limit $2) o
   where q.tenant = $1 order by o.ends_at desc limit $2)
select t.id, t.name, m.attempts, t.body from told t join postroad.message m on m.id = t.id
 order by t.ends_at desc

-- name: failures_of
-- What the tries of one job raised, the first one first.
select o.body from postroad.job_output o join postroad.queue q on q.id = o.queue_id
 where o.id = $2 and o.kind < 0 and o.ends_at > postroad.now_ms() and ($1::text is null or q.tenant = $1) order by o.kind desc
