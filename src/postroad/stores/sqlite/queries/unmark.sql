-- A message was stopped without a lost lease.
update message set marks = max(0, marks - 1) where id = ?1
