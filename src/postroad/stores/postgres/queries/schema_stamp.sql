-- The schema is of a new version.
delete from schema_version;
insert into schema_version (version, oldest, functions) values ({}, {}, '{}')
