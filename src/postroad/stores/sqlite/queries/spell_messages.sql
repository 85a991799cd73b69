-- A queue's messages with ids from before a time, on all its lanes or (not 0) on one, which have
-- been due for as long: not what was replayed since, or asked for later. Ids are in time order:
-- only what is that old is walked, never all that the queue holds.
select m.id from message m cross join rung r on r.id = m.rung_id
 where m.id < ?2 and m.due <= ?5 and r.queue_id = ?1 and r.level >= 0 and (?4 = 0 or r.lane_id = ?4)
 limit ?3
