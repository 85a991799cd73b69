-- A new queue, with a number that no queue ever had.
insert into queue (id, tenant, name, transport, policy)
select 1 + max(w.queue, coalesce((select max(id) from queue), 0)), ?1, ?2, ?3, ?4
  from queue_walk w where w.one = 1
returning id
