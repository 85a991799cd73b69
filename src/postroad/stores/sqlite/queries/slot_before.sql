-- The message right before a place in an ordered slot.
select id from message where rung_id = ?1 and (place, id) < (?2, ?3)
 order by place desc, id desc limit 1
