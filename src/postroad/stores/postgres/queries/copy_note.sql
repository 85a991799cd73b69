-- So many rows of a table are copied; in the transaction that copies them.
insert into postroad.copying (name, rows, source, at) values ($1, $2, $3, postroad.now_ms())
on conflict (name) do update set rows = excluded.rows, at = excluded.at
