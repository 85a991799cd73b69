-- Settings that are not sealed with a key, in order of queue.
select w.queue_id, q.tenant, w.settings, w.key, w.sealed
  from postroad.webhook w join postroad.queue q on q.id = w.queue_id
 where w.key <> $1 and w.queue_id > $2 order by w.queue_id limit $3
