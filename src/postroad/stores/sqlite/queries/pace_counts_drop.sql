-- What a ledger's long windows have used is forgotten.
delete from pace_count where ledger = ?1
