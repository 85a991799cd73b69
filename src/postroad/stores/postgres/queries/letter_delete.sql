-- Messages leave mailboxes, from one position to another.
delete from postroad.letter l
 using unnest($1::bigint[], $2::bigint[], $3::bigint[]) g (mailbox, first, last)
 where l.mailbox = g.mailbox and l.position between g.first and g.last
