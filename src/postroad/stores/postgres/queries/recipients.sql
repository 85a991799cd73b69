-- Recipients that messages name.

-- name: recipients_of
-- The recipients of messages.
select message_id, recipient from postroad.message_recipient where message_id = any ($1)

-- name: sent_to
-- The messages of a tenant to a recipient.
select r.message_id from postroad.message_recipient r join postroad.queue q on q.id = r.queue_id
 where r.recipient = $2 and r.message_id > $3 and q.tenant = $1 order by r.message_id limit $4

-- name: last_sent_to
-- Find the messages of a tenant, or of all (null), to a recipient between two ids, the newest first.
select r.message_id from postroad.message_recipient r join postroad.queue q on q.id = r.queue_id
 where r.recipient = $2 and r.message_id between $3 and $4 and ($1::text is null or q.tenant = $1)
 order by r.message_id desc limit $5

-- name: first_sent_to
-- Find the same, the oldest first.
select r.message_id from postroad.message_recipient r join postroad.queue q on q.id = r.queue_id
 where r.recipient = $2 and r.message_id between $3 and $4 and ($1::text is null or q.tenant = $1)
 order by r.message_id limit $5
