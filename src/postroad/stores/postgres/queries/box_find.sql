-- The mailboxes of these names.
select name, sender, recipient, tenant, quota, ttl_ms, first, next, over, number
  from postroad.mailbox where name = any($1::text[])
