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

-- name: recipients_any
-- Tell whether any message names a recipient.
select exists (select 1 from message_recipient)

-- name: message_recipient_delete
-- Delete the recipient of a message that was deleted.
delete from message_recipient where message_id = ?1
