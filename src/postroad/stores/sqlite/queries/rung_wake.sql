-- A rung has something from a time on; its block counts, and nothing happens if it was ready sooner.
update rung set ready_at = max(?2, blocked_until)
 where id = ?1 and ready_at > max(?2, blocked_until)
