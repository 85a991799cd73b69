-- A queue's rungs are gone.
delete from rung where queue_id = ?1
