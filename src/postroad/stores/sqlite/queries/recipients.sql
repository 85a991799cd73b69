-- Recipients that messages name.

-- name: message_recipient_insert
-- Note the recipient of a message.
insert or ignore into message_recipient (message_id, queue_id, recipient) values (?1, ?2, ?3)

-- name: recipients_of
-- Read the recipients of messages by a JSON list of ids.
select r.message_id, r.recipient from json_each(?1) j cross join message_recipient r on r.message_id = j.value

-- name: sent_to
-- Find the messages of a tenant to a recipient.
select r.message_id from message_recipient r join queue q on q.id = r.queue_id
 where r.recipient = ?2 and r.message_id > ?3 and q.tenant = ?1 order by r.message_id limit ?4

-- name: last_sent_to
-- Find the messages of a tenant, or of all (null), to a recipient between two ids, the newest first.
select r.message_id from message_recipient r join queue q on q.id = r.queue_id
 where r.recipient = ?2 and r.message_id between ?3 and ?4 and (?1 is null or q.tenant = ?1)
 order by r.message_id desc limit ?5

-- name: first_sent_to
-- Find the same, the oldest first.
select r.message_id from message_recipient r join queue q on q.id = r.queue_id
 where r.recipient = ?2 and r.message_id between ?3 and ?4 and (?1 is null or q.tenant = ?1)
 order by r.message_id limit ?5

-- name: recipients_any
-- Tell whether any message names a recipient.
select exists (select 1 from message_recipient)

-- name: message_recipient_delete
-- Delete the recipient of a message that was deleted.
delete from message_recipient where message_id = ?1
