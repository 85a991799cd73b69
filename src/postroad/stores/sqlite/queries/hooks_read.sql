-- What is set for webhook queues; ?1: their numbers, as JSON.
select w.queue_id, q.tenant, w.settings, w.key, w.sealed
  from json_each(?1) asked
  join webhook w on w.queue_id = asked.value
  join queue q on q.id = w.queue_id
