-- The rung of a message that is not finished.
select rung_id from message where id = ?1
