-- A page of what is set for a tenant's webhooks, by name.
select q.name, w.queue_id, q.tenant, w.settings, w.key, w.sealed
  from queue q join webhook w on w.queue_id = q.id
 where q.tenant = ?1 and q.name > ?2 order by q.name limit ?3
