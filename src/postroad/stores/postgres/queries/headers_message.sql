-- The headers of unfinished messages, by id, with the queues that they were sent to.
select m.id, q.tenant, q.name, m.headers
  from postroad.message m join postroad.rung r on r.id = m.rung_id join postroad.queue q on q.id = r.queue_id
 where m.id > $1 order by m.id limit $2
