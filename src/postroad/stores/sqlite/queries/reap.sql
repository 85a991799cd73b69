-- A process is declared dead.
update process set reaped = 1 where id = ?1
