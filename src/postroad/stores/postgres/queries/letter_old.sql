-- Mailboxes with messages past their time, and the last one of those.
select name, max(position) from postroad.letter join postroad.mailbox on number = mailbox
 where expires_at <= (select postroad.now_ms()) group by name limit $1
