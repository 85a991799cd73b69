-- Mailboxes with messages past their time, and the last one of those.
select name, max(position) from letter indexed by letter_expiry join mailbox on number = mailbox
 where expires_at <= ?1 group by mailbox limit ?2
