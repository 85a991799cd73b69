-- Messages into mailboxes.
insert into postroad.letter (mailbox, position, at, expires_at, text, body)
select * from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::boolean[], $6::bytea[])
