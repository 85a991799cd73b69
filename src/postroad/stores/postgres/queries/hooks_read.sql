-- What is set for webhook queues.
select w.queue_id, q.tenant, w.settings, w.key, w.sealed
  from postroad.webhook w join postroad.queue q on q.id = w.queue_id where w.queue_id = any ($1)
