-- What changed about mailboxes: where their messages begin and end, whether one is over its quota.
update postroad.mailbox m set first = c.first, next = c.next, over = c.over
  from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::boolean[]) c (number, first, next, over)
 where m.number = c.number
