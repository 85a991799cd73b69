-- An owner is still here.
update job set lease_until = ?2 where owner = ?1
