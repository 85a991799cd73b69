-- It was not started after all, or a try of it has ended.
update postroad.broker_message set starts = greatest(0, starts - $2) where id = $1
