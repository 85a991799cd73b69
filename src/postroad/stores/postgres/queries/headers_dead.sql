-- The headers of dead messages, by id, with the queues that they were sent to.
select d.id, q.tenant, q.name, d.headers from postroad.dead d join postroad.queue q on q.id = d.queue_id
 where d.id > $1 order by d.id limit $2
