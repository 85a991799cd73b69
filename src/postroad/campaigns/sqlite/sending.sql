-- A job sends.
update job set state = 'SENDING' where id = ?1 and state = 'ENQUEUED'
