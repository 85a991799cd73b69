-- The head of an ordered slot failed: it stays the head. The number of tries tells a result that is written twice.
update message set due = ?2, level = ?3, attempts = attempts + 1, marks = 0 where id = ?1 and attempts = ?4
