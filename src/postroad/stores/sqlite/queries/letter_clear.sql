-- All messages of a mailbox go with it.
delete from letter where mailbox = ?1
