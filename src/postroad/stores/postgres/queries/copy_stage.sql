-- How far a copy of another road into this one is: none, begun, or done.
select case when bool_or(c.relname = 'copying') then 'begun' when bool_or(c.relname = 'copied') then 'done'
            else 'none' end
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
 where n.nspname = 'postroad' and c.relname in ('copying', 'copied')
