-- Recipients that messages name.

-- name: recipients_of
-- The recipients of messages.
select message_id, recipient from postroad.message_recipient where message_id = any ($1)

-- name: sent_to
-- The messages of a tenant to a recipient.
select r.message_id from postroad.message_recipient r join postroad.queue q on q.id = r.queue_id
 where r.recipient = $2 and r.message_id > $3 and q.tenant = $1 order by r.message_id limit $4
