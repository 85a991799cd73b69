-- A lane and its owner.
select l.id, l.tenant, l.transport, l.server, l.shard, l.circuit_strikes, l.circuit_opened,
       l.circuit_until, l.circuit_since, l.circuit_reason, l.paused_at, l.crashes, l.owner,
       coalesce(p.host, ''), coalesce(p.pid, 0), coalesce(p.beat_at, 0)
  from lane l left join process p on p.id = l.owner where l.id = ?1
