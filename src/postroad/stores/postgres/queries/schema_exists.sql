-- Whether this database has a road. (Not by to_regclass: after a wait for another process that
-- made it, it still remembers that there was none.)
select exists (select from pg_class c join pg_namespace n on n.oid = c.relnamespace
                where n.nspname = 'postroad' and c.relname = 'schema_version')
