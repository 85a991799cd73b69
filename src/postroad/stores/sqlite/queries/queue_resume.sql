-- A queue goes on; the pause does not count towards the spell of its block.
update queue
   set block_since = case when block_since > 0 then block_since + (?2 - paused_at) else 0 end,
       paused_at = 0, resumed_at = ?2
 where id = ?1 and paused_at > 0
