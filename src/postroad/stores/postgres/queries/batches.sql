-- Batches and their members.

-- name: put_batches
-- Store batches, their members and what follows them.
select postroad.put_batches($1, $2::text::bigint[], $3::text::bigint[], $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)

-- name: batch_seal
-- Say that all members of batches are stored; answers which were still to be filled.
update postroad.batch set state = 'open' where id = any ($1::bigint[]) and state = 'filling' returning id

-- name: close_batches
-- End those of these batches, or of the next thousand after one, whose members have all ended.
select postroad.close_batches($1, $2)

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
       b.dead + coalesce(c.dead, 0) as dead, b.cancelled + coalesce(c.cancelled, 0) as cancelled, b.made_at, b.ended_at, b.sent,
       coalesce((select f.id from postroad.batch f
                  where f.id = case b.sent when 'then' then b.then_id when 'on_failure' then b.failure_id end), 0) as next
  from postroad.batch b
  left join lateral (select sum(delivered)::int as delivered, sum(dead)::int as dead, sum(cancelled)::int as cancelled
                       from postroad.batch_count where batch_id = b.id) c on true
 where b.tenant = $1 and b.id < $2 order by b.id desc limit $3

-- name: batch_members
-- Read members of a batch that have not ended, and whether each is a batch; without what followed the failure of a batch
-- in it.
select m.message_id, exists (select from postroad.batch b where b.id = m.message_id) as nested
  from postroad.batch_member m
 where m.batch_id = $1 and m.message_id > $2
   and not exists (select from postroad.batch f where f.failure_id = m.message_id and f.failure_id > 0 and f.sent = 'on_failure')
 order by m.message_id limit $3

-- name: batch_stop
-- Say that `then` does not follow a batch of which something was not delivered.
update postroad.batch set stops = true where id = $2 and tenant = $1 and state in ('open', 'waiting')
