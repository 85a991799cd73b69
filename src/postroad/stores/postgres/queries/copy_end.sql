-- A copy is whole: every lane has its row at level 0, and no number is given out twice.
do $$ begin
  insert into postroad.lane_level (lane_id, level, pool, ready_at)
  select id, 0, pool, 4611686018427387904 from postroad.lane on conflict do nothing;
  perform setval(pg_get_serial_sequence('postroad.' || t.name, 'id'), greatest(t.last, 1))
     from (select 'queue' as name, (select max(id) from postroad.queue) as last
           union all select 'lane', (select max(id) from postroad.lane)
           union all select 'rung', (select max(id) from postroad.rung)
           union all select 'pace', (select max(id) from postroad.pace)
           union all select 'webhook_try', (select max(id) from postroad.webhook_try)
           union all select 'process', (select max(rows) from postroad.copying
                                         where name = 'process')) t;
  drop table postroad.copying;
end $$
