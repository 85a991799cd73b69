-- Messages of feeds: leased by those who read them, until they are acked.

-- name: feed_lease
-- Let messages of a queue be due again after a lease.
select unnest(postroad.feed_lease($1, $2::text::bigint[], $3, $4))

-- name: feed_leased
-- Read messages of a queue that were leased.
select m.id, r.id, r.queue_id, r.lane_id, m.level, m.attempts, m.marks, m.place, m.due, m.accepted_at, m.expires_at,
       ''::bytea, m.headers
  from (select * from postroad.message where id = any ($2::text::bigint[]) offset 0) m
  join postroad.rung r on r.id = m.rung_id
 where r.queue_id = $1 and m.marks > 0
