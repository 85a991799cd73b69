-- The exhausted head of a slot is due again, at a level, without a deadline.
update message set level = ?2, due = ?3, expires_at = 4611686018427387904, marks = 0 where id = ?1
