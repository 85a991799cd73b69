-- A dead message was delivered after all.
delete from postroad.dead where id = $1
