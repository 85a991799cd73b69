-- Dead messages older than a time.
delete from dead where id in (select id from dead where died_at < ?1 order by died_at limit ?2)
returning id
