-- A circuit closes: its queues need not wait for their recipients either.
update queue set block_kind = '', block_until = 0, block_reason = '', block_streak = 0,
                 block_since = 0
 where block_kind = 'unreachable'
   and id in (select queue_id from queue_lane where lane_id = ?1)
