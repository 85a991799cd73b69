-- A campaign has no failures any more.
update campaign set failed = 0 where id = ?1
