-- A queue is paused from now on.
update queue set paused_at = ?2 where id = ?1 and paused_at = 0
