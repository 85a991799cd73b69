-- The schema and its version.

-- name: schema_exists
-- Whether this database has a road. (Not by to_regclass: after a wait for another process that made it, it still
-- answers no.)
select exists (select from pg_class c join pg_namespace n on n.oid = c.relnamespace
                where n.nspname = 'postroad' and c.relname = 'schema_version')

-- name: schema_version
-- The version of the schema, the oldest release that can work with it, the digests of its functions and tables (null
-- before the first release), and whether another road is being copied into it.
select version, oldest, to_jsonb(v) ->> 'functions' as functions, to_jsonb(v) ->> 'tables' as tables,
       exists (select from pg_class c join pg_namespace n on n.oid = c.relnamespace
                where n.nspname = 'postroad' and c.relname = 'copying') as copying
  from postroad.schema_version v

-- name: schema_create
-- Where everything lives, and which version it is of.
create schema if not exists postroad;
create table postroad.schema_version (version int not null, oldest int not null, functions text not null, tables text not null)

-- name: schema_begin
-- Begin a change of the schema. Functions may name what is made after them.
set local search_path = postroad, pg_temp;
set local check_function_bodies = off

-- name: schema_stamp
-- Note the new version of the schema.
delete from schema_version;
insert into schema_version (version, oldest, functions, tables) values ({}, {}, '{}', '{}')
