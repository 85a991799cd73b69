-- A lane is paused from now on.
update lane set paused_at = ?2 where id = ?1 and paused_at = 0
