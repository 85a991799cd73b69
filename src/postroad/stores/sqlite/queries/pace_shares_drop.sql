-- Those who have not reserved on a ledger since a time.
delete from pace_share where ledger = ?1 and max(seen_us, again_us) < ?2
