-- A new mailbox; answers its number.
insert into mailbox (name, tenant, sender, recipient, quota, ttl_ms, first, next, over)
values (?1, ?2, ?3, ?4, ?5, ?6, 1, 1, 0) returning number
