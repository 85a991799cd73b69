-- A message is to be cancelled by its lane's owner, or by whoever finds that owner dead.
update message set unwanted = 1 where id = ?1 and unwanted = 0
