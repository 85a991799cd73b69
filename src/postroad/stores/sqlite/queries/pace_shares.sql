-- Who reserves on a ledger.
select name, taken, seen_us, again_us from pace_share where ledger = ?1
