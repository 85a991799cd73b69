-- The columns that can be written, of every table (history is a view), with their types.
select c.table_name::text, c.column_name::text, c.data_type::text, c.is_identity = 'YES'
  from information_schema.columns c
  join information_schema.tables t using (table_schema, table_name)
 where c.table_schema = 'postroad' and c.is_generated = 'NEVER' and t.table_type in ('BASE TABLE', 'VIEW')
 order by c.table_name, c.ordinal_position
