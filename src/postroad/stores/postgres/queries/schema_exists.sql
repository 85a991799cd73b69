-- Whether this database has a road.
select to_regclass('postroad.schema_version') is not null
