-- Bodies of finished messages.

-- name: keep_bodies
-- Keep the bodies of unfinished or dead messages that are delivered now.
insert into postroad.kept_body
select m.id, r.queue_id, r.priority, m.order_key, m.headers, m.body, k.ends
  from unnest($1::bigint[], $2::bigint[]) k(id, ends) join postroad.message m on m.id = k.id
  join postroad.rung r on r.id = m.rung_id
union all
select d.id, d.queue_id, d.priority, d.order_key, d.headers, d.body, k.ends
  from unnest($1::bigint[], $2::bigint[]) k(id, ends) join postroad.dead d on d.id = k.id
on conflict do nothing

-- name: bodies
-- Read what is stored of finished messages: kept bodies and dead ones, with their queues.
select b.id, q.tenant, q.name, b.priority, b.order_key, b.headers, b.body
  from postroad.kept_body b join postroad.queue q on q.id = b.queue_id where b.id = any ($1::bigint[])
union all
select d.id, q.tenant, q.name, d.priority, d.order_key, d.headers, d.body
  from postroad.dead d join postroad.queue q on q.id = d.queue_id where d.id = any ($1::bigint[])

-- name: body_of_unfinished
-- Read the body of an unfinished message.
select m.id, q.tenant, q.name, r.priority, m.order_key, m.headers, m.body
  from postroad.message m join postroad.rung r on r.id = m.rung_id
  join postroad.queue q on q.id = r.queue_id where m.id = $1
