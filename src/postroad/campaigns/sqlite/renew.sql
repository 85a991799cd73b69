-- An owner is still here, and works on these jobs.
update job set lease_until = ?2 where owner = ?1 and id in (select value from json_each(?3))
