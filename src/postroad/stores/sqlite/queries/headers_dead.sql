-- The headers of dead messages, by id, with the queues that they were sent to.
select id, queue_id, headers from dead where id > ?1 order by id limit ?2
