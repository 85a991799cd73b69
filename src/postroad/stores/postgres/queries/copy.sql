-- Copying a road from SQLite into this database.

-- name: copy_stage
-- How far a copy of another road into this one is: none, begun, or done.
select case when bool_or(c.relname = 'copying') then 'begun' when bool_or(c.relname = 'copied') then 'done'
            else 'none' end
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
 where n.nspname = 'postroad' and c.relname in ('copying', 'copied')

-- name: copy_is_used
-- Whether there is something in this road already, or somebody who runs it.
select exists (select from postroad.queue) or exists (select from postroad.token)
    or exists (select from postroad.schedule) or exists (select from postroad.process)
    or exists (select from postroad.mailbox) or exists (select from postroad.credential)

-- name: copy_begin
-- Note that a copy is under way, and what the source held. Until it is complete nobody else can write: a process that
-- was connected before cannot join, claim or send.
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

-- name: copy_allow
-- This transaction is part of the copy, and may write.
select set_config('postroad.copying', 'on', true)

-- name: copy_state
-- How far each table of a copy is, and what the source held when it began.
select name, rows, source from postroad.copying

-- name: copy_columns
-- The columns that can be written, of every table (history is a view), with their types.
select c.table_name::text, c.column_name::text, c.data_type::text, c.is_identity = 'YES'
  from information_schema.columns c
  join information_schema.tables t using (table_schema, table_name)
 where c.table_schema = 'postroad' and c.is_generated = 'NEVER' and t.table_type in ('BASE TABLE', 'VIEW')
 order by c.table_name, c.ordinal_position

-- name: copy_day
-- Make the partition of a day of history.
select postroad.make_history_day($1)

-- name: copy_note
-- Note how many rows of a table are copied, in the transaction that copies them.
insert into postroad.copying (name, rows, source, at) values ($1, $2, $3, postroad.now_ms())
on conflict (name) do update set rows = excluded.rows, at = excluded.at

-- name: copy_end
-- End a copy: write what PostgreSQL keeps in another way, give every lane its row at level 0, set the sequences, and
-- let the road run.
do $$ declare c record; last bigint; begin
  perform set_config('postroad.copying', 'on', true);
  -- Here a head that holds its order group is due "never"; SQLite says so on the rung alone.
  update postroad.message m set due = 4611686018427387904
    from postroad.rung r
   where r.held <> '' and r.order_group > 0 and m.id = (
     select h.id from postroad.message h where h.rung_id = r.id order by h.place, h.id limit 1);
  insert into postroad.lane_level (lane_id, level, pool, tenant, ready_at)
  select id, 0, pool, tenant, 4611686018427387904 from postroad.lane on conflict do nothing;
  for c in select table_name as name, column_name as number from information_schema.columns
            where table_schema = 'postroad' and is_identity = 'YES'
  loop
    execute format('select max(%I) from postroad.%I', c.number, c.name) into last;
    if c.name = 'process' then  -- its rows stay behind, but its numbers were given out
      select greatest(last, max(rows)) into last from postroad.copying where name = 'process';
    end if;
    if last > 0 then
      perform setval(pg_get_serial_sequence(format('postroad.%I', c.name), c.number), last);
    end if;
  end loop;
  drop function postroad.refuse_while_copied() cascade;
  alter table postroad.copying rename to copied;
end $$

-- name: copy_done
-- What a complete copy has written: its tables, what its source held, and when it ended.
select name, rows, source, max(at) over () as ended_at from postroad.copied
