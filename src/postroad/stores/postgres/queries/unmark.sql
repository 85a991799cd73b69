-- Messages were stopped without a lost lease.
update postroad.message set marks = greatest(0, marks - 1) where id = any ($1::bigint[])
