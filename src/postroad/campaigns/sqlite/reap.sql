-- A job is free; one that was stopped stays so.
update job set owner = null, epoch = epoch + 1,
       state = case when state in ('ENQUEUED', 'SENDING') then 'READY' else state end
 where id = ?1
