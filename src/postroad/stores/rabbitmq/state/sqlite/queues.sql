-- Queues and lanes: blocks, circuits, pauses.

-- name: lanes
-- Reads lanes (a JSON list of ids) as an owner gets them: key, circuit, pause.
select l.id, l.transport, l.server, l.credential, l.shard, l.tenant, l.circuit_strikes,
       l.circuit_opened, l.circuit_until, l.circuit_since, l.circuit_reason, l.paused_at
  from json_each(?1) j join lane l on l.id = j.value

-- name: lane_circuit
-- Sets the circuit of a lane.
update lane set circuit_strikes = ?2, circuit_opened = ?3, circuit_until = ?4, circuit_since = ?5,
                circuit_reason = ?6
 where id = ?1

-- name: lane_lift
-- Lifts the `unreachable` blocks of a lane's queues when its circuit closes.
update queue set block_kind = '', block_until = 0, block_reason = '', block_streak = 0,
                 block_since = 0
 where block_kind = 'unreachable'
   and id in (select queue_id from queue_lane where lane_id = ?1)

-- name: queue_block
-- Sets the block of a queue; an empty kind lifts it.
update queue set block_kind = ?2, block_until = ?3, block_reason = ?4, block_streak = ?5,
                 block_since = ?6
 where id = ?1
