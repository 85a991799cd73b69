-- A lane goes on; the pause does not count towards the spell of its silence.
update lane
   set circuit_since = case when circuit_since > 0 then circuit_since + (?2 - paused_at) else 0 end,
       paused_at = 0
 where id = ?1 and paused_at > 0
