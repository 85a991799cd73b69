-- A bucket that counts no more.
delete from pace_count where ledger = ?1 and length_us = ?2 and bucket = ?3
