-- Messages of feeds: leased by those who read them, until they are acked.

-- name: feed_due
-- Whether a message of a queue is due and can be leased.
select m.id from message m join rung r on r.id = m.rung_id where m.id = ?1 and r.queue_id = ?2 and m.due <= ?3

-- name: feed_lease
-- Let a message be due after its lease; in an order group it keeps its place. A lease before that was not acked
-- was a try.
update message
   set place = iif((select r.order_group from rung r where r.id = rung_id) > 0, place, ?2), due = ?2,
       attempts = attempts + (marks > 0), marks = 1
 where id = ?1

-- name: feed_leased
-- Read messages of a queue that were leased.
select m.id, r.id, r.queue_id, r.lane_id, m.level, m.attempts, m.marks, m.place, m.due, m.accepted_at, m.expires_at, x'',
       m.headers
  from json_each(?2) x cross join message m on m.id = x.value join rung r on r.id = m.rung_id
 where r.queue_id = ?1 and m.marks > 0
