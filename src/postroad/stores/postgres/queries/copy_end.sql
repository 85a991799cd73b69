-- A copy is whole: what PostgreSQL keeps in another way is written so, every lane has its row at level 0,
-- no number is given out twice, and the road may be run.
do $$ declare c record; last bigint; begin
  perform set_config('postroad.copying', 'on', true);
  -- Here a head that holds its slot is due "never"; SQLite says so on the rung alone.
  update postroad.message m set due = 4611686018427387904
    from postroad.rung r
   where r.held <> '' and r.slot > 0 and m.id = (
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
