-- The same headers under another key, unless the message is gone.
update message set headers = ?2 where id = ?1 and headers = ?3
