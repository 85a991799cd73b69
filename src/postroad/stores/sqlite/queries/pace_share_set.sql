-- What one who reserves has had.
insert into pace_share (ledger, name, taken, seen_us, again_us) values (?1, ?2, ?3, ?4, ?5)
on conflict do update set taken = excluded.taken, seen_us = excluded.seen_us, again_us = excluded.again_us
