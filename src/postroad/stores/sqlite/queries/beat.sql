-- A process says that it is still here.
update process set beat_at = ?2 where id = ?1 returning id
