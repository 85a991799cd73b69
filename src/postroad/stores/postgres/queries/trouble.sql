-- Open circuits, blocked queues and paused queues of a tenant, or of all (null).
select (select count(*) from postroad.lane where circuit_opened > 0 and ($1::text is null or tenant = $1)),
       (select count(*) from postroad.queue where block_kind <> '' and ($1::text is null or tenant = $1)),
       (select count(*) from postroad.queue where paused_at > 0 and ($1::text is null or tenant = $1))
