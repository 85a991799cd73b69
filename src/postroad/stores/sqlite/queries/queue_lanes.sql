-- A queue's lanes, by shard.
select lane_id from queue_lane where queue_id = ?1 order by shard
