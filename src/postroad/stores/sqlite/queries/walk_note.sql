-- How far the walk over queues is, and when it may go on.
update queue_walk set after_id = ?1, next_at = ?2 where one = 1
