-- How many recipients a campaign has.
update campaign set last_n = ?2, total = total + ?3 where id = ?1
