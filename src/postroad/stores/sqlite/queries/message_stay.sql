-- A try that spent no level. The number of tries tells a result that is written twice.
update message set attempts = attempts + 1, marks = max(0, marks - 1) where id = ?1 and attempts = ?2
