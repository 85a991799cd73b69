-- Bodies of finished messages.

-- name: body_keep
-- Keep the body of an unfinished or dead message that is delivered now.
insert or replace into kept_body
select m.id, r.queue_id, r.priority, m.order_key, m.headers, m.body, ?2
  from message m join rung r on r.id = m.rung_id where m.id = ?1
union all
select id, queue_id, priority, order_key, headers, body, ?2 from dead where id = ?1

-- name: bodies_retain
-- Delete bodies that were kept long enough.
delete from kept_body where id in (select id from kept_body where ends_at <= ?1 order by ends_at limit ?2)

-- name: bodies
-- Read what is stored of finished messages: kept bodies and dead ones, with their queues.
select b.id, q.tenant, q.name, b.priority, b.order_key, b.headers, b.body
  from json_each(?1) j cross join kept_body b on b.id = j.value join queue q on q.id = b.queue_id
union all
select d.id, q.tenant, q.name, d.priority, d.order_key, d.headers, d.body
  from json_each(?1) j cross join dead d on d.id = j.value join queue q on q.id = d.queue_id

-- name: body_of_unfinished
-- Read the body of an unfinished message.
select m.id, q.tenant, q.name, r.priority, m.order_key, m.headers, m.body
  from message m join rung r on r.id = m.rung_id join queue q on q.id = r.queue_id where m.id = ?1
