-- The lanes of some ids (a JSON list), as an owner gets them: circuit, pause, key.
select l.id, l.transport, l.server, l.credential, l.shard, l.tenant, l.circuit_strikes,
       l.circuit_opened, l.circuit_until, l.circuit_since, l.circuit_reason, l.paused_at
  from json_each(?1) j join lane l on l.id = j.value
