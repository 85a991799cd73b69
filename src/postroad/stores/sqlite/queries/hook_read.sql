-- What is set for a webhook queue.
select w.queue_id, q.tenant, w.settings, w.key, w.sealed
  from webhook w join queue q on q.id = w.queue_id where w.queue_id = ?1
