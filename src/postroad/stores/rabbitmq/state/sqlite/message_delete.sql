-- A message that was kept here is kept here no longer.
delete from message where id = ?1
