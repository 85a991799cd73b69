-- How many queues a lane serves.
select count(*) from queue_lane where lane_id = ?1
