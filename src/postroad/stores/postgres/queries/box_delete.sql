-- Mailboxes go with all that is in them.
with emptied as (delete from postroad.letter where mailbox = any($1::bigint[]))
delete from postroad.mailbox where number = any($1::bigint[])
