-- A lane by its key.
select id from lane
 where tenant = ?1 and transport = ?2 and server = ?3 and credential = ?4 and shard = ?5
