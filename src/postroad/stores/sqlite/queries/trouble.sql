-- Open circuits, blocked queues and paused queues of a tenant, or of all (null).
select (select count(*) from lane where circuit_opened > 0 and (?1 is null or tenant = ?1)),
       (select count(*) from queue where block_kind <> '' and (?1 is null or tenant = ?1)),
       (select count(*) from queue where paused_at > 0 and (?1 is null or tenant = ?1))
