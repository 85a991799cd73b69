-- The mailboxes of these names, as a JSON list.
select name, sender, recipient, tenant, quota, ttl_ms, first, next, over, number
  from mailbox where name in (select value from json_each(?1))
