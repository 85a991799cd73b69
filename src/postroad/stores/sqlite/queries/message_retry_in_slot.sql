-- The head of an ordered slot failed: it stays the head.
update message set due = ?2, level = ?3, attempts = attempts + 1, marks = 0 where id = ?1
