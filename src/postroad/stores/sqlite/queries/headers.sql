-- Headers of stored messages, read and sealed again when keys change.

-- name: headers_message
-- Read headers of unfinished messages by id, with the queues that they were sent to.
select m.id, q.tenant, q.name, m.headers
  from message m join rung r on r.id = m.rung_id join queue q on q.id = r.queue_id
 where m.id > ?1 order by m.id limit ?2

-- name: headers_message_write
-- Replace a message's headers, unless they have changed meanwhile.
update message set headers = ?2 where id = ?1 and headers = ?3

-- name: headers_dead
-- Read headers of dead messages by id, with the queues that they were sent to.
select d.id, q.tenant, q.name, d.headers from dead d join queue q on q.id = d.queue_id
 where d.id > ?1 order by d.id limit ?2

-- name: headers_dead_write
-- Replace a dead message's headers, unless they have changed meanwhile.
update dead set headers = ?2 where id = ?1 and headers = ?3

-- name: headers_kept_body
-- Read headers of delivered messages whose bodies are kept, with the queues that they were sent to.
select b.id, q.tenant, q.name, b.headers from kept_body b join queue q on q.id = b.queue_id
 where b.id > ?1 order by b.id limit ?2

-- name: headers_kept_body_write
-- Replace the headers of a kept body, unless they have changed meanwhile.
update kept_body set headers = ?2 where id = ?1 and headers = ?3

-- name: headers_batch_held
-- Read headers of messages that follow batches, with their queues.
select h.id, q.tenant, q.name, h.headers from batch_held h join queue q on q.id = h.queue_id
 where h.id > ?1 order by h.id limit ?2

-- name: headers_batch_held_write
-- Replace the headers of a message that follows a batch, unless they have changed meanwhile.
update batch_held set headers = ?2 where id = ?1 and headers = ?3
