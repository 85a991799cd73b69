-- Batches and their members.

-- name: put_batches
-- Store batches, their members and what follows them.
select postroad.put_batches($1, $2::text::bigint[], $3::text::bigint[], $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)

-- name: batch_seal
-- Say that all members of a batch are stored.
update postroad.batch set state = 'open' where id = any ($1::bigint[]) and state = 'filling'

-- name: close_batches
-- End those of these batches, or of all, whose members have all ended.
select postroad.close_batches($1)

-- name: end_members
-- Count members that have ended.
select postroad.end_members($1, $2::text::bigint[], $3, $4)

-- name: record_members
-- Apply results, and count those that ended members of batches.
select (postroad.record($1, $2::text::bigint[], $3::text::bigint[], $4::text::bigint[], $5::text::bigint[], $6::text::int[],
          $7::text::int[], $8, $9, $10, $11, $12)::jsonb
        || jsonb_build_object('batches', postroad.end_members($1, $13::text::bigint[], $14, $15)))::text

-- name: batch_page
-- Read batches of a tenant, the newest first; those that are open with their counts so far.
select b.id, b.tenant, b.state, b.parent, b.total, b.delivered + coalesce(c.delivered, 0) as delivered,
       b.dead + coalesce(c.dead, 0) as dead, b.cancelled + coalesce(c.cancelled, 0) as cancelled, b.made_at, b.ended_at, b.sent
  from postroad.batch b
  left join lateral (select sum(delivered)::int as delivered, sum(dead)::int as dead, sum(cancelled)::int as cancelled
                       from postroad.batch_count where batch_id = b.id) c on true
 where b.tenant = $1 and b.id < $2 order by b.id desc limit $3

-- name: batch_one
-- Read one batch of a tenant; if it is open, with its counts so far.
select b.id, b.tenant, b.state, b.parent, b.total, b.delivered + coalesce(c.delivered, 0) as delivered,
       b.dead + coalesce(c.dead, 0) as dead, b.cancelled + coalesce(c.cancelled, 0) as cancelled, b.made_at, b.ended_at, b.sent
  from postroad.batch b
  left join lateral (select sum(delivered)::int as delivered, sum(dead)::int as dead, sum(cancelled)::int as cancelled
                       from postroad.batch_count where batch_id = b.id) c on true
 where b.id = $2 and b.tenant = $1
