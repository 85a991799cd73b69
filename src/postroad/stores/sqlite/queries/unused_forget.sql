-- A queue is used.
delete from unused_queue where queue_id = ?1
