-- The lanes that a process owns.
select id from lane where owner = ?1
