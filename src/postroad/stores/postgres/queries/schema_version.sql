-- The version of the schema, and the oldest release that can work with it.
select version, oldest from postroad.schema_version
