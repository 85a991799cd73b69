-- Which lane serves a shard of a queue.
insert into queue_lane (queue_id, shard, lane_id) values (?1, ?2, ?3)
