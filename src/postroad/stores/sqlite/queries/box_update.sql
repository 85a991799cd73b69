-- What changed about a mailbox: where its messages begin and end, whether it is over its quota.
update mailbox set first = ?2, next = ?3, over = ?4 where number = ?1
