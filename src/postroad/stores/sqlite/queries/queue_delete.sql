-- A queue is gone.
delete from queue where id = ?1
