-- A process says that it is still here; no row when it was declared dead.
update process set beat_at = ?2 where id = ?1 and reaped = 0 returning id
