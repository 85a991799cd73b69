-- New mailboxes; answers their numbers by name.
insert into postroad.mailbox (name, tenant, sender, recipient, quota, ttl_ms)
select * from unnest($1::text[], $2::text[], $3::bytea[], $4::bytea[], $5::int[], $6::bigint[])
returning name, number
