-- Whether a message is not finished.
select 1 from message where id = ?1
