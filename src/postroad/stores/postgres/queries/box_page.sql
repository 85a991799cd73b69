-- A tenant's mailboxes in order of name.
select name, next - first, over from postroad.mailbox
 where tenant = $1 and name > $2 order by name limit $3
