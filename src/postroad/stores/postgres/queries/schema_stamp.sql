-- The schema is of a new version.
delete from postroad.schema_version;
insert into postroad.schema_version (version, oldest) values ({}, {})
