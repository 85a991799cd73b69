-- What a bucket of a long window has used.
insert into pace_count (ledger, length_us, bucket, used) values (?1, ?2, ?3, ?4)
on conflict do update set used = excluded.used
