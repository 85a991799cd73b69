-- The exhausted head of an ordered slot holds it.
update rung set held = ?2, blocked_until = 4611686018427387904, ready_at = 4611686018427387904
 where id = ?1
