-- An uncertain message goes back to a rung, due from a time on.
update message set rung_id = ?2, place = ?3, due = ?3, marks = 0 where id = ?1
