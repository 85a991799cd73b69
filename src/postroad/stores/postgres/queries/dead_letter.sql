-- One dead message of a tenant, with what was sent and tried.
select d.id, q.tenant, q.name, d.reason, d.error, d.status, d.died_at, d.accepted_at, d.level,
       d.attempts, d.priority, d.order_key, d.headers, d.body, postroad.tries_of(d.id) as tries
  from postroad.dead d join postroad.queue q on q.id = d.queue_id
 where d.id = $1 and ($2::text is null or q.tenant = $2)
