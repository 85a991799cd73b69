-- A page of the dead set by tenant, queue, reason, error text and time, the latest death first.
select d.id, q.tenant, q.name, d.reason, d.error, d.status, d.died_at, d.accepted_at, d.level,
       d.attempts, d.priority, d.order_key
  from postroad.dead d join postroad.queue q on q.id = d.queue_id
 where d.died_at >= $5 and d.died_at < $6 and (d.died_at, d.id) < ($7, $8)
   and ($1::text is null or q.tenant = $1) and ($2::text is null or q.name = $2)
   and ($3::text is null or d.reason = $3)
   and ($4::text is null or strpos(lower(d.error), lower($4)) > 0)
 order by d.died_at desc, d.id desc limit $9
