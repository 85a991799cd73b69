-- The hub's mailboxes and the letters in them.

-- name: box_insert
-- Insert a new mailbox; answers its number.
insert into mailbox (name, tenant, sender, recipient, quota, ttl_ms, first, next, over)
values (?1, ?2, ?3, ?4, ?5, ?6, 1, 1, 0) returning number

-- name: box_find
-- Find mailboxes by a JSON list of names.
select name, sender, recipient, tenant, quota, ttl_ms, first, next, over, number
  from mailbox where name in (select value from json_each(?1))

-- name: box_page
-- List a tenant's mailboxes by name.
select name, next - first, over from mailbox
 where tenant = ?1 and name > ?2 order by name limit ?3

-- name: box_update
-- Update where a mailbox's messages begin and end, and whether it is over its quota.
update mailbox set first = ?2, next = ?3, over = ?4 where number = ?1

-- name: box_delete
-- Delete a mailbox, after its letters.
delete from mailbox where number = ?1

-- name: letter_insert
-- Insert a message into a mailbox.
insert into letter (mailbox, position, at, expires_at, text, body) values (?1, ?2, ?3, ?4, ?5, ?6)

-- name: letter_read
-- Read letters by a JSON list of (mailbox, position), but for expired ones.
select mailbox, position, at, text, body
  from json_each(?1) j
  join letter on mailbox = j.value ->> 0 and position = j.value ->> 1
 where expires_at > ?2

-- name: letter_old
-- Find mailboxes with expired messages, and the last of these.
select name, max(position) from letter indexed by letter_expiry join mailbox on number = mailbox
 where expires_at <= ?1 group by mailbox limit ?2

-- name: letter_delete
-- Delete a range of positions from a mailbox.
delete from letter where mailbox = ?1 and position between ?2 and ?3

-- name: letter_clear
-- Delete all messages of a mailbox.
delete from letter where mailbox = ?1
