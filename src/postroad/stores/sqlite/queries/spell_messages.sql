-- A queue's messages that were accepted before a time, on all its lanes or (not 0) on one.
select m.id from rung r join message m on m.rung_id = r.id
 where r.queue_id = ?1 and r.level >= 0 and m.accepted_at <= ?2 and (?4 = 0 or r.lane_id = ?4)
 limit ?3
