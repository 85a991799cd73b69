-- A message is finished.
delete from message where id = ?1
