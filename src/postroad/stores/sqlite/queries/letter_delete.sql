-- Messages leave a mailbox, from one position to another.
delete from letter where mailbox = ?1 and position between ?2 and ?3
