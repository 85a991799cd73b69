-- The tries of a message that is forgotten.
delete from attempt where message_id = ?1
