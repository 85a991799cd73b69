-- Finished work older than a time; ids are in time order, so no index on the time is needed.
delete from history
 where id in (select id from history where id < ?1 and finished_at < ?2 order by id limit ?3)
returning id
