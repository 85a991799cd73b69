-- Forget what is done since before a time, a slice at a time.
delete from postroad.broker_message
 where id in (select id from postroad.broker_message where done = 1 and noted_at < $1 limit $2)
