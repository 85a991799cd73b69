-- Where everything lives, and which version it is of.
create schema if not exists postroad;
create table postroad.schema_version (version int not null, oldest int not null, functions text not null)
