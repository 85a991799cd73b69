-- Own a lane, at a new epoch.
update lane set owner = ?2, epoch = epoch + 1 where id = ?1 and owner is null
returning id, transport, server, credential, shard, tenant, epoch, circuit_strikes, circuit_opened,
          circuit_until, circuit_since, circuit_reason, crashes, paused_at
