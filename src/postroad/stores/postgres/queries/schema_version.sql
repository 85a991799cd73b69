-- The version of the schema, the oldest release that can work with it, the digest of its functions (null in a
-- layout from before the first release), and whether a copy of another road into this one is under way.
select version, oldest, to_jsonb(v) ->> 'functions' as functions,
       exists (select from pg_class c join pg_namespace n on n.oid = c.relnamespace
                where n.nspname = 'postroad' and c.relname = 'copying') as copying
  from postroad.schema_version v
