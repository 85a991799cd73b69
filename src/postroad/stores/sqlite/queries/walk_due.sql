-- How far the walk over queues is, if it may go on; what a broker holds is not seen from here.
select after_id from queue_walk
 where one = 1 and next_at <= ?1 and not exists (select 1 from broker_message)
