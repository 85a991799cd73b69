-- How many mailboxes a tenant has, up to a number.
select count(*) from (select 1 from mailbox where tenant = ?1 limit ?2)
