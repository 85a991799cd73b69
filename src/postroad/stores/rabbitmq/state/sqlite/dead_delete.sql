-- A dead message was delivered after all.
delete from dead where id = ?1
