-- The servers and how their lanes stand; a handler has one lane a shard.
select server, max(circuit_opened), max(circuit_until), max(circuit_reason)
  from lane group by transport, server order by min(id)
