-- The same headers under another key, unless the message is gone.
update postroad.message set headers = $2 where id = $1 and headers = $3 returning id
