-- The longest dead beyond so many, a slice at a time.
delete from dead
 where id in (select id from dead order by died_at, id
               limit max(0, min(?2, (select count(*) from dead) - ?1)))
returning id
