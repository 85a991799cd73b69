-- A message leaves the dead set.
delete from dead where id = ?1
