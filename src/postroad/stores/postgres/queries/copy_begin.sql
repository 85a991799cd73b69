-- Note that a copy of another road is under way: how far each table is, and what the source held.
create table if not exists postroad.copying (
  name text primary key, rows bigint not null, source text not null)
