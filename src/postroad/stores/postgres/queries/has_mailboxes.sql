-- How many mailboxes a tenant has, up to a number.
select count(*) from (select from postroad.mailbox where tenant = $1 limit $2) x
