-- The lanes of some ids (a JSON list), as an owner gets them: circuit, pause, key.
select l.id, l.transport, l.server, l.credential, l.shard, l.tenant, l.circuit_strikes,
       l.circuit_opened, l.circuit_until, l.circuit_since, l.circuit_reason, l.paused_at
  from postroad.lane l
 where l.id = any (array(select value::bigint from json_array_elements_text($1::json)))
