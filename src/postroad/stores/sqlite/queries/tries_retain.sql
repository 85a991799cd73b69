-- The oldest of the tries, where they are older than a time.
delete from webhook_try
 where id in (select id from webhook_try order by id limit ?2) and started_at < ?1
