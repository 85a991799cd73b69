-- Batches and their members.

-- name: batch_insert
-- Insert a batch.
insert into batch (id, tenant, parent, after, role, state, total, then_id, failure_id, stops, made_at)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)

-- name: member_insert
-- Insert a member of a batch: a message, or a batch.
insert into batch_member (message_id, batch_id) values (?1, ?2)

-- name: held_insert
-- Insert a message that follows a batch.
insert into batch_held (id, batch_id, role, queue_id, lane_id, order_group, priority, due, delay_ms, expires_at,
                        order_key, headers, body)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)

-- name: member_end
-- Delete the row of a member that has ended: who deletes it counts it.
delete from batch_member where message_id = ?1 returning batch_id

-- name: batch_count_add
-- Count members that have ended.
insert into batch_count (batch_id, counter, delivered, dead, cancelled) values (?1, 0, ?2, ?3, ?4)
on conflict (batch_id, counter) do update
   set delivered = delivered + excluded.delivered, dead = dead + excluded.dead,
       cancelled = cancelled + excluded.cancelled

-- name: batch_seal
-- Say that all members of a batch are stored.
update batch set state = 'open' where id = ?1 and state = 'filling'

-- name: batch_whole
-- Read an open batch whose members have all ended, and its counts.
select b.parent, b.then_id, b.failure_id, b.stops, coalesce(sum(c.delivered), 0), coalesce(sum(c.dead), 0),
       coalesce(sum(c.cancelled), 0)
  from batch b left join batch_count c on c.batch_id = b.id
 where b.id = ?1 and b.state = 'open'
having b.total <= coalesce(sum(c.delivered + c.dead + c.cancelled), 0)

-- name: follower_find
-- Tell whether the message or batch that follows a batch is there.
select 1 from batch_held where id = ?1 union all select 1 from batch where id = ?1 and state = 'waiting'

-- name: batch_end
-- Write the counts of a batch that has ended, and what follows it.
update batch set state = 'ended', ended_at = ?2, delivered = ?3, dead = ?4, cancelled = ?5, sent = ?6 where id = ?1

-- name: batch_counts_delete
-- Delete the counts of a batch that has ended.
delete from batch_count where batch_id = ?1

-- name: held_taken
-- Delete the messages that followed a batch.
delete from batch_held where batch_id = ?1 and role = ?2

-- name: held_release
-- Read the messages that follow a batch, with a lane that serves their queue now.
select h.id, h.queue_id,
       coalesce((select l.lane_id from queue_lane l where l.queue_id = h.queue_id and l.lane_id = h.lane_id),
                (select l.lane_id from queue_lane l where l.queue_id = h.queue_id and l.shard = 0)),
       h.order_group, h.priority, h.due, h.delay_ms, h.expires_at, h.order_key, h.headers, h.body
  from batch_held h where h.batch_id = ?1 and h.role = ?2 order by h.id

-- name: held_delete
-- Delete what was to follow a batch.
delete from batch_held where batch_id = ?1 returning id

-- name: batches_open
-- Open the batches that follow a batch which ended this way.
update batch set state = 'open' where after = ?1 and after > 0 and role = ?2 and state = 'waiting' returning id, total

-- name: batches_after
-- List the batches that wait for the end of a batch.
select id from batch where after = ?1 and after > 0 and state in ('waiting', 'filling')

-- name: batch_skip
-- Say that a batch is never sent.
update batch set state = 'skipped', ended_at = ?2 where id = ?1

-- name: member_move
-- Give a batch's place in the batch around it to what follows.
update batch_member set message_id = ?2 where message_id = ?1

-- name: batches_filling
-- List batches whose senders ended half-way.
select id from batch where state = 'filling' and made_at < ?1

-- name: batches_retain
-- Delete batches that ended before a time.
delete from batch where id in (
  select id from batch where ended_at > 0 and ended_at < ?1 limit ?2)
returning id

-- name: batch_page
-- Read batches of a tenant, the newest first; those that are open with their counts so far.
select b.id, b.tenant, b.state, b.parent, b.total,
       b.delivered + coalesce((select sum(c.delivered) from batch_count c where c.batch_id = b.id), 0),
       b.dead + coalesce((select sum(c.dead) from batch_count c where c.batch_id = b.id), 0),
       b.cancelled + coalesce((select sum(c.cancelled) from batch_count c where c.batch_id = b.id), 0),
       b.made_at, b.ended_at, b.sent,
       coalesce((select f.id from batch f
                  where f.id = case b.sent when 'then' then b.then_id when 'on_failure' then b.failure_id end), 0)
  from batch b
 where b.tenant = ?1 and b.id < ?2 order by b.id desc limit ?3

-- name: batch_members
-- Read members of a batch that have not ended, and whether each is a batch; without what followed the failure of a batch
-- in it.
select m.message_id, exists (select 1 from batch b where b.id = m.message_id)
  from batch_member m
 where m.batch_id = ?1 and m.message_id > ?2
   and not exists (select 1 from batch f where f.failure_id = m.message_id and f.failure_id > 0 and f.sent = 'on_failure')
 order by m.message_id limit ?3

-- name: batch_stop
-- Say that `then` does not follow a batch of which something was not delivered.
update batch set stops = 1 where id = ?2 and tenant = ?1 and state in ('open', 'waiting')
