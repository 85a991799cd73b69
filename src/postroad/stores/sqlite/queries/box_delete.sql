-- A mailbox goes, after its letters.
delete from mailbox where number = ?1
