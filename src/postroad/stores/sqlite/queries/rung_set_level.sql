-- An ordered slot is at the level of its head, and waits for it.
update rung set level = ?2, ready_at = max(?3, blocked_until) where id = ?1
