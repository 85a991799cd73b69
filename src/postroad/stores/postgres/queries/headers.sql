-- Private headers, when they are sealed with another key.

-- name: headers_message
-- The headers of unfinished messages by id, with their queues.
select m.id, q.tenant, q.name, m.headers
  from postroad.message m join postroad.rung r on r.id = m.rung_id join postroad.queue q on q.id = r.queue_id
 where m.id > $1 order by m.id limit $2

-- name: headers_message_write
-- Write the same headers under another key, unless the message is gone.
update postroad.message set headers = $2 where id = $1 and headers = $3 returning id

-- name: headers_dead
-- The headers of dead messages by id, with their queues.
select d.id, q.tenant, q.name, d.headers from postroad.dead d join postroad.queue q on q.id = d.queue_id
 where d.id > $1 order by d.id limit $2

-- name: headers_dead_write
-- Write the same headers under another key, unless the dead message is gone.
update postroad.dead set headers = $2 where id = $1 and headers = $3 returning id

-- name: headers_kept_body
-- Read headers of delivered messages whose bodies are kept, with the queues that they were sent to.
select b.id, q.tenant, q.name, b.headers
  from postroad.kept_body b join postroad.queue q on q.id = b.queue_id
 where b.id > $1 order by b.id limit $2

-- name: headers_kept_body_write
-- Replace the headers of a kept body, unless they have changed meanwhile.
update postroad.kept_body set headers = $2 where id = $1 and headers = $3 returning id

-- name: headers_batch_held
-- Read headers of messages that follow batches, with their queues.
select h.id, q.tenant, q.name, h.headers from postroad.batch_held h join postroad.queue q on q.id = h.queue_id
 where h.id > $1 order by h.id limit $2

-- name: headers_batch_held_write
-- Replace the headers of a message that follows a batch, unless they have changed meanwhile.
update postroad.batch_held set headers = $2 where id = $1 and headers = $3 returning id
