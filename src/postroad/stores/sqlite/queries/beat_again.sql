-- A process that was declared dead has been told so, and begins anew.
update process set beat_at = ?2, reaped = 0 where id = ?1
