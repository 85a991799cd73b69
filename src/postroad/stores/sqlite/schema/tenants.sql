-- Tenants that somebody created, or gave limits of their own. Others are made by their use and have no row.

-- limits: JSON, only those that differ from the settings.
create table tenant (
  name        text primary key,
  description text not null,
  limits      text not null,
  made_at     integer not null
) strict, without rowid;
