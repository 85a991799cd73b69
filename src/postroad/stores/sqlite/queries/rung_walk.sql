-- The next messages of a rung, for a walk over all of them.
select place, id, accepted_at, order_key from message
 where rung_id = ?1 and (place, id) > (?2, ?3) order by place, id limit ?4
