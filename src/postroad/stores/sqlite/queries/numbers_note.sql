-- The numbers that a queue and its rungs and lanes have are not given again.
update queue_walk
   set queue = max(queue, ?1),
       lane = max(lane, coalesce((select max(lane_id) from queue_lane where queue_id = ?1), 0)),
       rung = max(rung, coalesce((select max(id) from rung where queue_id = ?1), 0))
 where one = 1
