-- The lanes that a process owns, with their epochs.
select id, epoch from lane where owner = ?1
