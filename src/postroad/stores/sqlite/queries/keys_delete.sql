-- A queue's keys are forgotten.
delete from idempotency where queue_id = ?1
