-- A message goes to another rung, or to a later time on its own. The number of tries tells a result that is written twice.
update message set rung_id = ?2, place = ?3, due = ?3, level = ?4, attempts = attempts + 1, marks = 0
 where id = ?1 and attempts = ?5
