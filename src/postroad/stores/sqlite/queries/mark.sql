-- A message is about to start; counted in case the lease is lost.
update message set marks = marks + 1 where id = ?1
