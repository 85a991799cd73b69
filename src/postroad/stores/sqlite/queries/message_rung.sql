-- The rung of a message that is not finished.
select rung_id, place from message where id = ?1
