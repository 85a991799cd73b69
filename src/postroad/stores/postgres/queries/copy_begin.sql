-- Note that a copy of another road is under way: how far each table is, and what the source held. Until
-- it is whole nobody else can write here: a process that was connected before cannot join, claim or send.
create table if not exists postroad.copying (
  name text primary key, rows bigint not null, source text not null, at bigint not null);
create or replace function postroad.refuse_while_copied() returns trigger language plpgsql as $$
begin
  if current_setting('postroad.copying', true) is distinct from 'on' then
    raise exception 'a copy of another road into this one is not complete' using errcode = 'PR001';
  end if;
  return null;
end $$;
do $$ declare t text; begin
  for t in select c.relname from pg_class c
            where c.relnamespace = 'postroad'::regnamespace and c.relkind in ('r', 'p')
              and not c.relispartition and c.relname <> 'schema_version'
  loop
    execute format('create or replace trigger being_copied before insert or update or delete on postroad.%I'
                   ' for each statement execute function postroad.refuse_while_copied()', t);
  end loop;
end $$
