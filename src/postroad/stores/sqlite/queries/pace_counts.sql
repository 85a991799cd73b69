-- What long windows have used.
select length_us, bucket, used from pace_count where ledger = ?1
