-- Which lanes are ready, tenant by tenant, and how one is claimed.

-- name: claim_ready
-- Find lanes of a pool that are ready at a level, the longest ready first.
select ready_at, lane_id, tenant from lane_level
 where pool = ?1 and level = ?2 and ready_at <= ?3 and ready_at < 4611686018427387904
 order by ready_at limit ?4

-- name: claim_times
-- Read, for each of some levels and pools, when its first lane is or was ready, and when the next one will be. Most
-- have none: asked one by one, a claim took 35 statements.
select l.value, p.value,
       (select min(ready_at) from lane_level
         where pool = p.value and level = l.value and ready_at < 4611686018427387904),
       (select min(ready_at) from lane_level
         where pool = p.value and level = l.value and ready_at > ?3 and ready_at < 4611686018427387904)
  from json_each(?1) l cross join json_each(?2) p

-- name: claim_several
-- Tell whether lanes of more than one tenant are or will be ready at a level. Most roads have one.
select (select tenant from lane_level indexed by lane_level_turn
         where pool = ?1 and level = ?2 and ready_at < 4611686018427387904
         order by tenant limit 1)
    <> (select tenant from lane_level indexed by lane_level_turn
         where pool = ?1 and level = ?2 and ready_at < 4611686018427387904
         order by tenant desc limit 1)

-- name: claim_tenant
-- Find the next tenant, by name, with a lane of a pool that is or will be ready at a level.
select tenant from lane_level indexed by lane_level_turn
 where pool = ?1 and level = ?2 and tenant > ?3 and ready_at < 4611686018427387904
 order by tenant limit 1

-- name: claim_of
-- Find lanes of one tenant and pool that are ready at a level, the longest ready first.
select ready_at, lane_id, tenant from lane_level indexed by lane_level_turn
 where pool = ?1 and level = ?2 and tenant = ?3 and ready_at <= ?4 and ready_at < 4611686018427387904
 order by ready_at limit ?5

-- name: claim_take
-- Own a lane that nobody owns, at a new epoch.
update lane set owner = ?2, epoch = epoch + 1 where id = ?1 and owner is null
returning id, transport, server, credential, shard, tenant, epoch, circuit_strikes, circuit_opened,
          circuit_until, circuit_since, circuit_reason, crashes, paused_at
