-- The headers of unfinished messages, by id, with the queues that they were sent to.
select m.id, q.tenant, q.name, m.headers
  from message m join rung r on r.id = m.rung_id join queue q on q.id = r.queue_id
 where m.id > ?1 order by m.id limit ?2
