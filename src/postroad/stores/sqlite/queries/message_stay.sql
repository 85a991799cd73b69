-- A try that spent no level.
update message set attempts = attempts + 1, marks = 0 where id = ?1
