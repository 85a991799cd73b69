-- A queue has no lanes any more.
delete from queue_lane where queue_id = ?1
