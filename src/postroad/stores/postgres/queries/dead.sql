-- The dead set.

-- name: dead_page
-- A page of the dead set by tenant, queue, reason, error text and time, the latest death first.
select d.id, q.tenant, q.name, d.reason, d.error, d.status, d.died_at, d.accepted_at, d.level,
       d.attempts, d.priority, d.order_key
  from postroad.dead d join postroad.queue q on q.id = d.queue_id
 where d.died_at >= $5 and d.died_at < $6 and (d.died_at, d.id) < ($7, $8)
   and ($1::text is null or q.tenant = $1) and ($2::text is null or q.name = $2)
   and ($3::text is null or d.reason = $3)
   and ($4::text is null or strpos(lower(d.error), lower($4)) > 0)
 order by d.died_at desc, d.id desc limit $9

-- name: dead_letter
-- One dead message of a tenant, with what was sent and tried.
select d.id, q.tenant, q.name, d.reason, d.error, d.status, d.died_at, d.accepted_at, d.level,
       d.attempts, d.priority, d.order_key, d.headers, d.body, postroad.tries_of(d.id) as tries
  from postroad.dead d join postroad.queue q on q.id = d.queue_id
 where d.id = $1 and ($2::text is null or q.tenant = $2)

-- name: dead_reasons
-- A tenant's dead messages, or everybody's (null), by reason.
select d.reason, count(*) from postroad.dead d join postroad.queue q on q.id = d.queue_id
 where $1::text is null or q.tenant = $1 group by 1 order by 1

-- name: replay
-- Put the dead messages that are meant back on their rungs.
select postroad.replay($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)

-- name: purge
-- Delete the dead messages that are meant.
select postroad.purge($1, $2, $3, $4, $5, $6, $7, $8, $9)

-- name: trim
-- Delete a slice of the dead beyond so many, those dead longest first.
select postroad.trim_dead($1, $2)
