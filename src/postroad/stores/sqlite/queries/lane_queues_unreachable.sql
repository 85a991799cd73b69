-- The queues of a lane that wait because their server could not be reached.
select q.id from queue_lane ql join queue q on q.id = ql.queue_id
 where ql.lane_id = ?1 and q.block_kind = 'unreachable'
