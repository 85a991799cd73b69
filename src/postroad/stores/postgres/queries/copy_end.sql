-- A copy is whole: every lane has its row at level 0, and no number is given out twice.
do $$ declare c record; last bigint; begin
  insert into postroad.lane_level (lane_id, level, pool, ready_at)
  select id, 0, pool, 4611686018427387904 from postroad.lane on conflict do nothing;
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
  drop table postroad.copying;
end $$
