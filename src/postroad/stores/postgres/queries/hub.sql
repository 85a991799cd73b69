-- The hub: which process it is, its mailboxes and their messages.

-- name: hub_lead
-- Become the hub where none is, or stay it; returns nothing when another process is.
insert into postroad.hub (single, holder, name, beat_at) values (true, $1, $2, postroad.now_ms())
on conflict (single) do update set beat_at = excluded.beat_at
 where hub.holder = excluded.holder
returning holder

-- name: hub_fence
-- Still the hub, which nobody can change before this transaction ends; returns the time.
update postroad.hub set beat_at = postroad.now_ms() where holder = $1 returning beat_at

-- name: hub_ask
-- Who the hub is. One that was silent for so long is asked to answer; returns whether it was asked.
select holder, beat_at, name, silent,
       case when silent then pg_notify('postroad', '{"hub": true}') end
  from (select *, beat_at < postroad.now_ms() - $1::bigint as silent from postroad.hub) as known

-- name: hub_take
-- Become the hub in place of one that has not answered; it is told so.
update postroad.hub set holder = $1, name = $2, beat_at = postroad.now_ms()
 where holder = $3 and beat_at = $4
returning pg_notify('postroad', '{"hub": true}')

-- name: hub_unlead
-- The hub leaves: the next one need not wait.
delete from postroad.hub where holder = $1 returning holder

-- name: box_insert
-- Make mailboxes; returns their numbers by name.
insert into postroad.mailbox (name, tenant, sender, recipient, quota, ttl_ms)
select * from unnest($1::text[], $2::text[], $3::bytea[], $4::bytea[], $5::int[], $6::bigint[])
returning name, number

-- name: box_find
-- The mailboxes of these names.
select name, sender, recipient, tenant, quota, ttl_ms, first, next, over, number
  from postroad.mailbox where name = any($1::text[])

-- name: box_page
-- A tenant's mailboxes in order of name.
select name, next - first, over from postroad.mailbox
 where tenant = $1 and name > $2 order by name limit $3

-- name: box_update
-- What changed about mailboxes: where their messages begin and end, whether one is over its quota.
update postroad.mailbox m set first = c.first, next = c.next, over = c.over
  from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::boolean[]) c (number, first, next, over)
 where m.number = c.number

-- name: box_delete
-- Delete mailboxes with all that is in them.
with emptied as (delete from postroad.letter where mailbox = any($1::bigint[]))
delete from postroad.mailbox where number = any($1::bigint[])

-- name: letter_insert
-- Put messages into mailboxes.
insert into postroad.letter (mailbox, position, at, expires_at, text, body)
select * from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::boolean[], $6::bytea[])

-- name: letter_read
-- Messages by mailbox and position, less those that are too old.
select mailbox, position, at, text, body
  from unnest($1::bigint[], $2::bigint[]) w (mailbox, position)
  join postroad.letter using (mailbox, position)
 where expires_at > $3

-- name: letter_delete
-- Delete messages of mailboxes, from one position to another.
delete from postroad.letter l
 using unnest($1::bigint[], $2::bigint[], $3::bigint[]) g (mailbox, first, last)
 where l.mailbox = g.mailbox and l.position between g.first and g.last

-- name: letter_old
-- Mailboxes with messages past their time, and the last one of those.
select name, max(position) from postroad.letter join postroad.mailbox on number = mailbox
 where expires_at <= (select postroad.now_ms()) group by name limit $1
