-- The same headers under another key, unless the dead message is gone.
update postroad.dead set headers = $2 where id = $1 and headers = $3 returning id
