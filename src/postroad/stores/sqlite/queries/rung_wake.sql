-- A rung has something from a time on; its block counts, and nothing happens if it was ready sooner.
-- Where no positions are given they count how often it was woken, which tells whether it was used.
update rung set ready_at = max(?2, blocked_until), last_place = last_place + (slot = 0)
 where id = ?1 and ready_at > max(?2, blocked_until)
