-- It was not started after all, or a try of it has ended.
update broker_message set starts = max(0, starts - ?2) where id = ?1
