-- A ledger is gone.
delete from pace where id = ?1
