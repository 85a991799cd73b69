-- A limit by its number.
select id, cost, spacing_us, counted, next_us, spec from pace where id = ?1
